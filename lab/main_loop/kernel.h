// The main loop of a GEMM by wgmma, and nothing else of it: no tiles of C, no store. What each stage receives can be
// less than it holds, down to nothing; what is not received stays as it was at the start.
//
// Two warpgroups multiply; one thread of a third copies. The barriers are those of steps 24 and 26.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/device/ptx/cluster.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ring.h"
#include "lab/main_loop/wgmma_forms.h"

constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int STAGES = 4, MMA_M = 64;
constexpr int ROW_BYTES = 128, K_STEPS = 4;  // of k in a stage; one instruction takes 32 bytes of it
constexpr int BOX_ROWS = 64, BOX_BYTES = BOX_ROWS * ROW_BYTES;

/// A block tile: 128×256, or 256×192 as in step 26. The larger one's consumers hold 128 rows each.
template <int ROWS>
struct BlockTile {
  static_assert(ROWS == 128 || ROWS == 256);
  static constexpr int BM = ROWS, BN = ROWS == 128 ? 256 : 192, MMAS_M = BM / CONSUMERS / MMA_M;
  static constexpr int A_BOXES = BM / BOX_ROWS, BOXES = A_BOXES + BN / BOX_ROWS;  // of a stage: A, then B
  static constexpr int A_BYTES = A_BOXES * BOX_BYTES, STAGE_BYTES = BOXES * BOX_BYTES;
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
  // A pair of blocks shares the larger of its operands: each loads half of it for both.
  static constexpr int SHARED_FROM = BM > BN ? 0 : A_BOXES, SHARED_BOXES = BM > BN ? A_BOXES : BOXES - A_BOXES;

  /// Whether the block with this rank loads this box of a stage, and for how many.
  static __host__ __device__ constexpr bool is_shared(int box) {
    return SHARED_FROM <= box && box < SHARED_FROM + SHARED_BOXES;
  }
  static __host__ __device__ constexpr bool loads(int box, int rank, int cluster) {
    return cluster == 1 || !is_shared(box) || (box - SHARED_FROM) / (SHARED_BOXES / cluster) == rank;
  }
};

/// What a stage receives: its first `from_dram` boxes out of a buffer that no cache holds, the next ones, until there
/// are `boxes`, out of one that the L2 cache holds. Both buffers are matrices with rows of 128 bytes.
struct Traffic {
  int boxes = 0, from_dram = 0;
  int l2_rows = 0, dram_rows = 0;
};

/// A block's way through a buffer, from a place of its own, box by box, and round again.
struct Walk {
  int row, rows;

  __device__ Walk(int rows_, int blocks, int block)
      : row(static_cast<int>(static_cast<int64_t>(rows_ / BOX_ROWS) * block / blocks) * BOX_ROWS), rows(rows_) {}
  __device__ int next() {
    const int here = row;
    row = row + BOX_ROWS < rows ? row + BOX_ROWS : 0;
    return here;
  }
};

__device__ __forceinline__ float total_of(float sum) { return sum; }
__device__ __forceinline__ float total_of(uint32_t sums) {
  const float2 two = __half22float2(*reinterpret_cast<const half2*>(&sums));
  return two.x + two.y;
}

/// `slices` times a stage's products. `resident`: what the ring holds at first, SMEM_BYTES. `out`: the total of its
/// sums per consumer thread, so that every sum is needed. Sum: float, or uint32_t for two sums in FP16.
template <class Element, class Sum, int ROWS, int CLUSTER>
__global__ void __launch_bounds__(THREADS, 1)
    main_loop(const __grid_constant__ CUtensorMap l2_map, const __grid_constant__ CUtensorMap dram_map, Traffic traffic,
              const uint4* resident, float* out, int slices) {
  using Tile = BlockTile<ROWS>;
  constexpr int SUMS = Tile::BN / (std::is_same_v<Sum, uint32_t> ? 4 : 2);  // registers of a thread per 64 rows
  const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;
  const int rank = CLUSTER == 1 ? 0 : cluster_rank();
  const bool receives = traffic.boxes > 0;

  extern __shared__ __align__(1024) char stages[];
  __shared__ Barrier full[STAGES], empty[STAGES];

  for (int i = threadIdx.x; i < Tile::SMEM_BYTES / 16; i += THREADS) reinterpret_cast<uint4*>(stages)[i] = resident[i];
  fence_for_async_reads();  // wgmma will see what this thread wrote, and copies will land after it
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CLUSTER * CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  if (CLUSTER == 1)
    __syncthreads();  // everything is written and fenced
  else
    cluster_sync();

  RingPlace<STAGES> place;
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP && receives) {
      Walk l2(traffic.l2_rows, gridDim.x, blockIdx.x), dram(traffic.dram_rows, gridDim.x, blockIdx.x);
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        char* const to = stages + place.stage * Tile::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        barrier_wait(&empty[place.stage], place.parity ^ 1);  // all consumers have read what this stage held
        barrier_arrive_expect(landed, traffic.boxes * BOX_BYTES);
        for (int box = 0; box < traffic.boxes; ++box) {
          if (!Tile::loads(box, rank, CLUSTER)) continue;
          const bool far = box < traffic.from_dram;
          const CUtensorMap& map = far ? dram_map : l2_map;
          const int row = far ? dram.next() : l2.next();
          if (CLUSTER > 1 && Tile::is_shared(box))
            tma_load_multicast(to + box * BOX_BYTES, map, 0, row, landed, (1 << CLUSTER) - 1);
          else
            tma_load(to + box * BOX_BYTES, map, 0, row, landed);
        }
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(stages) + warpgroup * Tile::MMAS_M * MMA_M * ROW_BYTES;
    const uint32_t Bs_read = shared_address(stages) + Tile::A_BYTES;
    const auto release = [&](int stage) {
      if (CLUSTER > 1 && lane < CLUSTER)
        barrier_arrive_at(&empty[stage], lane);
      else if (CLUSTER == 1 && lane == 0)
        barrier_arrive(&empty[stage]);
    };
    Sum acc[Tile::MMAS_M][SUMS] = {};  // 64×BN of the warpgroup each

    int stage_before = 0;
    for (int slice = 0; slice < slices; ++slice, place.advance()) {
      if (receives) barrier_wait(&full[place.stage], place.parity);
      const uint64_t a = matrix_descriptor<Major::K>(As_read + place.stage * Tile::STAGE_BYTES, BOX_ROWS);
      const uint64_t b = matrix_descriptor<Major::K>(Bs_read + place.stage * Tile::STAGE_BYTES, BOX_ROWS);
      wgmma_fence();  // the zeros are there before wgmma adds to them
#pragma unroll
      for (int k_step = 0; k_step < K_STEPS; ++k_step)
#pragma unroll
        for (int i = 0; i < Tile::MMAS_M; ++i)
          multiply<Element>(acc[i], a + k_step * NEXT_K16<Major::K> + i * (MMA_M * ROW_BYTES >> 4),
                            b + k_step * NEXT_K16<Major::K>);
      wgmma_commit();
      wgmma_wait<1>();  // the products of the slice before are done
      if (receives && slice > 0) release(stage_before);
      stage_before = place.stage;
    }
    wgmma_wait<0>();

    float total = 0;
#pragma unroll
    for (const auto& row : acc)
#pragma unroll
      for (const Sum& sum : row) total += total_of(sum);
    out[blockIdx.x * CONSUMERS * WARPGROUP + threadIdx.x] = total;
  }
  if (CLUSTER > 1) cluster_sync();  // the other block may still have signalled to this one's barriers
}
