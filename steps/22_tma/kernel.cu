// Step 22: TMA. A thread asks for a box of A or B; an engine of the multiprocessor copies it, and a
// barrier in shared memory says when all of a slice has landed.
//
// The idea: in step 21 every thread computes addresses for its share of each slice, starts its
// copies and waits for them. Here the matrices are described once, before the launch (a tensor
// map). A box then takes one thread one instruction, whatever its size, and the engine works out
// the addresses. It also swizzles: chunk c of row r goes to chunk c ^ (r % 8) of a row of 128
// bytes, which is step 20's XOR, so the fragments are loaded as before.
//
// The barrier counts bytes. One thread says how many will come; the phase ends when all of them
// have, and everyone waits for the end of the phase. No thread waits for its own copies any more,
// because no thread has any.
//
// A slice has five boxes, and each is started by another warp, behind products that are under way:
// one thread that starts them all holds up its warp, and its warp all others (also/one_thread.cu).
//
// Source: the PTX ISA's chapters on tensor copies and mbarrier; the kernel is step 20's.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/mma.h"
#include "common/device/ptx/tma.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int BM = 128, BN = 256, BK = 64;        // block tile
constexpr int WM = 64, WN = 64;                   // warp tile
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

/// STAGES: slices in shared memory. B as K×N lies in boxes of 64 columns, one row per k;
/// B_TRANSPOSED, as N×K, in one box, one row per column.
template <int STAGES, class AB, bool B_TRANSPOSED>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, Gemm<AB, float, AB> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN, slices = g.k / BK;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int B_BOXES = B_TRANSPOSED ? 1 : BN / ROW;
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

  const auto copy = [&](int slice) {  // by one lane of each warp: it starts at most one box
    const int stage = slice % STAGES, k = slice * BK;
    char* const to = As + stage * STAGE_BYTES;
    if (warp == 0) {
      barrier_arrive_expect(&full[stage], STAGE_BYTES);  // of all boxes, whoever starts them
      tma_load(to, a_map, k, block_row, &full[stage]);
    } else if (warp <= B_BOXES) {
      const int col = (warp - 1) * ROW;
      char* const box = to + A_BYTES + col * ROW_BYTES;
      if (B_TRANSPOSED)
        tma_load(box, b_map, k, block_col, &full[stage]);
      else
        tma_load(box, b_map, block_col + col, k, &full[stage]);
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
  if (lane == 0)
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
        if (lane == 0) copy(next);
      }
    }
  }

  AB* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  store_warp_tile<float>(c, g.ldc, acc, g.alpha, g.beta);
}

template <int STAGES, class AB, bool B_TRANSPOSED>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * STAGE_BYTES;
  const auto kernel = gemm_kernel<STAGES, AB, B_TRANSPOSED>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = B_TRANSPOSED ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, BK)
                                         : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS, smem_bytes, stream>>>(a_map, b_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <int STAGES, class AB, bool B_TRANSPOSED>
Variant variant(const char* name) {
  Variant v(name, launch<STAGES, AB, B_TRANSPOSED>);
  v.tile(BM, BN, BK).shared_memory(STAGES * STAGE_BYTES).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<4, __nv_bfloat16, false>("bf16"),
      variant<4, __nv_bfloat16, true>("bf16_tn"),
      variant<4, half, false>("f16"),
      variant<4, half, true>("f16_tn"),
      variant<2, __nv_bfloat16, false>("bf16_96kb").note("2 stages"),
      variant<2, __nv_bfloat16, true>("bf16_tn_96kb").note("2 stages"),
      variant<2, half, false>("f16_96kb").note("2 stages"),
      variant<2, half, true>("f16_tn_96kb").note("2 stages"),
  };
}
