// Step 06: a thread computes a 4×4 tile of C, the outer product of two float4 fragments.
//
// The idea: four floats of A and four of B make sixteen products: 2 loads for 16 FMAs, where step
// 05 has 2 for 4. The block's tile grows to 64×64 with the same 256 threads.
//
// Against step 05: the tile sizes, fragments in registers, and As padded by 4 instead of 1, so that
// four rows of A at one k are an aligned float4.
//
// Source: gemm_64x64 of the V100 SGEMM article (wuk), whose kernel is in also/prefetch.cu.

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 64;  // rows of C a block covers
constexpr int BN = 64;  // columns of C a block covers
constexpr int BK = 16;  // depth of a slice of K
constexpr int TM = 4;   // rows of C a thread computes
constexpr int TN = 4;   // columns of C a thread computes
constexpr int PAD = 4;  // floats added to As's rows
constexpr int THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "a float4 of each tile per thread");

__global__ void __launch_bounds__(THREADS, 4) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // A's tile: 4 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: 16 threads per row
  const int tile_row = tid / (BN / TN) * TM;
  const int tile_col = tid % (BN / TN) * TN;

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) float As[BK][BM + PAD];  // [k][row]
  __shared__ __align__(16) float Bs[BK][BN];        // [k][col]

  float4 a_copy, b_copy;  // on their way from global to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[a_col + 0][a_row] = a_copy.x;
    As[a_col + 1][a_row] = a_copy.y;
    As[a_col + 2][a_row] = a_copy.z;
    As[a_col + 3][a_row] = a_copy.w;
    float4_at(&Bs[b_row][b_col]) = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float4_at(a_frag) = float4_at(&As[k][tile_row]);
      float4_at(b_frag) = float4_at(&Bs[k][tile_col]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) store_scaled(c + i * g.ldc, g.alpha, acc[i], g.beta);
}

void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("t4x4", launch).tile(BM, BN, BK).aligned_ld(4, 4, 4)};
}
