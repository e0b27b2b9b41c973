// A published kernel with step 04's pad: lanes run down a column of C, and bounds are checked
// inside the loop.
//
// Against kernel.cu: neither tile is transposed, and a thread computes one result. The lanes number
// the rows of As, so that without a pad all 32 would meet in one bank. The pad removes these
// conflicts; the accesses to global memory stay as uncoalesced as in step 01. Any size: a thread
// whose element of a tile lies outside A or B stores a zero in its place.
//
// Source: cuda_kernel_sgemm_2 of the V100 SGEMM article (Alcanderian). Its sisters without a pad
// are in step 03.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
constexpr int PAD = 1;  // floats added to the rows of As and Bs
static_assert(BK == BM && BK == BN, "every thread copies one float of each tile");

__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const int tile_row = threadIdx.x;
  const int tile_col = threadIdx.y;
  const int row = blockIdx.y * BM + tile_row;
  const int col = blockIdx.x * BN + tile_col;

  __shared__ float As[BM][BK + PAD];  // [row][k]
  __shared__ float Bs[BK][BN + PAD];  // [k][col]

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

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("checked_lanes_down", launch)
              .any_size(BM, BN, BK)
              .note("bounds checks inside the loop; any size")
              .covers("Alcanderian 2")};
}

const Also added(variants);

}  // namespace
