// The last line of every kernel: c = alpha * acc + beta * c, where beta = 0 means that c is not read.
#pragma once

#include <cuda_runtime.h>

/// alpha * acc + beta * *c; with beta = 0, *c is never read (it may be NaN, or not written yet).
__device__ __forceinline__ float scaled(float alpha, float acc, float beta, const float* c) {
  return beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;
}

/// Four neighbouring elements at once; c is 16-byte aligned.
__device__ __forceinline__ float4 scaled(float alpha, float4 acc, float beta, const float4* c) {
  float4 out = make_float4(alpha * acc.x, alpha * acc.y, alpha * acc.z, alpha * acc.w);
  if (beta != 0.0f) {
    const float4 old = *c;
    out = make_float4(out.x + beta * old.x, out.y + beta * old.y, out.z + beta * old.z, out.w + beta * old.w);
  }
  return out;
}

/// c[0 … 3] = alpha * acc[0 … 3] + beta * c[0 … 3] in one 16-byte store; c is 16-byte aligned.
__device__ __forceinline__ void store_scaled(float* c, float alpha, const float* acc, float beta) {
  float4* c4 = reinterpret_cast<float4*>(c);
  *c4 = scaled(alpha, make_float4(acc[0], acc[1], acc[2], acc[3]), beta, c4);
}

/// The same for the first `count` of four elements. WIDTH 4: count >= 4 and c is aligned; WIDTH 1: any count, any c.
template <int WIDTH>
__device__ __forceinline__ void store_scaled(float* c, float alpha, const float* acc, float beta, int count) {
  if constexpr (WIDTH == 4) {
    store_scaled(c, alpha, acc, beta);
  } else {
#pragma unroll
    for (int q = 0; q < 4; ++q)
      if (q < count) c[q] = scaled(alpha, acc[q], beta, c + q);
  }
}
