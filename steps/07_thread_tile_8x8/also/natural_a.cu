// The published kernel behind step 07: A's tile lies as in global memory, As[row][k], unpadded.
//
// Against kernel.cu: a thread stores its float4 of A in one piece. Its eight rows at one k are not
// neighbours, so they are read one by one in the source; ptxas reads four k of a row at once, which
// makes as many 16-byte loads as in kernel.cu, and holds 32 floats of A in registers where
// kernel.cu holds 8.
//
// Source: sgemm_t_8x8_sliced_k_f32x4 (LeetCUDA).

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int BK = 8;    // depth of a slice of K
constexpr int TM = 8;    // rows of C a thread computes
constexpr int TN = 8;    // columns of C a thread computes
constexpr int THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "a float4 of each tile per thread");

__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: 32 threads per row
  const int tile_row = tid / (BN / TN) * TM;
  const int tile_col = tid % (BN / TN) * TN;

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) float As[BM][BK];  // [row][k]
  __shared__ __align__(16) float Bs[BK][BN];  // [k][col]

  float4 a_copy, b_copy;  // on their way from global to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    float4_at(&As[a_row][a_col]) = a_copy;
    float4_at(&Bs[b_row][b_col]) = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; ++i) a_frag[i] = As[tile_row + i][k];
      float4_at(&b_frag[0]) = float4_at(&Bs[k][tile_col]);
      float4_at(&b_frag[4]) = float4_at(&Bs[k][tile_col + 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    store_scaled(c + i * g.ldc, g.alpha, &acc[i][0], g.beta);
    store_scaled(c + i * g.ldc + 4, g.alpha, &acc[i][4], g.beta);
  }
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("natural_a", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .note("A's tile as it lies")
              .covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4")};
}

const Also added(variants);

}  // namespace
