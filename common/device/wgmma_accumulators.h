// The accumulators of wgmma and their way to C through shared memory: a warp writes 16×64 of them as the box that TMA
// stores (stage_sums).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/mma_accumulators.h"
#include "common/device/ptx/shared_address.h"
#include "common/device/ptx/stmatrix.h"

/// Where 16×64 of C lie, and how much of C there is from there on.
template <class Out>
struct OldC {
  const Out* c;
  int ldc, rows, cols;

  /// C at (row, col) and its right neighbour, zeros outside.
  __device__ __forceinline__ float2 pair(int row, int col) const {
    const Out* const at = c + row * ldc + col;
    return make_float2(row < rows && col < cols ? static_cast<float>(at[0]) : 0.0f,
                       row < rows && col + 1 < cols ? static_cast<float>(at[1]) : 0.0f);
  }
};

/// Writes alpha * sums + beta * C, 16 rows of 64 columns of a warp, to rows 16 * (warp % 4) … of a box of 64×64 in
/// shared memory, swizzled as TMA's 128-byte swizzle is. `sums`: 32 registers of wgmma's accumulator. With beta = 0, C
/// is never read.
template <class Out>
__device__ __forceinline__ void stage_sums(void* box, const float* sums, float alpha, float beta, OldC<Out> old) {
  constexpr int ROW_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = 8;
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;  // that this lane names to stmatrix
#pragma unroll
  for (int j = 0; j < CHUNKS; j += 2) {  // 16 columns: four matrices, the upper and lower 8 rows of two chunks
    uint32_t registers[4];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float* const two = sums + (j + t / 2) * 4 + t % 2 * 2;
      float2 out = make_float2(alpha * two[0], alpha * two[1]);
      if (beta != 0.0f) {
        const float2 c = old.pair(t % 2 * 8 + lane / 4, (j + t / 2) * 8 + lane % 4 * 2);
        out = make_float2(out.x + beta * c.x, out.y + beta * c.y);
      }
      store_pair(reinterpret_cast<Out*>(&registers[t]), out);
    }
    const int chunk = (j + lane / 16) ^ (row % CHUNKS);
    stmatrix_x4(shared_address(box) + row * ROW_BYTES + chunk * CHUNK_BYTES, registers);
  }
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
