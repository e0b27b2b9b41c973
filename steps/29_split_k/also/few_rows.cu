// Step 29, also: few rows. The operands change places, and K is shared out.
//
// The idea: where C has 16 rows, as when a language model writes word after word, all of B is read
// for 16 products per element. So the bytes of B take the time, and what counts is how many of them
// are under way. A tile of 128 rows spends most of its stage on rows that are not there. Here the
// columns of B take the place of A's rows in wgmma: the instruction has 64 of one operand whatever
// happens, but may have as few as 8 of the other. A stage then holds 16 KB of B and, for 16 rows, 4
// KB of A.
//
// N = 8192 has 128 tiles of 64 columns: nearly all multiprocessors read. The two consumers share K,
// half of each slice. Where N is smaller, the blocks of a cluster share it, too. The sums meet in
// shared memory. They are transposed on their way to C's box (stmatrix), and TMA stores that. The
// old C is fetched at the start.
//
// Against step 29: the operands, who shares what, one tile per block, the registers, which are few.
//
// Source: our own; cuBLAS's kernels for few rows exchange the operands, too.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ptx/wgmma_exchanged.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"

namespace {

constexpr int BN = 64, MMA_K = 16, BK = 128;  // columns of B, the 64 of an instruction; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int MEETING = 1 + CONSUMERS;                       // the named barrier of both consumers
constexpr int ROW = 64, ROW_BYTES = 128;                     // a box's row: elements, bytes
constexpr int B_BYTES = BK * BN * 2, HALF = BK / CONSUMERS;  // HALF: of k, for a consumer
static_assert(HALF == ROW && BN == ROW, "a row of a box is half a slice of K, or 64 columns");

/// Rows of C in a tile, the ring, and the blocks that share K beside the consumers.
template <int BM_, int STAGES_, int SPLIT_>
struct Rows {
  static constexpr int BM = BM_, STAGES = STAGES_, SPLIT = SPLIT_;
  static constexpr int A_HALF_BYTES = BM * ROW_BYTES, B_HALF_BYTES = B_BYTES / CONSUMERS;
  static constexpr int STAGE_BYTES = CONSUMERS * (A_HALF_BYTES + B_HALF_BYTES);
  static constexpr int RING_BYTES = STAGES * STAGE_BYTES;
  static constexpr int C_BYTES = BM * ROW_BYTES, SUM_BYTES = BM * BN * 4;
  static constexpr int SMEM_BYTES = RING_BYTES + C_BYTES + SUM_BYTES;
  static constexpr int QUADS = BM / 2 / 4;  // of four sums, per thread
};

template <class AB, Major B_MAJOR, class T>
__global__ void __launch_bounds__(THREADS)
    few_rows_kernel(const __grid_constant__ CUtensorMap a_map,
                    const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g) {
  constexpr int BM = T::BM, STAGES = T::STAGES, SPLIT = T::SPLIT;
  const int tile = blockIdx.x / SPLIT, tile_rows = ceil_div(g.m, BM);
  const int row = tile % tile_rows * BM, col = tile / tile_rows * BN;
  const int rank = SPLIT > 1 ? cluster_rank() : 0;
  const int slices = ceil_div(ceil_div(g.k, BK), SPLIT), first_k = rank * slices * BK;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);  // the consumers, then the producer

  extern __shared__ __align__(1024) char Bs[];  // STAGES times two halves of Bs and of As; C; sums
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  __shared__ Barrier old_c;                        // the old C has landed
  char* const As = Bs + B_BYTES;
  char* const Cs = Bs + T::RING_BYTES;  // Cs[BM][BN]

  let_next_kernel_begin();  // it waits for this one by itself, as this one does below
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init(&old_c, 1);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();           // nobody waits or arrives at a barrier that is not there yet
  wait_for_kernel_before();  // A and B are complete, and nobody needs the old C any more

