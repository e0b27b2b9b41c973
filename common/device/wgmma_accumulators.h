// The accumulators of wgmma and their way to C through shared memory: a warp adds the old C out of the box that TMA has
// loaded (add_old_c), and writes 16×64 sums as the box that TMA stores (stage_sums).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/mma_accumulators.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/shared_address.h"
#include "common/device/ptx/stmatrix.h"

/// What a lane names to ldmatrix and stmatrix for 16 columns from chunk `chunk` on of a box of 64×64 that is swizzled
/// as TMA's 128-byte swizzle is: four matrices, the upper and lower 8 of the warp's 16 rows in two chunks of 16 bytes.
/// The warp's rows are 16 * (warp % 4) …; a lane holds of the four what wgmma's accumulator has of these 16×16.
__device__ __forceinline__ uint32_t four_matrices(const void* box, int chunk) {
  constexpr int ROW_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = 8;
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
  return shared_address(box) + row * ROW_BYTES + ((chunk + lane / 16) ^ (row % CHUNKS)) * CHUNK_BYTES;
}

/// sums = alpha * sums + beta * C for 16 rows of 64 columns of a warp, where a box of 64×64 holds C as TMA has loaded
/// it. `sums`: 32 registers of wgmma's accumulator.
template <class Out>
__device__ __forceinline__ void add_old_c(float* sums, const void* box, float alpha, float beta) {
  constexpr int CHUNKS = 8;
#pragma unroll
  for (int j = 0; j < CHUNKS; j += 2) {
    uint32_t registers[4];
    ldmatrix_x4(registers, four_matrices(box, j));
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      float* const two = sums + (j + t / 2) * 4 + t % 2 * 2;
      const float2 old = load_pair(reinterpret_cast<const Out*>(&registers[t]));
      two[0] = alpha * two[0] + beta * old.x;
      two[1] = alpha * two[1] + beta * old.y;
    }
  }
}

/// Writes alpha * sums, 16 rows of 64 columns of a warp, to a box of 64×64 in shared memory. `sums`: as above.
template <class Out>
__device__ __forceinline__ void stage_sums(void* box, const float* sums, float alpha) {
  constexpr int CHUNKS = 8;
#pragma unroll
  for (int j = 0; j < CHUNKS; j += 2) {
    uint32_t registers[4];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float* const two = sums + (j + t / 2) * 4 + t % 2 * 2;
      store_pair(reinterpret_cast<Out*>(&registers[t]), make_float2(alpha * two[0], alpha * two[1]));
    }
    stmatrix_x4(four_matrices(box, j), registers);
  }
}

/// four_matrices for sums of operands that were exchanged: 16 rows of C from `first_row` on, of which the warp has the
/// 16 columns 16 * (warp % 4) …, each matrix transposed.
__device__ __forceinline__ uint32_t four_turned(const void* box, int first_row) {
  constexpr int ROW_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = 8;
  const int lane = threadIdx.x % 32, row = first_row + lane / 16 * 8 + lane % 8;
  const int chunk = (threadIdx.x / 32 % 4 * 2 + lane / 8 % 2) ^ (row % CHUNKS);
  return shared_address(box) + row * ROW_BYTES + chunk * CHUNK_BYTES;
}

/// add_old_c for 16 rows and 16 columns of such sums: 8 registers.
template <class Out>
__device__ __forceinline__ void add_old_c_turned(float* sums, const void* box, int first_row, float alpha, float beta) {
  uint32_t registers[4];
  ldmatrix_x4_trans(registers, four_turned(box, first_row));
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const float2 old = load_pair(reinterpret_cast<const Out*>(&registers[t]));
    sums[t * 2] = alpha * sums[t * 2] + beta * old.x;
    sums[t * 2 + 1] = alpha * sums[t * 2 + 1] + beta * old.y;
  }
}

/// stage_sums for 16 rows and 16 columns of such sums.
template <class Out>
__device__ __forceinline__ void stage_sums_turned(void* box, const float* sums, int first_row, float alpha) {
  uint32_t registers[4];
#pragma unroll
  for (int t = 0; t < 4; ++t)
    store_pair(reinterpret_cast<Out*>(&registers[t]), make_float2(alpha * sums[t * 2], alpha * sums[t * 2 + 1]));
  stmatrix_x4_trans(four_turned(box, first_row), registers);
}

/// Copies what stage_sums has written of a box of 64×64 to C, element by element: `rows` × `cols` of it, by the 128
/// threads of a warpgroup. For the last columns of a C that TMA cannot clip.
template <class Out>
__device__ __forceinline__ void copy_box(const void* box, Out* c, int ldc, int rows, int cols) {
  constexpr int SIDE = 64, CHUNK = 8, CHUNKS = SIDE / CHUNK, THREADS = 128;
  for (int i = threadIdx.x % THREADS; i < SIDE * SIDE; i += THREADS) {
    const int row = i / SIDE, col = i % SIDE;
    const int chunk = (col / CHUNK) ^ (row % CHUNKS);
    if (row < rows && col < cols)
      c[row * ldc + col] = static_cast<const Out*>(box)[row * SIDE + chunk * CHUNK + col % CHUNK];
  }
}
