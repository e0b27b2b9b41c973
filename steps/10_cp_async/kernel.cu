// Step 10: the copies go from global to shared memory without passing through registers.
//
// The idea: cp.async starts a copy and lets the thread go on. No register holds data in flight, and
// those registers now hold a thread tile of 8×16. A ring of three stages gives the copies of a
// slice the time of two slices, so they need not start together: they are spread over the FMAs.
//
// B's tile goes in copies of 16 bytes. A's tile has to be transposed, which a copy cannot do, so it
// goes in copies of 4 bytes: 8 lanes take 8 neighbouring k of a row (one sector), and lane (k, row)
// writes to bank (4k + row) % 32, so that no two lanes of a warp meet.
//
// What changed against step 09: cp.async for load and store, a ring of STAGES buffers for two, 8×16
// results per thread, warps of 4×8 threads, fragments loaded just before their FMAs.
//
// Source: LeetCUDA's sgemm_t_8x16_sliced_k16_f32x4_bcf_dbuf_async and its sisters, in which only B
// goes by cp.async (also/a_by_registers.cu).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

constexpr int BK = 16, TM = 8;  // depth of a slice of K; rows of C per thread
constexpr int PAD = 4;          // floats added to As's rows
constexpr int K_LANES = 8;      // lanes that copy neighbouring k of one row of A

/// BM×BN: block tile. TN: columns of C per thread. STAGES: slices in shared memory. SPREAD: number
/// of k over which the copies of a slice are spread, BK or 1. BLOCKS: blocks that an SM shall hold.
template <int BM, int BN, int TN, int STAGES, int SPREAD, int BLOCKS>
__global__ void __launch_bounds__(BM / TM * (BN / TN), BLOCKS) gemm_kernel(Gemm<float> g) {
  constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
  constexpr int A_ROWS = THREADS / K_LANES, B_ROWS = THREADS / (BN / 4);  // that all copy at once
  constexpr int A_STEPS = BM / A_ROWS, A_COPIES = A_STEPS * (BK / K_LANES);
  constexpr int B_COPIES = BK / B_ROWS, COPIES = A_COPIES + B_COPIES;  // per thread and slice
  static_assert(A_STEPS * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");

  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int a_row = tid / K_LANES, a_col = tid % K_LANES;        // A's tile: 8 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: BN / 4 threads per row
  // A warp is 4×8 threads, of which lanes 2i and 2i + 1 share a column: a float4 takes two
  // wavefronts. A thread's rows come in fours, 4 * THREADS_M apart, its columns too, 4 * THREADS_N
  // apart.
  const int tile_row = (warp / (THREADS_N / 8) * 4 + lane / 16 * 2 + lane % 2) * 4;
  const int tile_col = (warp % (THREADS_N / 8) * 8 + lane / 2 % 8) * 4;

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) float smem[];
  const auto As = reinterpret_cast<float (*)[BK][BM + PAD]>(smem);   // [stage][k][row]
  const auto Bs = reinterpret_cast<float (*)[BK][BN]>(As + STAGES);  // [stage][k][col]

  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto fetch = [&](int stage, int k) {  // start the next slice's copies that are due at k
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
      const int row = i % A_STEPS * A_ROWS, col = i / A_STEPS * K_LANES;
      if (k == i * SPREAD / COPIES)
        cp_async_4(&As[stage][a_col + col][a_row + row], a + row * g.lda + col);
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i)
      if (k == (A_COPIES + i) * SPREAD / COPIES)
        cp_async_16(&Bs[stage][b_row + i * B_ROWS][b_col], b + i * B_ROWS * g.ldb);
  };
  const auto commit = [&] {  // close the group of this slice's copies and go on to the next slice
    cp_async_commit();
    a += BK;
    b += BK * g.ldb;
  };
  const auto load_fragments = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      float4_at(&a_frag[i]) = float4_at(&As[stage][k][tile_row + i * THREADS_M]);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      float4_at(&b_frag[j]) = float4_at(&Bs[stage][k][tile_col + j * THREADS_N]);
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) {
#pragma unroll
    for (int k = 0; k < BK; ++k)
      if (stage * BK < g.k) fetch(stage, k);
    commit();
  }

  int read = 0, write = STAGES - 1;                   // stages
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      load_fragments(read, k);
      if (left >= (STAGES - 1) * BK) fetch(write, k);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    commit();
    write = read;
    read = read + 1 == STAGES ? 0 : read + 1;
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_scaled(c + (i / 4 * 4 * THREADS_M + i % 4) * g.ldc + j * THREADS_N, g.alpha, &acc[i][j],
                   g.beta);
}

template <int BM, int BN, int TN, int STAGES, int SPREAD, int BLOCKS>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int threads = BM / TM * (BN / TN);
  constexpr int smem_bytes = STAGES * BK * (BM + PAD + BN) * 4;  // more than 48 KiB: dynamic
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  const auto kernel = gemm_kernel<BM, BN, TN, STAGES, SPREAD, BLOCKS>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, threads, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bm, int bn, auto launcher) {
    return Variant(name, launcher).tile(bm, bn, BK).aligned_ld(4, 4, 4);
  };
  return {
      add("t8x16", 128, 256, launch<128, 256, 16, 3, BK, 1>)
          .covers("LeetCUDA sgemm_t_8x16_sliced_k16_f32x4_bcf_dbuf_async"),
      add("at_once", 128, 256, launch<128, 256, 16, 3, 1, 1>).note("copies start together"),
      add("two_stages", 128, 256, launch<128, 256, 16, 2, 1, 1>).note("together, one slice ahead"),
      add("t8x8", 64, 256, launch<64, 256, 8, 2, 1, 2>).note("block 64×256"),
      add("t8x8_square", 128, 128, launch<128, 128, 8, 2, 1, 2>)
          .note("block 128×128: more 4-byte copies per FMA"),
      add("t8x4", 64, 64, launch<64, 64, 4, 2, 1, 5>)
          .covers("LeetCUDA sgemm_t_8x4_sliced_k16_f32x4_bcf_dbuf_async"),
  };
}
