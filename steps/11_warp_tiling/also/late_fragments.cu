// Step 11, also: the large tile with every k's fragments loaded just before its FMAs, as in
// step 10.
//
// One set of fragments instead of two, so 24 registers fewer, and no FMA between a load and its
// first use: a warp waits for shared memory at every k, and only one other warp of its scheduler
// can fill the time. In kernel.cu 128 FMAs lie between them.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

namespace {

constexpr int BK = 16;      // depth of a slice of K
constexpr int PAD = 4;      // floats added to As's rows: stores conflict two ways, not four
constexpr int STAGES = 3;   // slices in shared memory
constexpr int BAND = 1024;  // rows of C that neighbouring blocks stay within, for L2

constexpr int BM = 128, BN = 256;                    // block tile
constexpr int WM = 64, WN = 64;                      // warp tile
constexpr int TM = 16, TN = 8;                       // thread tile
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;  // threads of a warp
constexpr int THREADS = BM / WM * (BN / WN) * 32;
constexpr int A_ROWS = THREADS / (BK / 4);  // rows of A's tile that all copy at once
constexpr int B_ROWS = THREADS / (BN / 4);  // rows of B's tile likewise
constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;  // per thread and slice
static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");

__global__ void __launch_bounds__(THREADS, 1) gemm_kernel(Gemm<float> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int a_row = threadIdx.x / (BK / 4),
            a_col = threadIdx.x % (BK / 4) * 4;  // A's tile: 4 threads per row
  const int b_row = threadIdx.x / (BN / 4),
            b_col = threadIdx.x % (BN / 4) * 4;  // B's tile: BN / 4 threads per row
  // Lanes 2i and 2i + 1 share a column: a float4 takes two wavefronts. A thread's rows come in
  // fours, 4 * LANES_M apart, its columns too, 4 * LANES_N apart.
  const int lane_row = lane / (2 * LANES_N) * 2 + lane % 2, lane_col = lane / 2 % LANES_N;
  const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
  const int tile_col = warp % (BN / WN) * WN + lane_col * 4;

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) float smem[];  // STAGES times As[BK][A_PITCH] and Bs[BK][BN]
  constexpr int A_PITCH = BM + PAD, A_FLOATS = BK * A_PITCH, STAGE = A_FLOATS + BK * BN;
  float* const As_copy = smem + a_col * A_PITCH + a_row;
  float* const Bs_copy = smem + A_FLOATS + b_row * BN + b_col;
  const float* const As_read = smem + tile_row;
  const float* const Bs_read = smem + A_FLOATS + tile_col;

  float acc[TM][TN] = {};
  float a_frag[TM], b_frag[TN];
  float4 a_copy[A_COPIES];  // on their way from global to shared memory

  const auto fetch_a = [&](int i) { a_copy[i] = float4_at(a + i * A_ROWS * g.lda); };
  const auto store_a = [&](int stage, int i) {  // what fetch_a has loaded
    float* const to = As_copy + stage + i * A_ROWS;
    to[0 * A_PITCH] = a_copy[i].x;
    to[1 * A_PITCH] = a_copy[i].y;
    to[2 * A_PITCH] = a_copy[i].z;
    to[3 * A_PITCH] = a_copy[i].w;
  };
  const auto copy_b = [&](int stage, int i, bool inside) {  // zeros after the last slice, unused
    cp_async_16(Bs_copy + stage + i * B_ROWS * BN, b + i * B_ROWS * g.ldb, inside ? 16 : 0);
  };
  const auto load_fragments = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      load_shared_x4(&a_frag[i], As_read + stage + k * A_PITCH + i * LANES_M);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      load_shared_x4(&b_frag[j], Bs_read + stage + k * BN + j * LANES_N);
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    const bool more = stage * BK < g.k;
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
      if (more) fetch_a(i);
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) copy_b(stage * STAGE, i, more);
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) store_a(stage * STAGE, i);
    a += BK;
    b += BK * g.ldb;
  }
  int read = 0, write = (STAGES - 1) * STAGE;  // floats from the first stage
  const int slices = g.k / BK;
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    const bool more = slice + STAGES - 1 < slices;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0) {
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i)
          if (more) fetch_a(i);
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) copy_b(write, i, more);
        cp_async_commit();
        a += BK;
        b += BK * g.ldb;
      }
      constexpr int FIRST_STORE = BK - 1 - A_COPIES;  // late: A's loads have a slice's time
      if (k >= FIRST_STORE && k < BK - 1) store_a(write, k - FIRST_STORE);
      load_fragments(read, k);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 0 ? step : TN - 1 - step;  // along one row, back along the next
          acc[i][j] += a_frag[i] * b_frag[j];
        }
    }
    write = read;
    read = read == (STAGES - 1) * STAGE ? 0 : read + STAGE;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int row = block_row + tile_row + i / 4 * 4 * LANES_M + i % 4;
      const int col = block_col + tile_col + j * LANES_N;
      store_scaled(g.c + row * g.ldc + col, g.alpha, &acc[i][j], g.beta);
    }
}

void launch(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * BK * (BM + PAD + BN) * 4;
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, BAND, BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  gemm_kernel<<<grid, THREADS, smem_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("late_fragments", launch)
              .tile(BM, BN, BK)
              .aligned_ld(4, 4, 4)
              .flat_grid()
              .in_bands()
              .note("128×256; fragments loaded just before their FMAs")};
}

const Also added(variants);

}  // namespace
