// Step 03: a block copies 32×32 tiles of A and B to shared memory, and its 1024 threads read them
// from there.
//
// The idea: in step 02 every float of A and B is loaded by 32 threads of the block. Now K is cut
// into slices of 32: each thread loads one float of A's tile and one of B's, then takes 32 products
// out of shared memory. Loads from global memory fall to 1/32. Each tile lies as it does in global
// memory, which makes no bank conflict.
//
// Against step 02: slices of K, two tiles, two barriers per slice. M, N and K are multiples of 32;
// also/checked.cu takes any size.
//
// Source: sgemm_sliced_k_f32 (LeetCUDA).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "every thread copies one float of each tile");

__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const int tile_row = threadIdx.y;
  const int tile_col = threadIdx.x;
  const int row = blockIdx.y * BM + tile_row;
  const int col = blockIdx.x * BN + tile_col;

  const float* a = g.a + row * g.lda + tile_col;
  const float* b = g.b + tile_row * g.ldb + col;

  __shared__ float As[BM][BK];  // [row][k]
  __shared__ float Bs[BK][BN];  // [k][col]

  float acc = 0.0f;

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    const float a_copy = *a;
    const float b_copy = *b;
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[tile_row][tile_col] = a_copy;
    Bs[tile_row][tile_col] = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) acc += As[tile_row][k] * Bs[k][tile_col];
  }

  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("tiled", launch).tile(BM, BN, BK).covers("LeetCUDA sgemm_sliced_k_f32")};
}
