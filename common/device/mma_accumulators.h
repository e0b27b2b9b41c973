// The accumulators of mma.m16n8k16 and their way to C: 16×8 sums that a warp holds, two neighbours in a row at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

/// The registers of one 16×8 tile of sums in a lane, by their type: two of half2, or four of float.
template <class Acc>
using MmaAccumulators = std::conditional_t<std::is_same_v<Acc, float>, float[4], uint32_t[2]>;

/// The two sums of a lane in row lane / 4 + 8 * below, columns 2 * (lane % 4) and the next.
__device__ __forceinline__ float2 sums(const float (&d)[4], int below) { return {d[2 * below], d[2 * below + 1]}; }
__device__ __forceinline__ float2 sums(const uint32_t (&d)[2], int below) {
  return __half22float2(*reinterpret_cast<const half2*>(&d[below]));
}

__device__ __forceinline__ float2 load_pair(const half* c) {
  return __half22float2(*reinterpret_cast<const half2*>(c));
}
__device__ __forceinline__ float2 load_pair(const __nv_bfloat16* c) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(c));
}
__device__ __forceinline__ void store_pair(half* c, float2 v) { *reinterpret_cast<half2*>(c) = __float22half2_rn(v); }
__device__ __forceinline__ void store_pair(__nv_bfloat16* c, float2 v) {
  *reinterpret_cast<__nv_bfloat162*>(c) = __float22bfloat162_rn(v);
}

/// c[0], c[1] = alpha * acc + beta * c, in FP32 and rounded once, by one 4-byte store; c is 4-byte aligned. With
/// beta = 0, c is never read.
template <class Out>
__device__ __forceinline__ void store_scaled_pair(Out* c, float alpha, float2 acc, float beta) {
  float2 out = make_float2(alpha * acc.x, alpha * acc.y);
  if (beta != 0.0f) {
    const float2 old = load_pair(c);
    out = make_float2(out.x + beta * old.x, out.y + beta * old.y);
  }
  store_pair(c, out);
}
