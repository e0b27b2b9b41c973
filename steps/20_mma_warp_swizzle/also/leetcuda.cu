// Step 20, also: LeetCUDA's kernels with a block tile of 128×128×32, in which fragments are loaded
// one unit ahead.
//
// Against kernel.cu: 2×4 warps of 64×32, as published, and other ways to avoid bank conflicts, to
// load B and to store C. `dsmem`, `x4` and `rr` pad the rows of shared memory. `dsmem` loads B's
// fragments two matrices at a time (ldmatrix.x2) and stores C straight from its fragments, 4 bytes
// per lane. `x4` loads B four matrices at a time. `rr` loads B by two again, and stores C through
// the accumulators' own registers: each quad transposes them by shuffles.
//
// `tn` has B stored N×K, and swizzles. The rows of both tiles are only 64 bytes long, so that two
// of them share the 128 bytes of the banks: pairs of rows have to be told apart, chunk ^ (row / 2 %
// 4). B's fragments come by ldmatrix.x2 without .trans, because a row of B stored N×K has
// neighbouring k side by side, as mma wants.
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem, …_dsmem_x4, …_dsmem_rr and
// …_dsmem_tn_swizzle.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

namespace {

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8;                          // elements in 16 bytes: what a copy moves
constexpr int BM = 128, BN = 128, BK = 32;        // block tile
constexpr int WM = 64, WN = 32;                   // warp tile
constexpr int STAGES = 3, BLOCKS = 2;             // BLOCKS: that a multiprocessor shall hold
constexpr int DEFAULT_BAND = 1024;                // rows of C in a band
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions of a warp
constexpr int UNITS = BK / MMA_K;                        // a unit: 16 of k of the warp tile
constexpr int K_CHUNKS = BK / CHUNK, K_STEP = THREADS / K_CHUNKS;  // rows along k: copied at a time
constexpr int N_CHUNKS = BN / CHUNK, N_STEP = THREADS / N_CHUNKS;  // rows along n
static_assert(BM % K_STEP == 0 && BK % N_STEP == 0 && BN % K_STEP == 0,
              "every thread copies as much");

constexpr int PAD = CHUNK;  // added to every row: pitches of 16 bytes times an odd number
struct PaddedStage {
  alignas(16) half As[BM][BK + PAD];  // [row][k]
  alignas(16) half Bs[BK][BN + PAD];  // [k][col]
};

template <bool B_BY_FOURS, bool STORE_BY_QUADS>
__global__ void __launch_bounds__(THREADS, BLOCKS) padded_kernel(Gemm<half> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int a_row = threadIdx.x / K_CHUNKS, a_col = threadIdx.x % K_CHUNKS * CHUNK;
  const int b_row = threadIdx.x / N_CHUNKS, b_col = threadIdx.x % N_CHUNKS * CHUNK;
  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) PaddedStage padded_stages[];  // STAGES of them

  uint32_t a_frag[2][MMAS_M][4], b_frag[2][MMAS_N][2];  // of this unit and the next
  MmaAccumulators<half> acc[MMAS_M][MMAS_N] = {};

  int k_left = g.k;                   // not on its way yet
  const auto copy = [&](int stage) {  // the next slice
    if (k_left > 0) {
#pragma unroll
      for (int row = 0; row < BM; row += K_STEP)
        cp_async_16(&padded_stages[stage].As[a_row + row][a_col], a + row * g.lda);
#pragma unroll
      for (int row = 0; row < BK; row += N_STEP)
        cp_async_16(&padded_stages[stage].Bs[b_row + row][b_col], b + row * g.ldb);
      a += BK;
      b += BK * g.ldb;
      k_left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };
  const auto load_frags = [&](int unit, int stage) {
    const PaddedStage& slice = padded_stages[stage];
    const int k = unit * MMA_K;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
      ldmatrix_x4(
          a_frag[unit % 2][i],
          shared_address(&slice.As[warp_row + i * MMA_M + lane % 16][k + lane / 16 * CHUNK]));
    if constexpr (B_BY_FOURS) {
#pragma unroll
      for (int j = 0; j < MMAS_N; j += 2) {
        uint32_t (&two)[4] = reinterpret_cast<uint32_t (&)[4]>(b_frag[unit % 2][j]);
        ldmatrix_x4_trans(
            two,
            shared_address(&slice.Bs[k + lane % 16][warp_col + j * MMA_N + lane / 16 * CHUNK]));
      }
    } else {
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j)
        ldmatrix_x2_trans(b_frag[unit % 2][j],
                          shared_address(&slice.Bs[k + lane % 16][warp_col + j * MMA_N]));
    }
  };
  const auto multiply = [&](int unit) {
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j)
        mma_m16n8k16(acc[i][j], a_frag[unit % 2][i], b_frag[unit % 2][j]);
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0, write = STAGES - 1;
  for (int slices = g.k / BK; slices > 0; --slices) {
    copy(write);
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) {
      if (unit == UNITS - 1) {
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();  // so have everyone's, and everyone has read the last of this slice
        write = read;
        read = read == STAGES - 1 ? 0 : read + 1;
      }
      if (unit < UNITS - 1 || slices > 1) load_frags((unit + 1) % UNITS, read);
      multiply(unit);
    }
  }

  half* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  if constexpr (STORE_BY_QUADS) {
    store_warp_tile<half>(c, g.ldc, acc, g.alpha, g.beta);
  } else {
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int below = 0; below < 2; ++below)
#pragma unroll
        for (int j = 0; j < MMAS_N; ++j) {
          half* const pair =
              c + (i * MMA_M + below * 8 + lane / 4) * g.ldc + j * MMA_N + lane % 4 * 2;
          store_scaled_pair(pair, g.alpha, sums(acc[i][j], below), g.beta);
        }
  }
}

