// Step 10: the copies go from global to shared memory without passing through registers.
//
// The idea: cp.async starts a copy and lets the thread go on: no register holds data in flight, and
// those registers now hold a thread tile of 8×16. B's tile goes in 16-byte copies. A's must be
// transposed on its way, so it goes in 4-byte ones: 8 lanes take 8 neighbouring k of a row (one
// sector), and lane (k, row) writes to bank 4k + row: no conflict.
//
// Against step 09: cp.async for load and store, a ring of STAGES buffers, 8×16 a thread, a warp of
// 4×8 threads.
//
// Source: LeetCUDA's sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async, in which only B goes by cp.async,
// and its sisters.

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

constexpr int BK = 16, TM = 8;  // depth of a slice of K; rows of C a thread computes

/// BM×BN: block tile. TM×TN: thread tile. STAGES: slices in shared memory. PAD: floats added to
/// As's rows. A thread may use TM * TN registers for its sums and 64 more; as many blocks as an
/// SM's 65536 are enough for.
template <int BM, int BN, int TN, int STAGES, int PAD, bool A_BY_REGISTERS>
__global__ void __launch_bounds__(BM / TM * (BN / TN),
                                  65536 / (BM * BN + 64 * (BM / TM) * (BN / TN)))
    gemm_kernel(Gemm<float> g) {
  constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
  constexpr int A_FLOATS = A_BY_REGISTERS ? 4 : 1,
                K_LANES = A_BY_REGISTERS ? BK / 4 : 8;  // of a copy; along a row
  constexpr int A_ROWS = THREADS / K_LANES,
                B_ROWS = THREADS / (BN / 4);  // rows of a tile copied at a time
  constexpr int A_COPIES = BM * BK / (THREADS * A_FLOATS),
                COPIES = A_COPIES + BK / B_ROWS;  // of a thread and slice
  static_assert(BK % (K_LANES * A_FLOATS) == 0 && BM % A_ROWS == 0 && BK % B_ROWS == 0,
                "whole copies");
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / K_LANES, a_col = tid % K_LANES * A_FLOATS, b_row = tid / (BN / 4),
            b_col = tid % (BN / 4) * 4;
  // A warp is 4×8 threads, of which lanes 2i and 2i + 1 share a column: a float4 for the warp takes
  // two wavefronts.
  const int tile_row = (warp / (THREADS_N / 8) * 4 + lane / 16 * 2 + lane % 2) *
                       4;  // and every 4 * THREADS_M after it
  const int tile_col =
      (warp % (THREADS_N / 8) * 8 + lane / 2 % 8) * 4;  // and every 4 * THREADS_N after it

  const float* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  extern __shared__ __align__(16) float smem[];
  const auto As = reinterpret_cast<float (*)[BK][BM + PAD]>(smem);  // [stage][k][row]
  const auto Bs =
      reinterpret_cast<float (*)[BK][BN]>(smem + STAGES * BK * (BM + PAD));  // [stage][k][col]

  float4 a_copy[A_COPIES];  // A_BY_REGISTERS: on its way from global to shared memory (STAGES is 2)
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto start = [&](int stage,
                         int copy) {  // a copy of the next slice: first those of A, then those of B
    const int row = copy % (BM / A_ROWS) * A_ROWS, col = copy / (BM / A_ROWS) * K_LANES,
              k = (copy - A_COPIES) * B_ROWS;
    if (copy >= A_COPIES) cp_async_16(&Bs[stage][b_row + k][b_col], b + k * g.ldb);
    if (copy < A_COPIES && A_BY_REGISTERS) a_copy[copy] = float4_at(a + row * g.lda);
    if (copy < A_COPIES && !A_BY_REGISTERS)
      cp_async_4(&As[stage][a_col + col][a_row + row], a + row * g.lda + col);
  };
  const auto finish =
      [&](int stage) {  // what was started; A_BY_REGISTERS: put down what was loaded
        cp_async_commit();
        for (int i = 0; A_BY_REGISTERS && i < A_COPIES * 4; ++i)
          As[stage][a_col + i % 4][a_row + i / 4 * A_ROWS] =
              reinterpret_cast<const float*>(a_copy)[i];
        a += BK;
        b += BK * g.ldb;
      };

  const int slices = g.k / BK;
  for (int stage = 0; stage < STAGES - 1; ++stage) {
#pragma unroll
    for (int copy = 0; copy < COPIES && stage < slices; ++copy) start(stage, copy);
    finish(stage);
  }

  int stage = 0, free_stage = STAGES - 1;
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; i += 4)
        float4_at(&a_frag[i]) = float4_at(&As[stage][k][tile_row + i * THREADS_M]);
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        float4_at(&b_frag[j]) = float4_at(&Bs[stage][k][tile_col + j * THREADS_N]);
#pragma unroll
      for (int copy = 0; copy < COPIES;
           ++copy)  // at once where they have one slice's time, spread where they have two
        if (k == (STAGES == 2 ? 0 : copy * BK / COPIES) && slice + STAGES - 1 < slices)
          start(free_stage, copy);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    finish(free_stage);
    free_stage = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_scaled(c + (i / 4 * 4 * THREADS_M + i % 4) * g.ldc + j * THREADS_N, g.alpha, &acc[i][j],
                   g.beta);
}

template <int BM, int BN, int TN, int STAGES, int PAD = 4, bool A_BY_REGISTERS = false>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * BK * (BM + PAD + BN) * 4;
  const auto kernel = gemm_kernel<BM, BN, TN, STAGES, PAD, A_BY_REGISTERS>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<dim3(ceil_div(g.n, BN), ceil_div(g.m, BM)), BM / TM*(BN / TN), smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bm, int bn, auto launcher) {
    return Variant(name, launcher).tile(bm, bn, BK).aligned_ld(4, 4, 4);
  };
  return {
      add("t8x16", 128, 256, launch<128, 256, 16, 3>)
          .covers("LeetCUDA sgemm_t_8x16_sliced_k16_f32x4_bcf_dbuf_async"),
      add("two_stages", 128, 256, launch<128, 256, 16, 2>).note("one slice on its way, not two"),
      add("t8x8", 64, 256, launch<64, 256, 8, 2>).note("block 64×256"),
      add("t8x8_square", 128, 128, launch<128, 128, 8, 2>)
          .note("block 128×128: more 4-byte copies per FMA"),
      add("a_by_registers", 128, 128, launch<128, 128, 8, 2, 0, true>)
          .covers("LeetCUDA sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async"),
      add("t8x4", 64, 64, launch<64, 64, 4, 2>)
          .covers("LeetCUDA sgemm_t_8x4_sliced_k16_f32x4_bcf_dbuf_async"),
  };
}
