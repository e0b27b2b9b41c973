// Step 08: no bank conflict left: a thread's 8×8 tile becomes four 4×4 ones, half a block tile
// apart.
//
// The idea: in step 07 neighbouring lanes read Bs 32 bytes apart, so a quarter-warp's 16-byte loads
// use only every other four banks: twice the passes. Split 4 + 4, neighbouring lanes read
// neighbouring float4 and use all 32 banks. The transposing stores of As have no conflicts already,
// thanks to the pad of 4 (variant no_offset: two-way).
//
// Against step 07: where a thread's second four rows and columns lie.
//
// Source: sgemm_t_8x8_sliced_k_f32x4_bcf, without and with offset (LeetCUDA).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int BK = 8;    // depth of a slice of K
constexpr int TM = 8;    // rows of C a thread computes: 4 in each half of the block tile
constexpr int TN = 8;    // columns of C a thread computes: 4 in each half of the block tile
constexpr int THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "a float4 of each tile per thread");

/// PAD: floats added to As's rows.
template <int PAD>
__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: 32 threads per row
  const int tile_row = tid / (BN / TN) * 4;                      // and tile_row + BM / 2
  const int tile_col = tid % (BN / TN) * 4;                      // and tile_col + BN / 2

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
      float4_at(&a_frag[0]) = float4_at(&As[k][tile_row]);
      float4_at(&a_frag[4]) = float4_at(&As[k][tile_row + BM / 2]);
      float4_at(&b_frag[0]) = float4_at(&Bs[k][tile_col]);
      float4_at(&b_frag[4]) = float4_at(&Bs[k][tile_col + BN / 2]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = i / 4 * (BM / 2) + i % 4;
    store_scaled(c + row * g.ldc, g.alpha, &acc[i][0], g.beta);
    store_scaled(c + row * g.ldc + BN / 2, g.alpha, &acc[i][4], g.beta);
  }
}

template <int PAD>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<PAD><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  std::vector<Variant> table = {
      Variant("bcf", launch<4>).covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf_offset"),
      Variant("no_offset", launch<0>)
          .note("A unpadded")
          .covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf"),
  };
  for (Variant& v : table) v.tile(BM, BN, BK).aligned_ld(4, 4, 4);
  return table;
}
