// Step 24: warp specialisation. One warpgroup copies, the others multiply.
//
// The idea: in step 23 both warpgroups meet at a barrier in every slice, only so that one thread
// may start the next copy. Here that thread belongs to a warpgroup of its own, the producer. It
// fills a ring of stages; the consumers empty it. Two barriers per stage carry the messages: "full"
// says that a slice has landed, "empty" that both consumers have read it. The consumers no longer
// wait for each other, and may be slices apart.
//
// The producer needs few registers and the consumers many: setmaxnreg moves them from one to the
// others while the kernel runs.
//
// Against step 23: the second set of barriers, the two roles, setmaxnreg.
//
// Source: CUTLASS's warp-specialised kernels (NVIDIA, 2023) and fast.cu (pranjalssh, 2024).

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 64, MMA_K = 16;                   // of one instruction; its N is BN
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4;  // block tile, slices in shared memory
constexpr int WARPGROUP = 128, CONSUMERS = BM / MMA_M, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int DEFAULT_BAND = 1024;  // rows of C in a band
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, Gemm<AB, float, AB> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN, slices = g.k / BK;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];     // STAGES times As[BM][BK] and Bs
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + A_BYTES;

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody waits or arrives at a barrier that is not there yet

  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int slice = 0; slice < slices && first_thread; ++slice) {
      const int stage = slice % STAGES, k = slice * BK;
      char* const to = As + stage * STAGE_BYTES;
      // The consumers have read what this stage held.
      barrier_wait(&empty[stage], slice / STAGES % 2 ^ 1);
      barrier_arrive_expect(&full[stage], STAGE_BYTES);
      tma_load(to, a_map, k, block_row, &full[stage]);
      if (B_MAJOR == Major::K) {
        tma_load(to + A_BYTES, b_map, k, block_col, &full[stage]);
      } else {
#pragma unroll
        for (int col = 0; col < BN; col += ROW)
          tma_load(to + A_BYTES + col * BK * 2, b_map, block_col + col, k, &full[stage]);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * MMA_M * ROW_BYTES;
    const uint32_t Bs_read = shared_address(Bs);
    const auto release = [&](int slice) {
      if (lane == 0) barrier_arrive(&empty[slice % STAGES]);
    };
    float acc[BN / 2] = {};  // 64×BN of the warpgroup, 16×BN of a warp

    for (int slice = 0; slice < slices; ++slice) {
      const int stage = slice % STAGES;
      barrier_wait(&full[stage], slice / STAGES % 2);
      const uint64_t a = matrix_descriptor<Major::K>(As_read + stage * STAGE_BYTES, BK);
      const uint64_t b = matrix_descriptor<B_MAJOR>(Bs_read + stage * STAGE_BYTES, BK);
      wgmma_fence();  // the sums that this warp has written are there before wgmma adds to them
#pragma unroll
      for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
        wgmma_m64k16<AB, B_MAJOR>(acc, a + k_step * NEXT_K16<Major::K>,
                                  b + k_step * NEXT_K16<B_MAJOR>, true);
      wgmma_commit();
      wgmma_wait<1>();  // the products of the slice before are done
      if (slice > 0) release(slice - 1);
    }
    wgmma_wait<0>();  // the sums are complete

    AB* const c = g.c + (block_row + warp * 16) * g.ldc + block_col;
    store_warp_tile<float>(c, g.ldc, reinterpret_cast<float (&)[1][BN / 8][4]>(acc), g.alpha,
                           g.beta);
  }
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
