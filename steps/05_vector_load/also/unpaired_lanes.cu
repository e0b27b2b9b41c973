// Step 05's kernel with a warp's lanes in rows of eight.
//
// Against kernel.cu: lanes 0 to 7 take the eight float4 of a row of Bs, and lanes 8 to 15 the same
// eight for the next row of C. No lane reads what its neighbour reads, so the four quarter-warps of
// a 16-byte load do not merge: each read of Bs takes four passes where the step's own map takes
// two. Neither map has a bank conflict.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
constexpr int TN = 4;   // columns of C a thread computes: one float4
constexpr int PAD = 1;  // floats added to As's rows
constexpr int THREADS = BM * BN / TN;
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "a float4 of each tile per thread");

__global__ void __launch_bounds__(THREADS) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int copy_row = tid / (BK / 4);  // of either tile: 8 threads per row
  const int copy_col = tid % (BK / 4) * 4;
  const int tile_row = tid / (BN / TN);  // 8 threads per row of C
  const int tile_col = tid % (BN / TN) * TN;

  const float* a = g.a + (block_row + copy_row) * g.lda + copy_col;
  const float* b = g.b + copy_row * g.ldb + block_col + copy_col;

  __shared__ float As[BK][BM + PAD];          // [k][row]
  __shared__ __align__(16) float Bs[BK][BN];  // [k][col]

  float4 a_copy, b_copy;  // on their way from global to shared memory
  float acc[TN] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[copy_col + 0][copy_row] = a_copy.x;
    As[copy_col + 1][copy_row] = a_copy.y;
    As[copy_col + 2][copy_row] = a_copy.z;
    As[copy_col + 3][copy_row] = a_copy.w;
    float4_at(&Bs[copy_row][copy_col]) = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float a_frag = As[k][tile_row];
      const float4 b_frag = float4_at(&Bs[k][tile_col]);
      acc[0] += a_frag * b_frag.x;
      acc[1] += a_frag * b_frag.y;
      acc[2] += a_frag * b_frag.z;
      acc[3] += a_frag * b_frag.w;
    }
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
  store_scaled(c, g.alpha, acc, g.beta);
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("unpaired_lanes", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .note("a warp's lanes in rows of eight: twice the passes for Bs")};
}

const Also added(variants);

}  // namespace
