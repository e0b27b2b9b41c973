// Step 20, also: B's fragments transposed between registers, by movmatrix, instead of on their way
// from shared memory.
//
// Against kernel.cu's variant `k07`, which has the same tiles and types: ldmatrix without .trans,
// then four movmatrix per load. `no_movmatrix` leaves them out, to show what they cost.
//
// Source: the A100 mixed-precision notes' k07_mma_permute.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/ptx/movmatrix.h"
#include "common/device/tiles.h"

namespace {

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8;                          // elements in 16 bytes: what a copy moves
constexpr int BM = 128, BN = 128, BK = 64;        // block tile
constexpr int WM = 64, WN = 64;                   // warp tile
constexpr int STAGES = 2, BLOCKS = 2;             // BLOCKS: that a multiprocessor shall hold
constexpr int DEFAULT_BAND = 1024;                // rows of C in a band
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;            // instructions of a warp
constexpr int A_CHUNKS = BK / CHUNK, A_STEP = THREADS / A_CHUNKS;  // per row; rows at a time
constexpr int B_CHUNKS = BN / CHUNK, B_STEP = THREADS / B_CHUNKS;
constexpr int UNITS = BK / MMA_K;      // a unit: 16 of k of the warp tile
constexpr int COPY_PARTS = UNITS / 2;  // a slice's copies are spread over every second unit
static_assert(BM % A_STEP == 0 && BK % B_STEP == 0, "every thread copies as much");
static_assert(A_STEP % 8 == 0 && B_STEP % 8 == 0, "a thread's rows all have the same swizzle");

struct Stage {
  alignas(128) half As[BM][BK];  // [row][k], the chunks of a row permuted
  alignas(128) half Bs[BK][BN];  // [k][col]
};
constexpr int SMEM_BYTES = STAGES * sizeof(Stage);

/// Where in its row a chunk lies, in elements.
__device__ __forceinline__ int place(int row, int chunk) { return (chunk ^ (row % 8)) * CHUNK; }

template <bool MOVMATRIX>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    permuted_kernel(Gemm<half, float> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int a_row = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;
  const int b_row = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;
  const half* a = g.a + (block_row + a_row) * g.lda + a_chunk * CHUNK;
  const half* b = g.b + b_row * g.ldb + block_col + b_chunk * CHUNK;

  extern __shared__ __align__(128) Stage stages[];  // STAGES of them

  uint32_t a_frag[2][MMAS_M][4], b_frag[2][MMAS_N / 2][4];  // of this unit and the next
  MmaAccumulators<float> acc[MMAS_M][MMAS_N] = {};

  int k_left = g.k;                             // not on its way yet
  const auto copy = [&](int stage, int part) {  // of the next slice
    if (k_left > 0) {
#pragma unroll
      for (int row = part * BM / COPY_PARTS; row < (part + 1) * BM / COPY_PARTS; row += A_STEP)
        cp_async_16(&stages[stage].As[a_row + row][place(a_row, a_chunk)], a + row * g.lda);
#pragma unroll
      for (int row = part * BK / COPY_PARTS; row < (part + 1) * BK / COPY_PARTS; row += B_STEP)
        cp_async_16(&stages[stage].Bs[b_row + row][place(b_row, b_chunk)], b + row * g.ldb);
    }
    if (part < COPY_PARTS - 1) return;
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
    a += BK;
    b += BK * g.ldb;
    k_left -= BK;
  };
  const auto load_frags = [&](int unit, int stage) {
    const Stage& slice = stages[stage];
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i) {
      const int row = warp_row + i * MMA_M + lane % 16, chunk = unit * MMA_K / CHUNK + lane / 16;
      ldmatrix_x4(a_frag[unit % 2][i], shared_address(&slice.As[row][place(row, chunk)]));
    }
#pragma unroll
    for (int j = 0; j < MMAS_N / 2; ++j) {
      const int k = unit * MMA_K + lane % 16, chunk = warp_col / CHUNK + j * 2 + lane / 16;
      uint32_t (&frag)[4] = b_frag[unit % 2][j];
      ldmatrix_x4(frag, shared_address(&slice.Bs[k][place(k, chunk)]));
      if constexpr (MOVMATRIX)
#pragma unroll
        for (int r = 0; r < 4; ++r) frag[r] = movmatrix_trans(frag[r]);
    }
  };
  const auto multiply = [&](int unit) {
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < MMAS_N; ++turn) {
        const int j = i % 2 == 0 ? turn : MMAS_N - 1 - turn;  // neighbours share a fragment
        mma_m16n8k16(acc[i][j], a_frag[unit % 2][i], b_frag[unit % 2][j / 2] + j % 2 * 2);
      }
  };

  for (int stage = 0; stage < STAGES - 1; ++stage)
    for (int part = 0; part < COPY_PARTS; ++part) copy(stage, part);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0, write = STAGES - 1;
  for (int slices = g.k / BK; slices > 0; --slices) {
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) {
      if (unit == UNITS - 1) {
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();  // so have everyone's, and everyone has read the last of this slice
        write = read;
        read = read == STAGES - 1 ? 0 : read + 1;
      }
      if (unit < UNITS - 1 || slices > 1) load_frags((unit + 1) % UNITS, read);
      if (unit % 2 == 0) copy(write, unit / 2);
      multiply(unit);
    }
  }

  half* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  store_warp_tile<float>(c, g.ldc, acc, g.alpha, g.beta);
}

template <bool MOVMATRIX>
void launch(const Gemm<half, float>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = permuted_kernel<MOVMATRIX>;
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <bool MOVMATRIX>
Variant variant(const char* name) {
  Variant v(name, launch<MOVMATRIX>);
  v.tile(BM, BN, BK).aligned_ld(CHUNK, CHUNK, CHUNK);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<true>("k07_movmatrix").covers("A100 notes k07_mma_permute"),
      variant<false>("no_movmatrix").leaves_out("movmatrix"),
  };
}

const Also added(variants);

}  // namespace
