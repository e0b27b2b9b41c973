// Step 10: the copies go from global to shared memory without passing through registers.
//
// The idea: cp.async starts a copy and lets the thread go on: no register holds data in flight, no store puts it down.
// B's tile goes in 16-byte copies. A's must be transposed on its way, so it goes in 4-byte ones: 8 lanes take 8
// neighbouring k of a row (one 32-byte sector), and lane (k, row) writes to bank 4k + row: no conflict.
//
// Against step 09: cp.async for load and store, and a ring of STAGES buffers.
//
// Source: sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async and its 8×4 and 8×16 sisters (LeetCUDA), in which only B goes by
// cp.async (variant a_by_registers).

#include "common/check.h"
#include "common/epilogue.h"
#include "common/gemm.h"
#include "common/math.h"
#include "common/ptx/cp_async.h"

/// BM×BN: block tile. BK: depth of a slice of K. TM×TN: thread tile, in pieces of 4×4. STAGES: slices in shared memory.
template <int BM, int BN, int BK, int TM, int TN, int STAGES, int PAD, bool A_BY_REGISTERS>
__global__ void __launch_bounds__(BM / TM * (BN / TN), 128 * 256 / (BM * BN)) gemm_kernel(Gemm<float> g) {
  constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
  constexpr int K_LANES = A_BY_REGISTERS ? BK / 4 : 8;  // neighbouring threads along a row of A's tile
  constexpr int A_FLOATS = A_BY_REGISTERS ? 4 : 1;      // that a thread takes at a time
  constexpr int A_ROWS = THREADS / K_LANES;             // rows of A's tile copied at a time
  constexpr int B_ROWS = THREADS / (BN / 4);            // rows of B's tile copied at a time
  static_assert(BK % (K_LANES * A_FLOATS) == 0 && BM % A_ROWS == 0 && BK % B_ROWS == 0, "whole copies");
  static_assert(!A_BY_REGISTERS || STAGES == 2, "registers hold one slice");
  const int tid = threadIdx.x;
  const int a_row = tid / K_LANES, a_col = tid % K_LANES * A_FLOATS;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const int tile_row = tid / THREADS_N * 4;  // and every 4 * THREADS_M after it
  const int tile_col = tid % THREADS_N * 4;  // and every 4 * THREADS_N after it

  const float* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16) float As[STAGES][BK][BM + PAD];  // [stage][k][row]
  __shared__ __align__(16) float Bs[STAGES][BK][BN];        // [stage][k][col]

  float4 a_copy[BM / A_ROWS];  // A_BY_REGISTERS: on its way from global to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  // Start the copies of the next slice.
  const auto fetch = [&](int stage) {
#pragma unroll
    for (int i = 0; i < BM; i += A_ROWS)
#pragma unroll
      for (int k = 0; k < BK; k += K_LANES * A_FLOATS)
        if constexpr (A_BY_REGISTERS)
          a_copy[i / A_ROWS] = float4_at(a + i * g.lda);
        else
          cp_async_4(&As[stage][a_col + k][a_row + i], a + i * g.lda + k);
#pragma unroll
    for (int k = 0; k < BK; k += B_ROWS) cp_async_16(&Bs[stage][b_row + k][b_col], b + k * g.ldb);
    a += BK;
    b += BK * g.ldb;
  };
  // A_BY_REGISTERS: put down what the latest fetch loaded.
  const auto store_a = [&](int stage) {
#pragma unroll
    for (int i = 0; i < BM; i += A_ROWS) {
      const float4 copy = a_copy[i / A_ROWS];
      As[stage][a_col + 0][a_row + i] = copy.x;
      As[stage][a_col + 1][a_row + i] = copy.y;
      As[stage][a_col + 2][a_row + i] = copy.z;
      As[stage][a_col + 3][a_row + i] = copy.w;
    }
  };

  const int slices = g.k / BK;
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage < slices) fetch(stage);
    cp_async_commit();
  }
  if (A_BY_REGISTERS) store_a(0);

  int stage = 0, free_stage = STAGES - 1;
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();              // so have everyone's, and everyone has read the stage that is filled next
    const bool more = slice + STAGES - 1 < slices;
    if (more) fetch(free_stage);
    cp_async_commit();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; i += 4) float4_at(&a_frag[i]) = float4_at(&As[stage][k][tile_row + i * THREADS_M]);
#pragma unroll
      for (int j = 0; j < TN; j += 4) float4_at(&b_frag[j]) = float4_at(&Bs[stage][k][tile_col + j * THREADS_N]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    if (A_BY_REGISTERS && more) store_a(free_stage);
    free_stage = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_scaled(c + (i / 4 * 4 * THREADS_M + i % 4) * g.ldc + j * THREADS_N, g.alpha, &acc[i][j], g.beta);
}

template <int BM, int BN, int BK, int TM, int TN, int STAGES, int PAD, bool A_BY_REGISTERS>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<BM, BN, BK, TM, TN, STAGES, PAD, A_BY_REGISTERS><<<grid, BM / TM*(BN / TN), 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <int BM, int BN, int BK, int TM, int TN, int STAGES, int PAD = 4, bool A_BY_REGISTERS = false>
Variant variant(const char* name) {
  return Variant(name, launch<BM, BN, BK, TM, TN, STAGES, PAD, A_BY_REGISTERS>).tile(BM, BN, BK).aligned_ld(4, 4, 4);
}

std::vector<Variant> variants() {
  return {
      variant<128, 128, 16, 8, 8, 2>("t8x8"),
      variant<128, 128, 8, 8, 8, 3>("three_stages"),
      variant<128, 128, 16, 8, 8, 2, 0, true>("a_by_registers")
          .covers("LeetCUDA sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async"),
      variant<64, 64, 16, 8, 4, 2>("t8x4").covers("LeetCUDA sgemm_t_8x4_sliced_k16_f32x4_bcf_dbuf_async"),
      variant<128, 256, 8, 8, 16, 2>("t8x16").covers("LeetCUDA sgemm_t_8x16_sliced_k16_f32x4_bcf_dbuf_async"),
  };
}
