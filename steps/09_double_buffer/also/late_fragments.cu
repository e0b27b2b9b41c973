// Step 09's kernel without the second half of its idea: the fragments of k are loaded right before
// the FMAs of k.
//
// Against kernel.cu: one set of fragments instead of two. A warp stores the next slice, and passes
// the barrier, after the last FMA of a slice instead of before its last k, so the first fragments
// of a slice are loaded with no FMA left to hide them. The slices are prefetched as in kernel.cu.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int BK = 16;   // depth of a slice of K
constexpr int TM = 8;    // rows of C a thread computes: 4 in each half of the block tile
constexpr int TN = 8;    // columns of C a thread computes: 4 in each half of the block tile
constexpr int PAD = 4;   // floats added to As's rows
constexpr int THREADS = BM / TM * (BN / TN);
constexpr int COPIES = BM * BK / 4 / THREADS;  // float4 of each tile per thread
constexpr int STEP = BK / COPIES;              // of k between them
static_assert(BM == BN && COPIES * 4 * THREADS == BM * BK, "whole float4 per thread");

__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (STEP / 4), a_col = tid % (STEP / 4) * 4;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;      // B's tile: 32 threads per row
  const int tile_row = tid / (BN / TN) * 4;                          // and tile_row + BM / 2
  const int tile_col = tid % (BN / TN) * 4;                          // and tile_col + BN / 2

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) float As[2][BK][BM + PAD];  // [buffer][k][row]
  __shared__ __align__(16) float Bs[2][BK][BN];        // [buffer][k][col]

  float4 a_copy[COPIES], b_copy[COPIES];  // the next slice, on its way to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto fetch = [&] {  // start the loads of a slice
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      a_copy[i] = float4_at(a + i * STEP);
      b_copy[i] = float4_at(b + i * STEP * g.ldb);
    }
    a += BK;
    b += BK * g.ldb;
  };
  const auto store_slice = [&](int buffer) {  // what fetch has loaded
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      As[buffer][a_col + i * STEP + 0][a_row] = a_copy[i].x;
      As[buffer][a_col + i * STEP + 1][a_row] = a_copy[i].y;
      As[buffer][a_col + i * STEP + 2][a_row] = a_copy[i].z;
      As[buffer][a_col + i * STEP + 3][a_row] = a_copy[i].w;
      float4_at(&Bs[buffer][b_row + i * STEP][b_col]) = b_copy[i];
    }
  };

  fetch();
  store_slice(0);
  __syncthreads();  // the first slice is complete before anyone reads it

  int read = 0, write = 1;                            // buffers
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    if (left > 0) fetch();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float4_at(&a_frag[0]) = float4_at(&As[read][k][tile_row]);
      float4_at(&a_frag[4]) = float4_at(&As[read][k][tile_row + BM / 2]);
      float4_at(&b_frag[0]) = float4_at(&Bs[read][k][tile_col]);
      float4_at(&b_frag[4]) = float4_at(&Bs[read][k][tile_col + BN / 2]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    store_slice(write);  // after the last slice once more, unused: saves a branch
    __syncthreads();     // the next slice is complete, and everyone has read this one
    read = write;
    write ^= 1;
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = i / 4 * (BM / 2) + i % 4;
    store_scaled(c + row * g.ldc, g.alpha, &acc[i][0], g.beta);
    store_scaled(c + row * g.ldc + BN / 2, g.alpha, &acc[i][4], g.beta);
  }
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("late_fragments", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .note("k's fragments loaded before k's FMAs")};
}

const Also added(variants);

}  // namespace
