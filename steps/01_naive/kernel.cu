// Step 01: one thread computes one element of C, straight from global memory.
//
// The idea: the definition of the product, one dot product per thread. Neighbouring threads of a
// warp take neighbouring *rows* of C, so each of a warp's 32 loads of A falls into another row: 32
// sectors of 32 bytes for 128 useful bytes.
//
// Source: gemm_32x32_v0 of the V100 SGEMM article (wuk).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers, along threadIdx.x
constexpr int BN = 32;  // columns of C a block covers, along threadIdx.y

__global__ void gemm_kernel(Gemm<float> g) {
  const int row = blockIdx.x * BM + threadIdx.x;
  const int col = blockIdx.y * BN + threadIdx.y;
  if (row >= g.m || col >= g.n) return;

  float acc = 0.0f;

  for (int k = 0; k < g.k; ++k) acc += g.a[row * g.lda + k] * g.b[k * g.ldb + col];

  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BM, BN);
  const dim3 grid(ceil_div(g.m, BM), ceil_div(g.n, BN));  // like the block: rows along x
  gemm_kernel<<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("naive", launch).any_size(BM, BN, 1).columns_on_y().covers("wuk gemm_32x32_v0")};
}
