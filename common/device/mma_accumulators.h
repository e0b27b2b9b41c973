// The accumulators of mma.m16n8k16 and their way to C: 16×8 sums that a warp holds. Two neighbours of a row lie in one
// lane, and are stored like that (store_scaled_pair); or eight, after the lanes of a quad have exchanged theirs
// (store_warp_tile).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/device/epilogue.h"

/// The registers of one 16×8 tile of sums in a lane, by their type: two of half2, or four of float.
template <class Acc>
using MmaAccumulators = std::conditional_t<std::is_same_v<Acc, float>, float[4], uint32_t[2]>;

/// Two neighbouring sums of a row, as a lane holds them: a half2, or two floats.
template <class Acc>
using MmaPair = std::conditional_t<std::is_same_v<Acc, float>, float2, uint32_t>;

/// The two sums of a lane in row lane / 4 + 8 * below, columns 2 * (lane % 4) and the next: as they are …
__device__ __forceinline__ float2 pair_of(const float (&d)[4], int below) { return {d[2 * below], d[2 * below + 1]}; }
__device__ __forceinline__ uint32_t pair_of(const uint32_t (&d)[2], int below) { return d[below]; }
/// … and as floats.
__device__ __forceinline__ float2 sums(const float (&d)[4], int below) { return pair_of(d, below); }
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

/// The lane without `bit` gives its `high` for the `low` of the lane with it.
template <class Register>
__device__ __forceinline__ void exchange(Register& low, Register& high, int lane, int bit) {
  const bool upper = lane & bit;
  const Register got = __shfl_xor_sync(0xffffffff, upper ? low : high, bit);
  low = upper ? got : low;
  high = upper ? high : got;
}
__device__ __forceinline__ void exchange(float2& low, float2& high, int lane, int bit) {
  exchange(low.x, high.x, lane, bit);
  exchange(low.y, high.y, lane, bit);
}

/// Transposes four pairs of each lane of a quad: v[t] of lane s changes places with v[s] of lane t.
template <class Pair>
__device__ __forceinline__ void transpose_in_quad(Pair (&v)[4], int lane) {
  exchange(v[0], v[1], lane, 1);
  exchange(v[2], v[3], lane, 1);
  exchange(v[0], v[2], lane, 2);
  exchange(v[1], v[3], lane, 2);
}

/// c = alpha * acc + beta * c for the warp tile that begins at c, M × N instructions, in 16-byte stores.
///
/// The four lanes of a quad hold a row of 8 sums of each instruction, two neighbours each. After they have transposed
/// the pairs of four instructions, each of them holds eight neighbours: a quad stores 64 neighbouring bytes.
template <class Acc, class Out, int M, int N, int REGISTERS, class Register>
__device__ __forceinline__ void store_warp_tile(Out* c, int ldc, const Register (&acc)[M][N][REGISTERS], float alpha,
                                                float beta) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < M * 2; ++i) {  // eight rows of C, one per quad
#pragma unroll
    for (int j = 0; j < N; j += 4) {  // 32 columns, eight per lane
      MmaPair<Acc> v[4];
#pragma unroll
      for (int t = 0; t < 4; ++t) v[t] = pair_of(acc[i / 2][j + t], i % 2);
      transpose_in_quad(v, lane);
      Out* const eight = c + (i * 8 + lane / 4) * ldc + j * 8 + lane % 4 * 8;
      store_scaled(eight, alpha, reinterpret_cast<const Acc*>(v), beta);
    }
  }
}
