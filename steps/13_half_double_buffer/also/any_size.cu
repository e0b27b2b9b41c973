// Step 13, also: the kernel for every m, n, k >= 1; leading dimensions are multiples of 8.
//
// Rows of A below the last one and columns of B beyond the last 8 are replaced by the last ones:
// what is computed from them is never stored. Only K needs zeros: the last slice is filled up with
// them. A pack of A that crosses the end of K brings what lies behind the row's end in memory, and
// store_a replaces it by zeros.

#include <cuda_fp16.h>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 256, BN = 256, BK = 16;           // block tile
constexpr int TM = 16, TN = 16;                      // thread tile
constexpr int LANES_M = 4, LANES_N = 8;              // threads of a warp
constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // warp tile
constexpr int THREADS = BM / TM * (BN / TN);
constexpr int A_ROWS = THREADS / (BK / 8), B_ROWS = THREADS / (BN / 8);  // that all copy at once
constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;            // per thread and slice
static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
constexpr int TURN = 32 / (BK / 8);  // rows that As is turned by from one 8 of k to the next

__global__ void __launch_bounds__(THREADS, 1) gemm_kernel(Gemm<half> g) {
  const auto turned = [](int row, int k) { return row ^ (k / 8 * TURN); };

  const int block_row = blockIdx.x / ceil_div(g.n, BN) * BM;
  const int block_col = blockIdx.x % ceil_div(g.n, BN) * BN;
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / 8), a_col = tid % (BK / 8) * 8;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 8), b_col = tid % (BN / 8) * 8;  // B's tile: 32 threads per row
  // Lanes 2i and 2i + 1 share columns, so a load of 16 bytes takes two wavefronts. A thread's rows
  // come in eights, 8 * LANES_M apart, its columns too, 8 * LANES_N apart.
  const int tile_row = warp / (BN / WN) * WM + (lane / 16 * 2 + lane % 2) * 8;
  const int tile_col = warp % (BN / WN) * WN + lane / 2 % 8 * 8;

  int a_start[A_COPIES];  // halves before this thread's rows; A's last row for rows below it
#pragma unroll
  for (int i = 0; i < A_COPIES; ++i)
    a_start[i] = min(block_row + a_row + i * A_ROWS, g.m - 1) * g.lda;
  const int b_start = min(block_col + b_col, (g.n - 1) / 8 * 8);  // likewise B's last 8 columns
  const half *a = g.a, *b = g.b;                                  // where the next slice begins

  extern __shared__ __align__(16) half2 smem[];
  const auto As = reinterpret_cast<half2(*)[BK][BM]>(smem);   // [buffer][k][row], both halves alike
  const auto Bs = reinterpret_cast<half(*)[BK][BN]>(As + 2);  // [buffer][k][col]

  alignas(16) half a_copy[A_COPIES][8];                // on their way from global to shared memory
  alignas(16) half2 a_frag[2][TM], b_frag[2][TN / 2];  // [k % 2]
  half2 acc[TM][TN / 2] = {};

  const auto fetch = [&](int buffer, int depth) {  // the next slice, of which `depth` k are inside
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
      uint4_at(a_copy[i]) = {};
      if (a_col < depth) uint4_at(a_copy[i]) = uint4_at(a + a_start[i] + a_col);
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const int k = b_row + i * B_ROWS;
      const bool inside = k < depth;
      cp_async_16(&Bs[buffer][k][b_col], b + (inside ? k : 0) * g.ldb + b_start, inside ? 16 : 0);
    }
    cp_async_commit();
    a += BK;
    b += BK * g.ldb;
  };
  const auto store_a = [&](int buffer, int depth) {  // every half twice, zeros behind the end of K
    if (depth < BK) {
#pragma unroll
      for (int i = 0; i < A_COPIES; ++i)
#pragma unroll
        for (int q = 0; q < 8; ++q)
          if (a_col + q >= depth) a_copy[i][q] = half{};
    }
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

  fetch(0, g.k);
  store_a(0, g.k);
  cp_async_wait<0>();  // this thread's copies of the first slice have landed
  __syncthreads();     // so have everyone's
  load_fragments(0, 0);

  int read = 0;                                        // buffer; the other one is filled
  for (int left = g.k - BK; left > -BK; left -= BK) {  // of K after this slice
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == BK - 1) {  // its own fragments are in registers already
        if (left > 0) store_a(read ^ 1, left);
        cp_async_wait<0>();  // this thread's copies of the next slice have landed
        __syncthreads();     // so have everyone's, and everyone has read the last of this slice
        if (left > 0) read ^= 1;  // else this slice's first fragments once more, unused
      }
      load_fragments(read, (k + 1) % BK);
      if (k == 0 && left > 0) fetch(read ^ 1, left);
#pragma unroll
      for (int j = 0; j < TN / 2; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i = j % 2 == 0 ? step : TM - 1 - step;  // down one column, up the next
          acc[i][j] = __hfma2(a_frag[k % 2][i], b_frag[k % 2][j], acc[i][j]);
        }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 8) {
      const int row = block_row + tile_row + i / 8 * 8 * LANES_M + i % 8;
      const int col = block_col + tile_col + j * LANES_N;
      if (row < g.m && col < g.n)
        store_scaled(g.c + row * g.ldc + col, g.alpha, reinterpret_cast<const half*>(acc[i]) + j,
                     g.beta, g.n - col);
    }
}

void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int smem_bytes = 2 * BK * (BM * 4 + BN * 2);
  const int grid = ceil_div(g.m, BM) * ceil_div(g.n, BN);
  CUDA_CHECK(
      cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  gemm_kernel<<<grid, THREADS, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("any_size", launch)
              .any_size(BM, BN, BK)
              .aligned_ld(8, 8, 8)
              .flat_grid()
              .note("16×16 per thread, edges")};
}

const Also added(variants);

}  // namespace
