// What step 25 does line by line with a slice and with the old C, for the kernels from step 26 on: multiply a slice,
// fetch the old C through the ring and add it. For those from step 27 on also: store a box of C.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/gemm.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
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

/// The old C of a block tile of BM×BN, WM rows of it per consumer, comes through the ring behind the tile's slices:
/// 64×64 boxes, in as many stages as they take, each AT_ONCE boxes of every consumer. Where SPLIT blocks share the
/// tile, each takes its own boxes.
template <int BM, int BN, int WM, int RING_STAGES, int STAGE_BYTES, int SPLIT = 1>
struct OldC {
  static constexpr int SIDE = 64, BOX_BYTES = SIDE * SIDE * 2, BOX_COLS = BN / SIDE;
  static constexpr int CONSUMERS = BM / WM, BOXES = WM / SIDE * BOX_COLS, OWN = BOXES < SPLIT ? 1 : BOXES / SPLIT;
  static constexpr int STAGES = CONSUMERS * OWN * BOX_BYTES > STAGE_BYTES ? 2 : 1, AT_ONCE = OWN / STAGES;
  static_assert(BOXES % SPLIT == 0 || CONSUMERS * BOXES <= SPLIT, "a box has one owner");
  static_assert(OWN % STAGES == 0 && CONSUMERS * AT_ONCE * BOX_BYTES <= STAGE_BYTES);

  /// The block that completes and stores a consumer's box: an equal part of every consumer's for each, or, where there
  /// are more blocks than that, one box for each.
  static __device__ __forceinline__ int owner(int consumer, int box) {
    return SPLIT <= BOXES ? box / OWN : consumer * BOXES + box;
  }

  /// Asks for C to be brought to L2. tile: where it begins, (row, column).
  static __device__ __forceinline__ void prefetch(const CUtensorMap& c_map, int2 tile) {
    for (int row = 0; row < BM; row += SIDE)
      for (int col = 0; col < BN; col += SIDE) tma_prefetch(c_map, tile.y + col, tile.x + row);
  }

  /// Loads C into the stages from `place` on, as each gets empty. By the producer.
  static __device__ __forceinline__ void load(char* ring, Barrier* full, Barrier* empty, RingPlace<RING_STAGES>& place,
                                              const CUtensorMap& c_map, int2 tile, int rank = 0) {
    for (int part = 0; part < STAGES; ++part, place.advance()) {
      char* const to = ring + place.stage * STAGE_BYTES;
      Barrier* const landed = &full[place.stage];
      barrier_wait(&empty[place.stage], place.parity ^ 1);
      const int boxes = SPLIT <= BOXES ? CONSUMERS * AT_ONCE : rank < CONSUMERS * BOXES;
      barrier_arrive_expect(landed, boxes * BOX_BYTES);
#pragma unroll
      for (int i = 0; i < CONSUMERS * AT_ONCE; ++i) {
        const int box = (SPLIT <= BOXES ? rank * OWN : rank % BOXES) + part * AT_ONCE + i % AT_ONCE;
        if (owner(i / AT_ONCE, box) != rank) continue;
        tma_load(to + i * BOX_BYTES, c_map, tile.y + box % BOX_COLS * SIDE,
                 tile.x + i / AT_ONCE * WM + box / BOX_COLS * SIDE, landed);
      }
    }
  }

  /// Waits until C has landed in the stages from `place` on.
  static __device__ __forceinline__ void wait(Barrier* full, RingPlace<RING_STAGES> place) {
    for (int part = 0; part < STAGES; ++part, place.advance()) barrier_wait(&full[place.stage], place.parity);
  }

  /// acc = alpha * acc + beta * C, and gives each stage back: release(stage), by a warp. By a consumer, the tile's
  /// `consumer`-th.
  template <class AB, int MMAS_M, int SUMS, class Release>
  static __device__ __forceinline__ void add(float (&acc)[MMAS_M][SUMS], const char* ring, Barrier* full,
                                             const Release& release, RingPlace<RING_STAGES>& place, int consumer,
                                             const Gemm<AB, float, AB>& g, int rank = 0) {
#pragma unroll
    for (int part = 0; part < STAGES; ++part, place.advance()) {
      barrier_wait(&full[place.stage], place.parity);
      const char* const boxes = ring + place.stage * STAGE_BYTES + consumer * AT_ONCE * BOX_BYTES;
#pragma unroll
      for (int box = 0; box < BOXES; ++box)
        if (owner(consumer, box) == rank && box % OWN / AT_ONCE == part)
          add_old_c<AB>(acc[box / BOX_COLS] + box % BOX_COLS * (SIDE / 2), boxes + box % AT_ONCE * BOX_BYTES, g.alpha,
                        g.beta);
      fence_before_async_writes();  // this lane has read what the engine will overwrite
      __syncwarp();                 // all lanes have
      release(place.stage);
    }
  }
};

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
