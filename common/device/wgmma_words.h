// The way of 32-bit results to C through shared memory, as wgmma_accumulators.h is that of 16-bit ones: a warp writes
// 16×32 of its accumulators as the box that TMA stores (stage_words).
#pragma once

#include <cuda_runtime.h>

#include "common/device/epilogue.h"

/// alpha * acc + beta * *c for integers, rounded once; with alpha = 1 and beta = 0 acc itself.
__device__ __forceinline__ int scaled(float alpha, int acc, float beta, const int* c) {
  if (alpha == 1.0f && beta == 0.0f) return acc;
  const double product = static_cast<double>(alpha) * acc;
  return __double2int_rn(beta == 0.0f ? product : product + static_cast<double>(beta) * *c);
}

/// Where 16×32 of C lie, and how much of C there is from there on.
template <class Out>
struct OldWords {
  const Out* c;
  int ldc, rows, cols;
};

/// Writes alpha * sums + beta * C, 16 rows of 32 columns of a warp, to rows 16 * (warp % 4) … of a box of 64×32 in
/// shared memory, swizzled as TMA's 128-byte swizzle is. `sums`: 16 registers of wgmma's accumulator. With beta = 0, C
/// is never read; outside C no element is.
template <class Out, class Sum>
__device__ __forceinline__ void stage_words(void* box, const Sum* sums, float alpha, float beta, OldWords<Out> old) {
  static_assert(sizeof(Out) == 4, "a row of 32 is the 128 bytes of the swizzle");
  constexpr int ROW_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = 8;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < 4; ++j)  // 8 columns, two of them in each lane
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = h * 8 + lane / 4, col = j * 8 + lane % 4 * 2;
      const Out* const c = old.c + row * old.ldc + col;
      const bool inside = row < old.rows;
      struct alignas(8) Pair {
        Out left, right;
      };
      const Sum* const two = sums + j * 4 + h * 2;
      const Pair pair = {scaled(alpha, two[0], inside && col < old.cols ? beta : 0.0f, c),
                         scaled(alpha, two[1], inside && col + 1 < old.cols ? beta : 0.0f, c + 1)};
      const int box_row = threadIdx.x / 32 % 4 * 16 + row, chunk = (j * 2 + lane % 4 / 2) ^ (row % CHUNKS);
      *reinterpret_cast<Pair*>(static_cast<char*>(box) + box_row * ROW_BYTES + chunk * CHUNK_BYTES + lane % 2 * 8) =
          pair;
    }
}
