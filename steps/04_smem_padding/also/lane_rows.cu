// The published kernels behind step 04: the lane numbers the rows of both tiles in shared memory.
//
// Against kernel.cu: B's tile is stored transposed as well, Bs[col][k], and a thread computes one
// result. A warp therefore stores down a column of As and of Bs, and reads down a column of Bs,
// once per k. Without a pad (lane_rows) each of these accesses is a 32-way conflict; with it
// (lane_rows_padded) none is. In step 03, where both tiles lie as in global memory, there is no
// conflict to begin with.
//
// Source: gemm_32x32_v3 and v4 of the V100 SGEMM article (wuk).

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "one thread map serves both tiles");

/// PAD: floats added to the rows of As and Bs.
template <int PAD>
__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const int tile_row = threadIdx.y;
  const int tile_col = threadIdx.x;
  const int row = blockIdx.y * BM + tile_row;
  const int col = blockIdx.x * BN + tile_col;

  const float* a = g.a + row * g.lda + tile_col;
  const float* b = g.b + tile_row * g.ldb + col;

  __shared__ float As[BK][BM + PAD];  // [k][row]
  __shared__ float Bs[BN][BK + PAD];  // [col][k]

  float acc = 0.0f;

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    const float a_copy = *a;
    const float b_copy = *b;
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[tile_col][tile_row] = a_copy;
    Bs[tile_col][tile_row] = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) acc += As[k][tile_row] * Bs[tile_col][k];
  }

  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

template <int PAD>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<PAD><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("lane_rows", launch<0>)
          .tile(BM, BN, BK)
          .note("rows of both tiles numbered by the lane: 32-way conflicts")
          .covers("wuk gemm_32x32_v3"),
      Variant("lane_rows_padded", launch<1>)
          .tile(BM, BN, BK)
          .note("the same, padded")
          .covers("wuk gemm_32x32_v4"),
  };
}

const Also added(variants);

}  // namespace
