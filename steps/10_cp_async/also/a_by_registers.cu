// Step 10, also: only B goes by cp.async; A goes through registers, as in step 09.
//
// A thread loads a float4 of A before the FMAs of a slice and stores its four floats transposed
// after them, in the published way: without a pad, so that the stores conflict four ways. Against
// kernel.cu's t8x8_square, which has the same tiles and stages, it shows what asynchronous copies
// of A gain and cost.
//
// Source: sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async (LeetCUDA).

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128, BN = 128, BK = 16;  // block tile
constexpr int TM = 8, TN = 8;               // thread tile: groups of 4 from all over the block tile
constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
constexpr int A_ROWS = THREADS / (BK / 4), A_COPIES = BM / A_ROWS;
constexpr int B_ROWS = THREADS / (BN / 4), B_COPIES = BK / B_ROWS;
static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");

__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // of A's tile: 4 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // of B's tile: 32 threads per row
  const int tile_row = (warp / (THREADS_N / 8) * 4 + lane / 16 * 2 + lane % 2) * 4;
  const int tile_col = (warp % (THREADS_N / 8) * 8 + lane / 2 % 8) * 4;

  const float* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16) float As[2][BK][BM];  // [stage][k][row]
  __shared__ __align__(16) float Bs[2][BK][BN];  // [stage][k][col]

  float4 a_copy[A_COPIES];  // on their way from global to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto fetch = [&](int stage) {  // start the next slice's copies
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) a_copy[i] = float4_at(a + i * A_ROWS * g.lda);
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i)
      cp_async_16(&Bs[stage][b_row + i * B_ROWS][b_col], b + i * B_ROWS * g.ldb);
  };
  const auto finish = [&](int stage) {  // close B's group, store A's floats, on to the next slice
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
      As[stage][a_col + 0][a_row + i * A_ROWS] = a_copy[i].x;
      As[stage][a_col + 1][a_row + i * A_ROWS] = a_copy[i].y;
      As[stage][a_col + 2][a_row + i * A_ROWS] = a_copy[i].z;
      As[stage][a_col + 3][a_row + i * A_ROWS] = a_copy[i].w;
    }
    a += BK;
    b += BK * g.ldb;
  };

  fetch(0);
  finish(0);

  int read = 0;                                       // the other stage is written
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's, and everyone has read the stage that is filled next
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; i += 4)
        float4_at(&a_frag[i]) = float4_at(&As[read][k][tile_row + i * THREADS_M]);
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        float4_at(&b_frag[j]) = float4_at(&Bs[read][k][tile_col + j * THREADS_N]);
      if (k == 0 && left > 0) fetch(read ^ 1);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    finish(read ^ 1);  // after the last slice the same floats once more, unused
    read ^= 1;
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_scaled(c + (i / 4 * 4 * THREADS_M + i % 4) * g.ldc + j * THREADS_N, g.alpha, &acc[i][j],
                   g.beta);
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("a_by_registers", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .note("block 128×128, 8×8 per thread; only B by cp.async")
              .covers("LeetCUDA sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async")};
}

const Also added(variants);

}  // namespace
