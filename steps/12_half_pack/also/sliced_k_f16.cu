// Step 12, also: 32×32 tiles in shared memory, one element of C per thread, halves one at a time;
// step 03's kernel in 16 bits.
//
// Source: hgemm_sliced_k_f16 (LeetCUDA).

#include <cuda_fp16.h>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "every thread copies one half of each tile");

__global__ void __launch_bounds__(BM* BN) sliced_kernel(Gemm<half> g) {
  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;

  const half* a = g.a + row * g.lda + threadIdx.x;
  const half* b = g.b + threadIdx.y * g.ldb + col;

  __shared__ half As[BM][BK];  // [row][k]
  __shared__ half Bs[BK][BN];  // [k][col]

  half acc = 0.0f;

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    const half a_copy = *a, b_copy = *b;
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[threadIdx.y][threadIdx.x] = a_copy;
    Bs[threadIdx.y][threadIdx.x] = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) acc = __hfma(As[threadIdx.y][k], Bs[k][threadIdx.x], acc);
  }

  half* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  sliced_kernel<<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("sliced_k_f16", launch)
              .tile(BM, BN, BK)
              .note("one element per thread, tiles in shared memory")
              .covers("LeetCUDA hgemm_sliced_k_f16")};
}

const Also added(variants);

}  // namespace
