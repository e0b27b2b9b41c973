// The published kernel behind step 05, corrected: the next slice is loaded into registers before
// this one is computed.
//
// Against kernel.cu: the loads of the next slice start between the two barriers of this one, the
// lanes are in rows of eight (as in unpaired_lanes.cu), and As has no pad, so that its stores are
// 8-way conflicts.
//
// Source: gemm_32x32_v5 of the V100 SGEMM article (wuk). As published it stores one of every four
// floats of its B tile; here all of them are stored.

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

  __shared__ float As[BK][BM];                // [k][row]
  __shared__ __align__(16) float Bs[BK][BN];  // [k][col]

  float4 a_copy, b_copy;  // the next slice, on its way from global to shared memory
  float acc[TN] = {};

  const auto fetch = [&] {
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
  };
  fetch();

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[copy_col + 0][copy_row] = a_copy.x;
    As[copy_col + 1][copy_row] = a_copy.y;
    As[copy_col + 2][copy_row] = a_copy.z;
    As[copy_col + 3][copy_row] = a_copy.w;
    float4_at(&Bs[copy_row][copy_col]) = b_copy;
    if (k0 + BK < g.k) fetch();
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
  return {Variant("prefetch", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .note("unpaired, unpadded, next slice in registers")
              .covers("wuk gemm_32x32_v5")};
}

const Also added(variants);

}  // namespace
