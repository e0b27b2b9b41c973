// Step 12, also: one thread per element of C, halves one at a time, sums in half; step 02's kernel
// in 16 bits.
//
// Source: hgemm_naive_f16 (LeetCUDA).

#include <cuda_fp16.h>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers, along threadIdx.y
constexpr int BN = 32;  // columns of C a block covers, along threadIdx.x

__global__ void __launch_bounds__(BM* BN) naive_kernel(Gemm<half> g) {
  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;
  if (row >= g.m || col >= g.n) return;

  half acc = 0.0f;

#pragma unroll 8  // 16 loads in flight per thread, to cover the latency of L2
  for (int k = 0; k < g.k; ++k) acc = __hfma(g.a[row * g.lda + k], g.b[k * g.ldb + col], acc);

  half* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  naive_kernel<<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("naive_f16", launch)
              .any_size(BM, BN, 1)
              .note("one element per thread, no tiles")
              .covers("LeetCUDA hgemm_naive_f16")};
}

const Also added(variants);

}  // namespace
