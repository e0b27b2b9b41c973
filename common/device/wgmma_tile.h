// What the kernels from step 27 on do with a tile as those of steps 25 and 26 do line by line: multiply a slice, store
// a box of C.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/gemm.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/wgmma_accumulators.h"

/// acc += a × b for a slice, 64 of k, or acc = a × b where not `accumulate`; 64 rows in each acc[i]. a, b: descriptors
/// of where the slice begins.
template <class AB, Major B_MAJOR, int MMAS_M, int SUMS>
__device__ __forceinline__ void multiply_slice(float (&acc)[MMAS_M][SUMS], uint64_t a, uint64_t b, bool accumulate) {
  constexpr int MMA_M = 64, MMA_K = 16, BK = 64, ROW_BYTES = 128;
  constexpr uint64_t NEXT_ROWS = MMA_M * ROW_BYTES >> 4;  // in a descriptor: the next 64 rows of A
#pragma unroll
  for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
      wgmma_m64k16<AB, B_MAJOR>(acc[i], a + k_step * NEXT_K16<Major::K> + i * NEXT_ROWS, b + k_step * NEXT_K16<B_MAJOR>,
                                accumulate || k_step > 0);
}

/// Stores the box of 64×64 that this warpgroup has written as C's from (row, col) on, clipped at any N: a group of the
/// stores of its first thread.
template <class AB>
__device__ __forceinline__ void store_box(const CUtensorMap& c_map, const void* box, const Gemm<AB, float, AB>& g,
                                          int row, int col) {
  constexpr int SIDE = 64, WARPGROUP = 128, CHUNK = 8;
  const bool first_thread = threadIdx.x % WARPGROUP == 0;
  fence_for_async_reads();                                               // the engine will see what this thread wrote
  named_barrier_sync(1 + threadIdx.x / WARPGROUP, WARPGROUP);            // everyone has written and fenced
  const bool clipped_in_a_chunk = g.n % CHUNK != 0 && col + SIDE > g.n;  // TMA clips whole chunks
  if (clipped_in_a_chunk)
    copy_box(box, g.c + row * g.ldc + col, g.ldc, g.m - row, g.n - col);
  else if (first_thread)
    tma_store(c_map, col, row, box);
  if (first_thread) tma_store_commit();  // a group per box, if only an empty one
}
