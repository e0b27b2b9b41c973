// FP8 whose sums do not stay in the tensor core: every 128 of K they are added to floats of FP32.
//
// The tensor core keeps 13 bits of fraction of a sum of FP8 products, so a long sum loses what is
// small against it. Here the instructions of one slice start from zero, and what they sum up to is
// added by CUDA cores, as DeepSeek-V3 describes. That is the moment for factors, too: block_scaled
// multiplies by one per row of A and slice, and one per 128 columns of B and slice.
//
// Against kernel.cu: two sets of sums, for which a tile of 128×192 leaves registers. Its halves of
// 96 columns are multiplied one behind the other, and the first is promoted while the second is
// multiplied.
//
// Source: DeepSeek-V3's technical report (2024), section 3.3; DeepGEMM (DeepSeek, 2025).

#include <cuda_fp8.h>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma_narrow.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"

namespace {

constexpr int MMA_M = 64, MMA_N = 96, MMA_K = 32;        // of one instruction
constexpr int BM = 128, BN = 192, BK = 128, STAGES = 4;  // block tile, slices in shared memory
constexpr int WARPGROUP = 128, CONSUMERS = BM / MMA_M, THREADS = (1 + CONSUMERS) * WARPGROUP,
              HALVES = BN / MMA_N;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int ROW_BYTES = 128, ROW = 64;                          // of a box; elements of one of C
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BN * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int PIECES = BN / ROW,
              PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C, so many per consumer
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
constexpr int DEFAULT_BAND = 2048;                      // rows of C in a band
constexpr uint64_t NEXT_HALF = MMA_N * ROW_BYTES >> 4;  // in a descriptor: the next 96 columns of B
constexpr int GROUP = 32, GROUPS = MMA_N / GROUP;       // columns of a half that have one factor
static_assert(BK == BlockScales::BLOCK && BN % GROUP == 0 && BlockScales::BLOCK % GROUP == 0);

/// `b_scales`: [slices][columns of 128]; null, and scales_map of anything, where not SCALED.
template <class A, class B, bool SCALED>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map,
                const __grid_constant__ CUtensorMap scales_map, const float* b_scales,
                Gemm<A, float, __nv_bfloat16> g, int band_rows) {
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN),
            scale_cols = ceil_div(g.n, BlockScales::BLOCK);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];          // the slice has landed; it has been read
  __shared__ __align__(128) float row_scales[STAGES][BM];  // of the slice's A

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody waits or arrives at a barrier that is not there yet

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && first_thread; index += gridDim.x) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES + (SCALED ? sizeof row_scales[0] : 0));
        tma_load(to, a_map, slice * BK, tile.x * BM, landed);
        tma_load(to + A_BYTES, b_map, slice * BK, tile.y * BN, landed);
        if (SCALED) tma_load(row_scales[place.stage], scales_map, tile.x * BM, slice, landed);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * MMA_M * ROW_BYTES;
    const uint32_t Bs_read = shared_address(As) + A_BYTES;
    const int thread_row = warp * 16 + lane / 4;  // of the tile; the thread's other row is 8 below
    char* const Cs = As + STAGES * STAGE_BYTES + warpgroup * PIECES * PIECE_BYTES;
    float acc[HALVES][MMA_N / 2];   // 64×96 of the warpgroup each, in FP32
    float part[HALVES][MMA_N / 2];  // of one slice, as the tensor core sums
    const auto store = [&](int index, float beta) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      const int row = tile.x * BM + warpgroup * MMA_M, warp_row = row + warp % 4 * 16;
