// Step 02: neighbouring threads take neighbouring columns of C, so that a warp's accesses fall side
// by side.
//
// The idea: the same dot product per thread, on a turned thread map. A warp's 32 loads of B are 32
// neighbouring floats (4 sectors of 32 bytes, every byte used), its 32 loads of A are one float (1
// sector), its stores of C one row.
//
// Against step 01: threadIdx.x runs along columns, and k is unrolled by 8. The type of the indices
// is a parameter: overflow of a signed index is undefined, so the compiler may step a pointer
// through B; an unsigned index may wrap, so it computes every address anew.
//
// Source: gemm_32x32_v1 and v2 of the V100 SGEMM article (wuk), sgemm_naive_f32 (LeetCUDA).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers, along threadIdx.y
constexpr int BN = 32;  // columns of C a block covers, along threadIdx.x

template <typename Index>
__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const Index row = blockIdx.y * BM + threadIdx.y;
  const Index col = blockIdx.x * BN + threadIdx.x;
  if (row >= static_cast<Index>(g.m) || col >= static_cast<Index>(g.n)) return;

  float acc = 0.0f;

#pragma unroll 8  // most of its 16 loads are issued before the first FMA waits for one
  for (int k = 0; k < g.k; ++k) acc += g.a[row * g.lda + k] * g.b[k * g.ldb + col];

  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

template <typename Index>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<Index><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("coalesced", launch<int>)
          .any_size(BM, BN, 1)
          .covers("wuk gemm_32x32_v2")
          .covers("LeetCUDA sgemm_naive_f32"),
      Variant("unsigned_index", launch<unsigned>)
          .any_size(BM, BN, 1)
          .note("indices are unsigned")
          .covers("wuk gemm_32x32_v1"),
  };
}