struct SwizzledStage {
  alignas(128) half As[BM][BK];  // [row][k], the chunks of a row permuted
  alignas(128) half Bs[BN][BK];  // [col][k]
};
static_assert(K_STEP % 8 == 0, "a thread's rows all have the same swizzle");

/// Where in its row of 64 bytes a chunk lies, in elements.
__device__ __forceinline__ int place(int row, int chunk) { return (chunk ^ row / 2 % 4) * CHUNK; }

__global__ void __launch_bounds__(THREADS, BLOCKS) tn_kernel(Gemm<half> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int copy_row = threadIdx.x / K_CHUNKS, copy_chunk = threadIdx.x % K_CHUNKS;
  const int copy_place = place(copy_row, copy_chunk);
  const half* a = g.a + (block_row + copy_row) * g.lda + copy_chunk * CHUNK;
  const half* b = g.b + (block_col + copy_row) * g.ldb + copy_chunk * CHUNK;

  extern __shared__ __align__(128) SwizzledStage swizzled_stages[];  // STAGES of them

  uint32_t a_frag[2][MMAS_M][4], b_frag[2][MMAS_N][2];  // of this unit and the next
  MmaAccumulators<half> acc[MMAS_M][MMAS_N] = {};

  int k_left = g.k;                   // not on its way yet
  const auto copy = [&](int stage) {  // the next slice
    if (k_left > 0) {
#pragma unroll
      for (int row = 0; row < BM; row += K_STEP)
        cp_async_16(&swizzled_stages[stage].As[copy_row + row][copy_place], a + row * g.lda);
#pragma unroll
      for (int row = 0; row < BN; row += K_STEP)
        cp_async_16(&swizzled_stages[stage].Bs[copy_row + row][copy_place], b + row * g.ldb);
      a += BK;
      b += BK;
      k_left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };
  const auto load_frags = [&](int unit, int stage) {
    const SwizzledStage& slice = swizzled_stages[stage];
    const int chunk = unit * MMA_K / CHUNK;  // of the unit's first k
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i) {
      const int row = warp_row + i * MMA_M + lane % 16;
      ldmatrix_x4(a_frag[unit % 2][i],
                  shared_address(&slice.As[row][place(row, chunk + lane / 16)]));
    }
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) {
      const int col = warp_col + j * MMA_N + lane % 8;
      ldmatrix_x2(b_frag[unit % 2][j],
                  shared_address(&slice.Bs[col][place(col, chunk + lane / 8 % 2)]));
    }
  };
  const auto multiply = [&](int unit) {
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j)
        mma_m16n8k16(acc[i][j], a_frag[unit % 2][i], b_frag[unit % 2][j]);
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0, write = STAGES - 1;
  for (int slices = g.k / BK; slices > 0; --slices) {
    copy(write);
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) {
      if (unit == UNITS - 1) {
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();  // so have everyone's, and everyone has read the last of this slice
        write = read;
        read = read == STAGES - 1 ? 0 : read + 1;
      }
      if (unit < UNITS - 1 || slices > 1) load_frags((unit + 1) % UNITS, read);
      multiply(unit);
    }
  }

  half* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  store_warp_tile<half>(c, g.ldc, acc, g.alpha, g.beta);
}

using Kernel = void(Gemm<half>, int);

template <Kernel* KERNEL, class Stage>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * sizeof(Stage);
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  KERNEL<<<grid, THREADS, smem_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <Kernel* KERNEL, class Stage>
Variant variant(const char* name) {
  Variant v(name, launch<KERNEL, Stage>);
  v.tile(BM, BN, BK).aligned_ld(CHUNK, CHUNK, CHUNK);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<padded_kernel<false, false>, PaddedStage>("dsmem").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem"),
      variant<padded_kernel<true, false>, PaddedStage>("x4").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_x4"),
      variant<padded_kernel<false, true>, PaddedStage>("rr").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr"),
      variant<tn_kernel, SwizzledStage>("tn").tn().covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle"),
  };
}

const Also added(variants);

}  // namespace
