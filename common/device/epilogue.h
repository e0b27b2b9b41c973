// The last line of every kernel: c = alpha * acc + beta * c, where beta = 0 means that c is not read.
// A kernel whose C has 16 bits reads <cuda_fp16.h> or <cuda_bf16.h> by itself; for one of floats they would take long.
#pragma once

#include <cuda_runtime.h>

/// alpha * acc + beta * *c; with beta = 0, *c is never read (it may be NaN, or not written yet).
__device__ __forceinline__ float scaled(float alpha, float acc, float beta, const float* c) {
  return beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;
}

/// The same for half and __nv_bfloat16 outputs (Out) of sums in float or half (Acc): computed in float, rounded once.
template <typename Out, typename Acc>
__device__ __forceinline__ Out scaled(float alpha, Acc acc, float beta, const Out* c) {
  static_assert(sizeof(Out) == 2, "a 16-bit output");
  const float product = alpha * static_cast<float>(acc);
  return static_cast<Out>(beta == 0.0f ? product : product + beta * static_cast<float>(*c));
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

/// Eight 16-bit elements: what one 16-byte access moves.
template <typename T>
struct alignas(16) Pack8 {
  T element[8];
};

/// c[0 … 7] = alpha * acc[0 … 7] + beta * c[0 … 7] for half or __nv_bfloat16 c, in one 16-byte store; c is 16-byte
/// aligned, acc is a register array of float or half.
template <typename Out, typename Acc>
__device__ __forceinline__ void store_scaled(Out* c, float alpha, const Acc* acc, float beta) {
  Pack8<Out>* const c8 = reinterpret_cast<Pack8<Out>*>(c);
  Pack8<Out> out;
  if (beta != 0.0f) out = *c8;  // one load, before the sums need it
#pragma unroll
  for (int q = 0; q < 8; ++q) out.element[q] = scaled(alpha, acc[q], beta, &out.element[q]);
  *c8 = out;
}

/// The same for the first `count` of eight elements: element by element where they are fewer, any c then.
template <typename Out, typename Acc>
__device__ __forceinline__ void store_scaled(Out* c, float alpha, const Acc* acc, float beta, int count) {
  if (count >= 8) {
    store_scaled(c, alpha, acc, beta);
  } else {
#pragma unroll
    for (int q = 0; q < 7; ++q)
      if (q < count) c[q] = scaled(alpha, acc[q], beta, c + q);
  }
}

/// c[0] and c[1], of which `count` lie within C, in one store where `pairs` says that c is a multiple of 8 bytes.
/// Nobody reads C again: it need not stay in L2.
__device__ __forceinline__ void store_two(float* c, float2 two, int count, bool pairs) {
  if (pairs && count > 1) {
    __stcs(reinterpret_cast<float2*>(c), two);
  } else {
    if (count > 0) c[0] = two.x;
    if (count > 1) c[1] = two.y;
  }
}

/// c[0 … 3], of which `count` lie within C; c is 16-byte aligned. As above, C need not stay in L2.
__device__ __forceinline__ void store_quad(float* c, float4 four, int count) {
  if (count >= 4) {
    __stcs(reinterpret_cast<float4*>(c), four);
  } else {
    if (count > 0) c[0] = four.x;
    if (count > 1) c[1] = four.y;
    if (count > 2) c[2] = four.z;
  }
}