#pragma unroll
      for (int piece = 0; piece < PIECES; ++piece) {
        const int col = tile.y * BN + piece * ROW;
        char* const box = Cs + piece * PIECE_BYTES;
        if (first_thread) tma_store_wait_read<PIECES - 1>();  // the engine has read what was here
        named_barrier_sync(1 + warpgroup, WARPGROUP);         // so the piece may be written
        stage_sums<__nv_bfloat16>(box, &acc[0][0] + piece * ROW / 2, g.alpha, beta,
                                  {g.c + warp_row * g.ldc + col, g.ldc, g.m - warp_row, g.n - col});
        fence_for_async_reads();                       // the engine will see what this thread wrote
        named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
        if (first_thread) {
          tma_store(c_map, col, row, box);
          tma_store_commit();
        }
      }
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
#pragma unroll
      for (int i = 0; i < HALVES * MMA_N / 2; ++i) acc[i / (MMA_N / 2)][i % (MMA_N / 2)] = 0.0f;
      const int first_group =
          tile_in_bands(index, tile_rows, tile_cols, band_rows).y * HALVES * GROUPS;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        float b_scale[HALVES * GROUPS];
#pragma unroll
        for (int group = 0; group < HALVES * GROUPS && SCALED; ++group) {
          const int block = (first_group + group) * GROUP / BlockScales::BLOCK;
          b_scale[group] =
              b_scales[slice * scale_cols + min(block, scale_cols - 1)];  // outside C: any
        }
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * STAGE_BYTES;
        const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
        const uint64_t b = matrix_descriptor<Major::K>(Bs_read + stage, BK);
        float row_scale[2];
#pragma unroll
        for (int h = 0; h < 2 && SCALED; ++h)
          row_scale[h] = row_scales[place.stage][thread_row + h * 8];
        const auto promote = [&](int half) {
#pragma unroll
          for (int i = 0; i < MMA_N / 2; ++i) {
            const float factor = row_scale[i / 2 % 2] * b_scale[half * GROUPS + i / (GROUP / 2)];
            acc[half][i] += SCALED ? part[half][i] * factor : part[half][i];
          }
        };
        wgmma_fence();  // this warp has done with the parts of the slice before
#pragma unroll
        for (int half = 0; half < HALVES; ++half) {
#pragma unroll
          for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
            wgmma_32_bytes<A, B>(part[half], a + k_step * NEXT_32_BYTES,
                                 b + half * NEXT_HALF + k_step * NEXT_32_BYTES, k_step > 0);
          wgmma_commit();
        }
        wgmma_wait<1>();  // the first half is complete
        promote(0);
        wgmma_wait<0>();  // the second is, too
        if (lane == 0) barrier_arrive(&empty[place.stage]);
        promote(1);
      }

      if (g.beta == 0.0f)
        store(index, 0.0f);  // a literal: no branches, no loads of C
      else
        store(index, g.beta);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

template <class A, class B, bool SCALED>
void launch(const Gemm<A, float, __nv_bfloat16>& g, const LaunchOptions& options,
            cudaStream_t stream) {
  const auto kernel = gemm_kernel<A, B, SCALED>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map =
      make_tensor_map(reinterpret_cast<const B*>(g.b), g.n, g.k, g.ldb, BN, BK);
  const CUtensorMap c_map = make_tensor_map<__nv_bfloat16>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const CUtensorMap scales_map =
      SCALED ? make_tensor_map(options.scales.of_a, ceil_div(g.k, BK), g.m,
                               BlockScales::ld_of_a(g.m), 1, BM, CU_TENSOR_MAP_SWIZZLE_NONE)
             : a_map;
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(a_map, b_map, c_map, scales_map,
                                                options.scales.of_b, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class A, class B, bool SCALED>
Variant variant(const char* name) {
  Variant v(name, launch<A, B, SCALED>);
  v.any_size(BM, BN, BK)
      .columns_in(8)
      .aligned_ld(16, 16, 8)
      .tn()
      .flat_grid()
      .in_bands()
      .on_tensor_cores();
  v.b_of(type_of<B>);
  return SCALED ? v.block_scaled() : v;
}

std::vector<Variant> variants() {
  using e4m3 = __nv_fp8_e4m3;
  return {
      variant<e4m3, e4m3, false>("promoted").note("sums are promoted to FP32 every 128 of K"),
      variant<e4m3, e4m3, true>("block_scaled")
          .note("the same, with factors per row and per 128 columns and slice"),
      variant<__nv_fp8_e5m2, e4m3, false>("promoted_e5m2_e4m3").note("the same for A in e5m2"),
  };
}

const Also added(variants);

}  // namespace
