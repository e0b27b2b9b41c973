// Step 23: wgmma. A warpgroup, four warps, multiplies matrices straight out of shared memory.
//
// The idea: mma.sync takes its operands from registers, so every warp loads fragments of A and B,
// the same rows and columns as its neighbours, and a tensor core never sees more than 16×8×16 at
// once. wgmma takes descriptors of two tiles in shared memory: 64×16 of A, 16×256 of B. There are
// no fragments, no ldmatrix and no registers for them; what is left in registers are the sums.
//
// It runs on its own, like a copy: fence before the first, commit a group, wait for a group. With
// one group under way while the next is prepared, the tensor cores have no gap between slices.
//
// Against step 22: the products, and a warp tile of 64×256 per warpgroup. The swizzle that TMA
// writes is one that wgmma reads: descriptors name it. A row-major B (K×N) needs no transposing
// load, since for 16-bit types the instruction takes either order.
//
// Source: fast.cu (pranjalssh, 2024) and the PTX ISA's chapter on wgmma.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 64, MMA_K = 16;                   // of one instruction; its N is BN
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4;  // block tile, slices in shared memory
constexpr int WARPGROUP = 128, THREADS = BM / MMA_M * WARPGROUP;
constexpr int ROW = 64, ROW_BYTES = 128;  // a box's row: elements, bytes
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int DEFAULT_BAND = 1024;  // rows of C in a band
static_assert(BK == ROW, "a row of A's box is a slice of K");

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, Gemm<AB, float, AB> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN, slices = g.k / BK;
  const int warp = threadIdx.x / 32, warpgroup = warp / 4;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs
  __shared__ Barrier full[STAGES];              // the slice in this stage has landed
  char* const Bs = As + A_BYTES;
  const uint32_t As_read = shared_address(As) + warpgroup * MMA_M * ROW_BYTES;
  const uint32_t Bs_read = shared_address(Bs);

  float acc[BN / 2] = {};  // 64×BN of the warpgroup, 16×BN of a warp

  const auto copy = [&](int slice) {  // by one thread
    const int stage = slice % STAGES, k = slice * BK;
    char* const to = As + stage * STAGE_BYTES;
    barrier_arrive_expect(&full[stage], STAGE_BYTES);
    tma_load(to, a_map, k, block_row, &full[stage]);
    if (B_MAJOR == Major::K) {
      tma_load(to + A_BYTES, b_map, k, block_col, &full[stage]);
    } else {
#pragma unroll
      for (int col = 0; col < BN; col += ROW)
        tma_load(to + A_BYTES + col * BK * 2, b_map, block_col + col, k, &full[stage]);
    }
  };
  const auto multiply = [&](int slice) {
    const int stage = slice % STAGES * STAGE_BYTES;
    const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
    const uint64_t b = matrix_descriptor<B_MAJOR>(Bs_read + stage, BK);
    wgmma_fence();  // the sums that this warp has written are there before wgmma adds to them
#pragma unroll
    for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
      wgmma_m64k16<AB, B_MAJOR>(acc, a + k_step * NEXT_K16<Major::K>,
                                b + k_step * NEXT_K16<B_MAJOR>, true);
    wgmma_commit();
  };

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
    for (int slice = 0; slice < min(STAGES, slices); ++slice) copy(slice);
  }
  __syncthreads();  // nobody waits at a barrier that is not there yet

  for (int slice = 0; slice < slices; ++slice) {
    barrier_wait(&full[slice % STAGES], slice / STAGES % 2);
    multiply(slice);
    wgmma_wait<1>();  // this warpgroup has read the slice before
    __syncthreads();  // so have both: its stage may be overwritten
    const int next = slice - 1 + STAGES;
    if (threadIdx.x == 0 && slice > 0 && next < slices) copy(next);
  }
  wgmma_wait<0>();  // the sums are complete

  AB* const c = g.c + (block_row + warp * 16) * g.ldc + block_col;
  store_warp_tile<float>(c, g.ldc, reinterpret_cast<float (&)[1][BN / 8][4]>(acc), g.alpha, g.beta);
}

template <class AB, Major B_MAJOR>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * STAGE_BYTES;
  const auto kernel = gemm_kernel<AB, B_MAJOR>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS, smem_bytes, stream>>>(a_map, b_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class AB, Major B_MAJOR>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_MAJOR>);
  v.tile(BM, BN, BK).shared_memory(STAGES * STAGE_BYTES).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<__nv_bfloat16, Major::MN>("bf16"),
      variant<__nv_bfloat16, Major::K>("bf16_tn"),
      variant<half, Major::MN>("f16"),
      variant<half, Major::K>("f16_tn"),
  };
}
