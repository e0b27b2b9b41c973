// Step 03's kernel for any size: bounds are checked inside the loop.
//
// Against kernel.cu: a thread whose element of a tile lies outside A or B stores a zero in its
// place, so that no product changes, and a thread outside C writes nothing. An address is formed
// only after its test.
//
// The variant checked_lanes_down also swaps the two thread indices: a warp's lanes then run down a
// column of C. Its accesses to global memory are as uncoalesced as in step 01, and each lane reads
// its own row of As, so that all 32 lanes meet in one bank.
//
// Source: cuda_kernel_sgemm_1 and 3 of the V100 SGEMM article (Alcanderian), which lay the lanes
// down a column; the two differ by __restrict__ alone.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "every thread copies one float of each tile");

/// LANES_DOWN: a warp's lanes run down a column of C, not along a row.
template <bool LANES_DOWN>
__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const int tile_row = LANES_DOWN ? threadIdx.x : threadIdx.y;
  const int tile_col = LANES_DOWN ? threadIdx.y : threadIdx.x;
  const int row = blockIdx.y * BM + tile_row;
  const int col = blockIdx.x * BN + tile_col;

  __shared__ float As[BM][BK];  // [row][k]
  __shared__ float Bs[BK][BN];  // [k][col]

  float acc = 0.0f;

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    const int a_k = k0 + tile_col;  // of this thread's element of A
    const int b_k = k0 + tile_row;  // of this thread's element of B
    const float a_copy = row < g.m && a_k < g.k ? g.a[row * g.lda + a_k] : 0.0f;
    const float b_copy = b_k < g.k && col < g.n ? g.b[b_k * g.ldb + col] : 0.0f;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[tile_row][tile_col] = a_copy;
    Bs[tile_row][tile_col] = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) acc += As[tile_row][k] * Bs[k][tile_col];
  }

  if (row >= g.m || col >= g.n) return;
  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

template <bool LANES_DOWN>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<LANES_DOWN><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("checked", launch<false>)
          .any_size(BM, BN, BK)
          .note("bounds checks inside the loop; any size"),
      Variant("checked_lanes_down", launch<true>)
          .any_size(BM, BN, BK)
          .note("and lanes down a column of C: uncoalesced, 32-way conflicts")
          .covers("Alcanderian 1")
          .covers("Alcanderian 3"),
  };
}

const Also added(variants);

}  // namespace
