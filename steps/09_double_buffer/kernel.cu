// Step 09: the next slice is on its way while a block computes; two shared buffers, one barrier a slice.
//
// The idea: step 08 waits for a slice's loads before it computes. Here the next slice's loads start before the
// computation and land in registers, then in the other buffer. With two buffers nobody overwrites what others still
// read, and one of the two barriers goes: whoever is past the barrier of slice s + 1 knows all are done with slice s.
//
// Against step 08: the second buffer, the fetch moved before the computation, one barrier less.
//
// Source: sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf (LeetCUDA; it takes the last slice from buffer 1, which is right only for
// an even number of slices), g_fgemm (fynv), gemm_128x128 of the V100 SGEMM article (wuk; with one buffer as it ran).

#include "common/check.h"
#include "common/epilogue.h"
#include "common/gemm.h"
#include "common/math.h"

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int TM = 8;    // rows of C a thread computes: 4 in each half of the block tile
constexpr int TN = 8;    // columns of C a thread computes: 4 in each half of the block tile
constexpr int THREADS = BM / TM * (BN / TN);

/// BK: depth of a slice of K. PAD: floats added to As's rows. BUFFERS: 2, or 1 with the second barrier. UNROLL: of k.
template <int BK, int PAD, int BUFFERS, int UNROLL>
__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  constexpr int COPIES = BM * BK / 4 / THREADS;  // float4 of each tile that a thread copies
  static_assert(BM == BN && COPIES * 4 * THREADS == BM * BK, "whole float4 of each tile a thread");
  constexpr int A_STEP = BK / COPIES;  // columns of A's tile between a thread's copies
  constexpr int B_STEP = BK / COPIES;  // rows of B's tile between a thread's copies
  const int tid = threadIdx.x;
  const int a_row = tid / (A_STEP / 4), a_col = tid % (A_STEP / 4) * 4;  // of A's tile: 2 threads a row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;          // of B's tile: 32 threads a row
  const int tile_row = tid / (BN / TN) * 4;                              // and tile_row + BM / 2
  const int tile_col = tid % (BN / TN) * 4;                              // and tile_col + BN / 2

  const float* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16) float As[BUFFERS][BK][BM + PAD];  // [buffer][k][row]
  __shared__ __align__(16) float Bs[BUFFERS][BK][BN];        // [buffer][k][col]

  float4 a_copy[COPIES], b_copy[COPIES];  // on their way from global to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto fetch = [&] {
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      a_copy[i] = float4_at(a + i * A_STEP);
      b_copy[i] = float4_at(b + i * B_STEP * g.ldb);
    }
    a += BK;
    b += BK * g.ldb;
  };
  fetch();

  int buffer = 0;
  for (int k0 = 0; k0 < g.k; k0 += BK) {
    if (BUFFERS == 1) __syncthreads();  // everyone has read the previous slice before this one overwrites it
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      As[buffer][a_col + i * A_STEP + 0][a_row] = a_copy[i].x;
      As[buffer][a_col + i * A_STEP + 1][a_row] = a_copy[i].y;
      As[buffer][a_col + i * A_STEP + 2][a_row] = a_copy[i].z;
      As[buffer][a_col + i * A_STEP + 3][a_row] = a_copy[i].w;
      float4_at(&Bs[buffer][b_row + i * B_STEP][b_col]) = b_copy[i];
    }
    if (k0 + BK < g.k) fetch();  // before the barrier: behind it, the compiler would sink the loads to where they land
    __syncthreads();  // the slice is complete before anyone reads it, and everyone has read the one before it

#pragma unroll UNROLL
    for (int k = 0; k < BK; ++k) {
      float4_at(&a_frag[0]) = float4_at(&As[buffer][k][tile_row]);
      float4_at(&a_frag[4]) = float4_at(&As[buffer][k][tile_row + BM / 2]);
      float4_at(&b_frag[0]) = float4_at(&Bs[buffer][k][tile_col]);
      float4_at(&b_frag[4]) = float4_at(&Bs[buffer][k][tile_col + BN / 2]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    if (BUFFERS == 2) buffer ^= 1;
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = i / 4 * (BM / 2) + i % 4;
    store_scaled(c + row * g.ldc, g.alpha, &acc[i][0], g.beta);
    store_scaled(c + row * g.ldc + BN / 2, g.alpha, &acc[i][4], g.beta);
  }
}

template <int BK, int PAD, int BUFFERS, int UNROLL>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<BK, PAD, BUFFERS, UNROLL><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <int BK, int PAD, int BUFFERS, int UNROLL>
Variant variant(const char* name) {
  return Variant(name, launch<BK, PAD, BUFFERS, UNROLL>).tile(BM, BN, BK).aligned_ld(4, 4, 4);
}

std::vector<Variant> variants() {
  return {
      variant<8, 4, 2, 8>("dbuf").covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf_offset"),
      variant<8, 0, 2, 8>("no_offset").covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf").covers("fynv g_fgemm"),
      variant<16, 4, 2, 16>("bk16").covers("LeetCUDA sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf"),
      variant<8, 0, 1, 4>("one_buffer").note("two barriers, k unrolled by 4").covers("wuk gemm_128x128"),
      variant<8, 0, 1, 8>("one_buffer_unroll8").note("two barriers, k unrolled by 8"),
  };
}
