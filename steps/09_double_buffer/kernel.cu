// Step 09: the next slice is on its way while a block computes; two shared buffers, one barrier a
// slice.
//
// The idea: step 08 waits for a slice's loads before it computes. Here the next slice's loads start
// before the computation and land in registers, then in the buffer that nobody reads: one of the
// two barriers goes. Likewise within a slice: the fragments of k + 1 are loaded before the FMAs of
// k, across the barrier, too.
//
// Against step 08: the second buffer, slices of 16, the fetch before the computation, two sets of
// fragments.
//
// Source: sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf (LeetCUDA; it takes the last slice from buffer 1,
// which is right only for an even number of slices), g_fgemm (fynv), gemm_128x128 of the V100 SGEMM
// article (wuk; with one buffer as it ran).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 128, BN = 128;  // rows and columns of C a block covers
constexpr int TM = 8,
              TN = 8;  // rows and columns of C a thread computes: 4 in each half of the block tile
constexpr int THREADS = BM / TM * (BN / TN);

/// BK: depth of a slice of K. PAD: floats added to As's rows. BUFFERS: 2, or 1 with the second
/// barrier. AHEAD: by how many k the fragments are loaded before their FMAs, 0 or 1 (with k
/// unrolled). UNROLL: of k.
template <int BK, int PAD, int BUFFERS, int AHEAD, int UNROLL>
__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  constexpr int COPIES = BM * BK / 4 / THREADS,
                STEP = BK / COPIES;  // float4 of each tile a thread, k between them
  static_assert(BM == BN && COPIES * 4 * THREADS == BM * BK, "whole float4 of each tile a thread");
  const int tid = threadIdx.x;
  const int a_row = tid / (STEP / 4), a_col = tid % (STEP / 4) * 4;  // of A's tile: 2 threads a row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // of B's tile: 32 threads a row
  const int tile_row = tid / (BN / TN) * 4;                      // and tile_row + BM / 2
  const int tile_col = tid % (BN / TN) * 4;                      // and tile_col + BN / 2

  const float* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16) float As[BUFFERS][BK][BM + PAD];  // [buffer][k][row]
  __shared__ __align__(16) float Bs[BUFFERS][BK][BN];        // [buffer][k][col]

  float4 a_copy[COPIES], b_copy[COPIES];  // on their way from global to shared memory
  float a_frag[2][TM], b_frag[2][TN];     // [k % 2]
  float acc[TM][TN] = {};
  int read = 0, write = 0;  // buffers

  const auto fetch = [&] {  // start the next slice's loads
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      a_copy[i] = float4_at(a + i * STEP);
      b_copy[i] = float4_at(b + i * STEP * g.ldb);
    }
    a += BK;
    b += BK * g.ldb;
  };
  const auto turn = [&] {  // put the next slice down and go over to it; after the last one, unread,
                           // the same once more
    if (BUFFERS == 1)
      __syncthreads();  // everyone has read this slice before the next one overwrites it
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      As[write][a_col + i * STEP + 0][a_row] = a_copy[i].x;
      As[write][a_col + i * STEP + 1][a_row] = a_copy[i].y;
      As[write][a_col + i * STEP + 2][a_row] = a_copy[i].z;
      As[write][a_col + i * STEP + 3][a_row] = a_copy[i].w;
      float4_at(&Bs[write][b_row + i * STEP][b_col]) = b_copy[i];
    }
    __syncthreads();  // the slice is complete before anyone reads it, and everyone has read the one
                      // before it
    read = write;
    if (BUFFERS == 2) write ^= 1;
  };
  const auto load_fragments = [&](int k) {
    float4_at(&a_frag[k % 2][0]) = float4_at(&As[read][k][tile_row]);
    float4_at(&a_frag[k % 2][4]) = float4_at(&As[read][k][tile_row + BM / 2]);
    float4_at(&b_frag[k % 2][0]) = float4_at(&Bs[read][k][tile_col]);
    float4_at(&b_frag[k % 2][4]) = float4_at(&Bs[read][k][tile_col + BN / 2]);
  };
  fetch();
  turn();
  if (AHEAD) load_fragments(0);

  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    if (left > 0) fetch();
#pragma unroll UNROLL
    for (int k = 0; k < BK; ++k) {
      if (AHEAD && k == BK - 1) turn();  // its own fragments are in registers already
      load_fragments((k + AHEAD) % BK);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[k % 2][i] * b_frag[k % 2][j];
    }
    if (!AHEAD) turn();
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_scaled(c + (i / 4 * (BM / 2) + i % 4) * g.ldc + j / 4 * (BN / 2), g.alpha, &acc[i][j],
                   g.beta);
}

template <int BK, int PAD, int BUFFERS, int AHEAD, int UNROLL = BK>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<BK, PAD, BUFFERS, AHEAD, UNROLL><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bk, auto launcher) {
    return Variant(name, launcher).tile(BM, BN, bk).aligned_ld(4, 4, 4);
  };
  return {
      add("bk16", 16, launch<16, 4, 2, 1>).covers("LeetCUDA sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf"),
      add("late_fragments", 16, launch<16, 4, 2, 0>).note("k's fragments loaded before k's FMAs"),
      add("dbuf", 8, launch<8, 4, 2, 1>)
          .covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf_offset"),
      add("no_offset", 8, launch<8, 0, 2, 1>)
          .covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf")
          .covers("fynv g_fgemm"),
      add("one_buffer", 8, launch<8, 0, 1, 0, 4>)
          .note("two barriers, k unrolled by 4")
          .covers("wuk gemm_128x128"),
      add("one_buffer_unroll8", 8, launch<8, 0, 1, 0>).note("two barriers, k unrolled by 8"),
  };
}
