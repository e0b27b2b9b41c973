// Step 13: every half of A stored twice, so that HFMA2 runs in both pipes; two buffers, 16×16
// results per thread.
//
// The idea: HFMA2 runs in two pipes of a scheduler, and each starts one warp-wide instruction per
// two cycles. The form that picks one half of an operand, as step 12 does with a, exists in one of
// them only. With every element of A in both halves of a register nothing has to be picked, and the
// compiler lets the pipes take turns. The wider fragments need a larger thread tile: 16×16.
//
// What changed against step 12: A as half2 in shared memory and in registers, 16×16 results per
// thread; and what steps 09 to 11 brought: a second buffer, B by cp.async, fragments one k ahead,
// the FMAs in a serpentine. Built with ptxas -O1 (steps/meson.build), as step 11.
//
// Source: hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async and its kin (LeetCUDA; also/published.cu)
// for the buffers. The doubled operand is our answer to the pipes; also/picked.cu does without.

#include <cuda_fp16.h>

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

constexpr int TN = 16;                   // columns of C a thread computes: 8 in each half
constexpr int LANES_M = 4, LANES_N = 8;  // threads of a warp
constexpr int THREADS_M = 16, THREADS_N = 16, THREADS = THREADS_M * THREADS_N;  // of a block
constexpr int BN = THREADS_N * TN;  // columns of C a block covers

/// TM: rows of C per thread. BK: depth of a slice of K. BLOCKS: blocks that an SM shall hold.
template <int TM, int BK, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g) {
  constexpr int BM = THREADS_M * TM, WM = LANES_M * TM, WN = LANES_N * TN;  // block and warp tile
  constexpr int A_ROWS = THREADS / (BK / 8), B_ROWS = THREADS / (BN / 8);   // that all copy at once
  constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;             // per thread and slice
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
  // A warp stores TURN rows of A at each of BK / 8 packs of k. All packs would meet in the same
  // banks, since the pitch is a multiple of 32 of them. So rows are turned: from one pack of k to
  // the next, an XOR with TURN moves a row TURN banks on. Loads turn their rows in the same way.
  constexpr int TURN = 32 / (BK / 8);
  const auto turned = [](int row, int k) { return row ^ (k / 8 * TURN); };

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / 8), a_col = tid % (BK / 8) * 8;  // A's tile: BK / 8 threads per row
  const int b_row = tid / (BN / 8), b_col = tid % (BN / 8) * 8;  // B's tile: 32 threads per row
  // Lanes 2i and 2i + 1 share columns, so a load of 16 bytes takes two wavefronts. A thread's rows
  // come in eights, 8 * LANES_M apart, its columns too, 8 * LANES_N apart.
  const int tile_row = warp / (BN / WN) * WM + (lane / 16 * 2 + lane % 2) * 8;
  const int tile_col = warp % (BN / WN) * WN + lane / 2 % 8 * 8;

  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) half2 smem[];
  const auto As = reinterpret_cast<half2(*)[BK][BM]>(smem);   // [buffer][k][row], both halves alike
  const auto Bs = reinterpret_cast<half(*)[BK][BN]>(As + 2);  // [buffer][k][col]

  alignas(16) half a_copy[A_COPIES][8];                // on their way from global to shared memory
  alignas(16) half2 a_frag[2][TM], b_frag[2][TN / 2];  // [k % 2]
  half2 acc[TM][TN / 2] = {};

  const auto fetch = [&](int buffer) {  // start the next slice's copies, those of A to registers
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) uint4_at(a_copy[i]) = uint4_at(a + i * A_ROWS * g.lda);
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i)
      cp_async_16(&Bs[buffer][b_row + i * B_ROWS][b_col], b + i * B_ROWS * g.ldb);
    cp_async_commit();
    a += BK;
    b += BK * g.ldb;
  };
  const auto store_a = [&](int buffer) {  // what the copies brought, every half twice
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
#pragma unroll
      for (int q = 0; q < 8; ++q)
        As[buffer][a_col + q][turned(a_row + i * A_ROWS, a_col)] = __half2half2(a_copy[i][q]);
  };
  const auto load_fragments = [&](int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      uint4_at(&a_frag[k % 2][i]) =
          uint4_at(&As[buffer][k][turned(tile_row, k) + i / 8 * 8 * LANES_M + i % 8]);
#pragma unroll
    for (int j = 0; j < TN; j += 8)
      uint4_at(&b_frag[k % 2][j / 2]) = uint4_at(&Bs[buffer][k][tile_col + j * LANES_N]);
  };

  fetch(0);
  store_a(0);
  cp_async_wait<0>();  // this thread's copies of the first slice have landed
  __syncthreads();     // so have everyone's
  load_fragments(0, 0);

  int read = 0;                                       // buffer; the other one is filled
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == BK - 1) {  // its own fragments are in registers already
        if (left > 0) store_a(read ^ 1);
        cp_async_wait<0>();  // this thread's copies of the next slice have landed
        __syncthreads();     // so have everyone's, and everyone has read the last of this slice
        if (left > 0) read ^= 1;  // else this slice's first fragments once more, unused
      }
      load_fragments(read, (k + 1) % BK);
      if (k == 0 && left > 0) fetch(read ^ 1);
#pragma unroll
      for (int j = 0; j < TN / 2; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i = j % 2 == 0 ? step : TM - 1 - step;  // down one column, up the next
          acc[i][j] = __hfma2(a_frag[k % 2][i], b_frag[k % 2][j], acc[i][j]);
        }
    }
  }

  half* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 8)
      store_scaled(c + (i / 8 * 8 * LANES_M + i % 8) * g.ldc + j * LANES_N, g.alpha,
                   reinterpret_cast<const half*>(acc[i]) + j, g.beta);
}

template <int TM, int BK, int BLOCKS>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int BM = THREADS_M * TM, smem_bytes = 2 * BK * (BM * 4 + BN * 2);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  const auto kernel = gemm_kernel<TM, BK, BLOCKS>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int tm, int bk, auto launcher) {
    return Variant(name, launcher).tile(THREADS_M * tm, BN, bk).aligned_ld(8, 8, 8);
  };
  return {
      add("t16x16_doubled", 16, 16, launch<16, 16, 1>),
      add("t8x16_doubled", 8, 32, launch<8, 32, 2>).note("8×16 per thread, slices of 32"),
  };
}
