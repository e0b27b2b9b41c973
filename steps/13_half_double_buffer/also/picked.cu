// Step 13, also: every half of A once. The product picks a half of a register, or is a float's.
//
// Buffers, turned rows, fragments one k ahead and the serpentine are kernel.cu's. t16x16_picked has
// its tile, too, so the two differ in nothing but A's doubling: one pipe instead of two.
// fp32_accumulate converts both factors to float and adds in float.

#include <cuda_fp16.h>

#include <type_traits>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

namespace {

constexpr int LANES_M = 4, LANES_N = 8;  // threads of a warp

/// a * b + sum: two products of one a (HFMA2 picks its half), or one product in float.
__device__ __forceinline__ half2 multiply_add(half a, half2 b, half2 sum) {
  return __hfma2(__half2half2(a), b, sum);
}
__device__ __forceinline__ float multiply_add(half a, half b, float sum) {
  return fmaf(__half2float(a), __half2float(b), sum);
}

template <int SIDE, int T>
constexpr int THREADS = SIDE / T * (SIDE / T);

/// SIDE: rows and columns of C per block. T: per thread. BK: depth of a slice of K. BLOCKS: that an
/// SM shall hold. Acc: half for sums in pairs, or float.
template <int SIDE, int BK, int T, int BLOCKS, typename Acc>
__global__ void __launch_bounds__(THREADS<SIDE, T>, BLOCKS) gemm_kernel(Gemm<half, Acc, half> g) {
  using Sum = std::conditional_t<std::is_same_v<Acc, half>, half2, float>;
  using Factor = std::conditional_t<std::is_same_v<Acc, half>, half2, half>;
  constexpr int BM = SIDE, BN = SIDE, TM = T, TN = T;
  constexpr int COLS = TN * sizeof(half) / sizeof(Factor);       // sums in a row of the thread tile
  constexpr int WM = LANES_M * TM, WN = LANES_N * TN;            // warp tile
  constexpr int A_ROWS = THREADS<SIDE, T> / (BK / 8);            // rows of A's tile copied at once
  constexpr int B_ROWS = THREADS<SIDE, T> / (BN / 8);            // rows of B's tile likewise
  constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;  // per thread and slice
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
  constexpr int TURN = 32 / (BK / 8);  // rows that As is turned by from one 8 of k to the next
  const auto turned = [](int row, int k) { return row ^ (k / 8 * TURN); };

  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / 8), a_col = tid % (BK / 8) * 8;  // A's tile: BK / 8 threads per row
  const int b_row = tid / (BN / 8), b_col = tid % (BN / 8) * 8;  // B's tile: BN / 8 threads per row
  // Lanes 2i and 2i + 1 share columns, so a load of 16 bytes takes two wavefronts. A thread's rows
  // come in eights, 8 * LANES_M apart, its columns too, 8 * LANES_N apart.
  const int tile_row = warp / (BN / WN) * WM + (lane / 16 * 2 + lane % 2) * 8;
  const int tile_col = warp % (BN / WN) * WN + lane / 2 % 8 * 8;

  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) half smem[];
  const auto As = reinterpret_cast<half(*)[BK][BM]>(smem);    // [buffer][k][row]
  const auto Bs = reinterpret_cast<half(*)[BK][BN]>(As + 2);  // [buffer][k][col]

  alignas(16) half a_copy[A_COPIES][8];  // on their way from global to shared memory
  alignas(16) half a_frag[2][TM];        // [k % 2]
  alignas(16) Factor b_frag[2][COLS];
  Sum acc[TM][COLS] = {};

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
  const auto store_a = [&](int buffer) {  // what the copies brought
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
#pragma unroll
      for (int q = 0; q < 8; ++q)
        As[buffer][a_col + q][turned(a_row + i * A_ROWS, a_col)] = a_copy[i][q];
  };
  const auto load_fragments = [&](int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 8)
      uint4_at(&a_frag[k % 2][i]) = uint4_at(&As[buffer][k][turned(tile_row, k) + i * LANES_M]);
#pragma unroll
    for (int j = 0; j < TN; j += 8)
      uint4_at(&b_frag[k % 2][j * COLS / TN]) = uint4_at(&Bs[buffer][k][tile_col + j * LANES_N]);
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
      for (int j = 0; j < COLS; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i = j % 2 == 0 ? step : TM - 1 - step;  // down one column, up the next
          acc[i][j] = multiply_add(a_frag[k % 2][i], b_frag[k % 2][j], acc[i][j]);
        }
    }
  }

  half* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 8)
      store_scaled(c + (i / 8 * 8 * LANES_M + i % 8) * g.ldc + j * LANES_N, g.alpha,
                   reinterpret_cast<const Acc*>(acc[i]) + j, g.beta);
}

template <int SIDE, int BK, int T, int BLOCKS, typename Acc = half>
void launch(const Gemm<half, Acc, half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int smem_bytes = 2 * BK * (SIDE + SIDE) * 2;
  const dim3 grid(ceil_div(g.n, SIDE), ceil_div(g.m, SIDE));
  const auto kernel = gemm_kernel<SIDE, BK, T, BLOCKS, Acc>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS<SIDE, T>, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int side, int bk, auto launcher) {
    return Variant(name, launcher).tile(side, side, bk).aligned_ld(8, 8, 8);
  };
  return {
      add("t16x16_picked", 256, 16, launch<256, 16, 16, 1>).note("A's halves once: one pipe"),
      add("k32_turned", 128, 32, launch<128, 32, 8, 2>).note("8×8 per thread, A's halves once"),
      add("fp32_accumulate", 128, 32, launch<128, 32, 8, 1, float>)
          .note("8×8 per thread, sums in float"),
  };
}

const Also added(variants);

}  // namespace
