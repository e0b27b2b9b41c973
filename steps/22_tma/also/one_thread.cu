// Step 22 with all copies of a slice started by thread 0, right behind the barrier that frees their
// stage. The other warps wait for its warp at the next barrier.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/mma.h"
#include "common/device/ptx/tma.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

namespace {

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;        // of one instruction
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4;  // block tile, slices in shared memory
constexpr int WM = 64, WN = 64;                         // warp tile
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N, K_STEPS = BK / MMA_K;
constexpr int THREADS = BM / WM * (BN / WN) * 32;           // 2×4 warps
constexpr int ROW = 64, ROW_BYTES = 128, CHUNK_BYTES = 16;  // a box's row: elements, bytes
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int DEFAULT_BAND = 1024;  // rows of C in a band
static_assert(BK == ROW, "a row of A's box is a slice of K");

/// Bytes from the start of a box to a chunk of a row, as TMA swizzles.
__device__ constexpr int offset(int row, int chunk) {
  return row * ROW_BYTES + (chunk ^ (row % 8)) * CHUNK_BYTES;
}

/// B as K×N lies in boxes of 64 columns, one row per k; B_TRANSPOSED, as N×K, in one box, one row
/// per column.
template <class AB, bool B_TRANSPOSED>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, Gemm<AB, float, AB> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN, slices = g.k / BK;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs
  __shared__ Barrier full[STAGES];              // the slice in this stage has landed
  char* const Bs = As + A_BYTES;
  // The row that a lane names to ldmatrix.x4. Of A: rows 0–15 at k 0–7, then at k 8–15. Of B: k
  // 0–15 of columns 0–7, then of columns 8–15; where B is stored transposed, columns 0–7 at k 0–7
  // and at k 8–15, then columns 8–15.
  const uint32_t a_addr = shared_address(As + offset(warp_row + lane % 16, lane / 16));
  const uint32_t b_addr = shared_address(
      Bs + (B_TRANSPOSED ? offset(warp_col + lane / 16 * 8 + lane % 8, lane / 8 % 2)
                         : warp_col / ROW * BK * ROW_BYTES + offset(lane % 16, lane / 16)));

  uint32_t a_frag[2][MMAS_M][4], b_frag[2][MMAS_N / 2][4];  // [k step % 2]
  float acc[MMAS_M][MMAS_N][4] = {};

  const auto copy = [&](int slice) {  // by one thread
    const int stage = slice % STAGES, k = slice * BK;
    char* const to = As + stage * STAGE_BYTES;
    barrier_arrive_expect(&full[stage], STAGE_BYTES);
    tma_load(to, a_map, k, block_row, &full[stage]);
    if (B_TRANSPOSED) {
      tma_load(to + A_BYTES, b_map, k, block_col, &full[stage]);
    } else {
#pragma unroll
      for (int col = 0; col < BN; col += ROW)
        tma_load(to + A_BYTES + col * ROW_BYTES, b_map, block_col + col, k, &full[stage]);
    }
  };
  const auto wait_for = [&](int slice) { barrier_wait(&full[slice % STAGES], slice / STAGES % 2); };
  const auto load_frags = [&](int slice, int k_step) {
    const int stage = slice % STAGES * STAGE_BYTES, k_bytes = k_step * 2 * CHUNK_BYTES;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
      ldmatrix_x4(a_frag[k_step % 2][i], ((a_addr + stage) ^ k_bytes) + i * MMA_M * ROW_BYTES);
#pragma unroll
    for (int j = 0; j < MMAS_N / 2; ++j) {
      const int col = j * 2 * MMA_N;
      if (B_TRANSPOSED)
        ldmatrix_x4(b_frag[k_step % 2][j], ((b_addr + stage) ^ k_bytes) + col * ROW_BYTES);
      else
        ldmatrix_x4_trans(b_frag[k_step % 2][j],
                          ((b_addr + stage) ^ col * 2) + k_step * MMA_K * ROW_BYTES);
    }
  };
  const auto multiply = [&](int k_step) {
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < MMAS_N; ++turn) {
        const int j = i % 2 == 0 ? turn : MMAS_N - 1 - turn;  // neighbours share a fragment
        mma_m16n8k16<AB>(acc[i][j], a_frag[k_step % 2][i], b_frag[k_step % 2][j / 2] + j % 2 * 2);
      }
  };

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody copies or waits at a barrier that is not there yet
  if (threadIdx.x == 0)
    for (int slice = 0; slice < min(STAGES, slices); ++slice) copy(slice);
  wait_for(0);
  load_frags(0, 0);

  for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
    for (int k_step = 0; k_step < K_STEPS; ++k_step) {
      if (k_step < K_STEPS - 1) {
        load_frags(slice, k_step + 1);
      } else if (slice + 1 < slices) {
        wait_for(slice + 1);
        load_frags(slice + 1, 0);
      }
      multiply(k_step);
      const int next = slice - 1 + STAGES;  // into the stage of the slice before
      if (k_step == 0 && slice > 0 && next < slices) {
        __syncthreads();  // everyone has multiplied all of that slice: nothing reads it any more
        if (threadIdx.x == 0) copy(next);
      }
    }
  }

  AB* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  store_warp_tile<float>(c, g.ldc, acc, g.alpha, g.beta);
}

template <class AB, bool B_TRANSPOSED>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * STAGE_BYTES;
  const auto kernel = gemm_kernel<AB, B_TRANSPOSED>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = B_TRANSPOSED ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, BK)
                                         : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS, smem_bytes, stream>>>(a_map, b_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class AB, bool B_TRANSPOSED>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_TRANSPOSED>);
  v.tile(BM, BN, BK).shared_memory(STAGES * STAGE_BYTES).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<__nv_bfloat16, false>("one_thread").note("thread 0 starts every copy"),
      variant<__nv_bfloat16, true>("one_thread_tn").note("thread 0 starts every copy"),
  };
}

const Also added(variants);

}  // namespace