  RingPlace<STAGES> place;  // of the next slice
  if (warpgroup == CONSUMERS) {
    const bool producer = threadIdx.x % WARPGROUP == 0;
    for (int k = first_k; k < first_k + slices * BK && producer; k += BK, place.advance()) {
      char* const to = Bs + place.stage * T::STAGE_BYTES;
      Barrier* const landed = &full[place.stage];
      // The consumers have read what this stage held.
      barrier_wait(&empty[place.stage], place.parity ^ 1);
      barrier_arrive_expect(landed, T::STAGE_BYTES);
#pragma unroll
      for (int half = 0; half < CONSUMERS; ++half) {
        char* const b = to + half * T::B_HALF_BYTES;
        if (B_MAJOR == Major::K)
          tma_load(b, b_map, k + half * HALF, col, landed);
        else
          tma_load(b, b_map, col, k + half * HALF, landed);
        tma_load(to + B_BYTES + half * T::A_HALF_BYTES, a_map, k + half * HALF, row, landed);
      }
    }
    if (producer && rank == 0 && g.beta != 0.0f) {
      barrier_arrive_expect(&old_c, T::C_BYTES);
      tma_load(Cs, c_map, col, row, &old_c);
    }
    if (SPLIT > 1) {
      __syncwarp();    // the first warp comes to the barrier as one
      cluster_sync();  // the consumers meet those of the other blocks
    }
  } else {
    const uint64_t first_a =
        matrix_descriptor<Major::K>(shared_address(As) + warpgroup * T::A_HALF_BYTES, HALF);
    const uint64_t first_b =
        matrix_descriptor<B_MAJOR>(shared_address(Bs) + warpgroup * T::B_HALF_BYTES, HALF);
    float acc[BM / 2];  // BM×64 of the warpgroup, BM×16 of a warp
    int stage_before = 0;
    for (int slice = 0; slice < slices; ++slice, place.advance()) {
      barrier_wait(&full[place.stage], place.parity);
      const int stage = place.stage * (T::STAGE_BYTES >> 4);  // in a descriptor
      wgmma_fence();  // the sums belong to the products from here
#pragma unroll
      for (int k_step = 0; k_step < HALF / MMA_K; ++k_step)
        wgmma_exchanged_k16<AB, B_MAJOR>(acc, first_a + stage + k_step * NEXT_K16<Major::K>,
                                         first_b + stage + k_step * NEXT_K16<B_MAJOR>,
                                         slice > 0 || k_step > 0);
      wgmma_commit();
      wgmma_wait<1>();  // the products of the slice before are done
      if (slice > 0 && lane == 0) barrier_arrive(&empty[stage_before]);
      stage_before = place.stage;
    }
    wgmma_wait<0>();  // the sums are complete

    const auto left = [&](int quad) {  // of four sums, for another consumer
      return reinterpret_cast<float4*>(Cs + T::C_BYTES) + quad * WARPGROUP +
             threadIdx.x % WARPGROUP;
    };
    const auto leave = [&] {
#pragma unroll
      for (int quad = 0; quad < T::QUADS; ++quad) *left(quad) = float4_at(acc + quad * 4);
    };
    const auto add = [&](int quad, float4 more) {
      float* const sums = acc + quad * 4;
      sums[0] += more.x, sums[1] += more.y, sums[2] += more.z, sums[3] += more.w;
    };
    if (warpgroup == 1) leave();
    named_barrier_sync(MEETING, CONSUMERS * WARPGROUP);  // the other consumer's sums are there
    if (warpgroup == 0) {
#pragma unroll
      for (int quad = 0; quad < T::QUADS; ++quad) add(quad, *left(quad));
      if (rank != 0) leave();  // each thread over the quads that it has read
    }
    if (SPLIT > 1) cluster_sync();  // the other blocks' sums are there
    if (warpgroup == 0 && rank == 0) {
      for (int other = 1; other < SPLIT; ++other)
#pragma unroll
        for (int quad = 0; quad < T::QUADS; ++quad) add(quad, load_float4_of(left(quad), other));
      if (g.beta != 0.0f) {
        barrier_wait(&old_c, 0);
#pragma unroll
        for (int i = 0; i < BM; i += 16) add_old_c_turned<AB>(acc + i / 2, Cs, i, g.alpha, g.beta);
      }
      const float alpha = g.beta != 0.0f ? 1.0f : g.alpha;
#pragma unroll
      for (int i = 0; i < BM; i += 16) stage_sums_turned<AB>(Cs, acc + i / 2, i, alpha);
      fence_for_async_reads();                // the engine will see what this thread wrote
      named_barrier_sync(1, WARPGROUP);       // everyone has written and fenced
      if (g.n % 8 != 0 && col + ROW > g.n) {  // TMA clips in chunks of 16 bytes
        copy_box(Cs, g.c + row * g.ldc + col, g.ldc, min(BM, g.m - row), g.n - col);
      } else if (threadIdx.x == 0) {
        tma_store(c_map, col, row, Cs);
        tma_store_commit();
        tma_store_wait_read<0>();  // shared memory ends with the block
      }
    }
  }
  if (SPLIT > 1) cluster_sync();  // block 0 may still read this one's sums
}

template <class AB, Major B_MAJOR, class T>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = few_rows_kernel<AB, B_MAJOR, T>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, T::BM, ROW);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, ROW)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, HALF, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, T::BM, ROW);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  const int tiles = ceil_div(g.m, T::BM) * ceil_div(g.n, BN);
  launch_early(!options.alone, kernel, T::SPLIT, tiles * T::SPLIT, THREADS, T::SMEM_BYTES, stream,
               a_map, b_map, c_map, g);
}

/// The least split that gives half of the multiprocessors a block.
template <class AB, Major B_MAJOR, int BM, int STAGES>
void launch_by_columns(const Gemm<AB, float, AB>& g, const LaunchOptions& options,
                       cudaStream_t stream) {
  const int tiles = ceil_div(g.m, BM) * ceil_div(g.n, BN), half = multiprocessors_here() / 2;
  if (tiles > half)
    launch<AB, B_MAJOR, Rows<BM, STAGES, 1>>(g, options, stream);
  else if (2 * tiles > half)
    launch<AB, B_MAJOR, Rows<BM, STAGES, 2>>(g, options, stream);
  else
    launch<AB, B_MAJOR, Rows<BM, STAGES, 4>>(g, options, stream);
}

template <int BM, int STAGES, class AB = __nv_bfloat16, Major B_MAJOR = Major::MN>
Variant variant(const char* name) {
  Variant v(name, launch_by_columns<AB, B_MAJOR, BM, STAGES>);
  v.any_size(BM, BN, BK).aligned_ld(8, 8, 8).flat_grid().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  using bf16 = __nv_bfloat16;
  return {
      variant<16, 10>("rows_16").note("tiles of 16 rows and 64 columns, operands exchanged"),
      variant<16, 10, bf16, Major::K>("rows_16_tn"),
      variant<16, 10, half>("rows_16_f16"),
      variant<16, 10, half, Major::K>("rows_16_f16_tn"),
      variant<64, 6>("rows_64").note("tiles of 64 rows and 64 columns, operands exchanged"),
      variant<64, 6, bf16, Major::K>("rows_64_tn"),
      variant<64, 6, half>("rows_64_f16"),
      variant<64, 6, half, Major::K>("rows_64_f16_tn"),
  };
}

const Also added(variants);

}  // namespace
