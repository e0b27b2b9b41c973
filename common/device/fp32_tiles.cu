// Step 11's kernel for any size (steps/11_warp_tiling/also/any_size.cu), with three differences. A block returns at
// once where the guard has chosen digits. The tile is 128×128, so that whole tiles fill a region of the guard. And B
// may be stored n × k: its tile is then copied as A's is. Sums take the same products in the same order as step 11's.

#include <cstdint>

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/fp32_tiles.h"
#include "common/device/gemm.h"
#include "common/device/guard.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128, BN = 128, BK = 16;                     // block tile
constexpr int WM = 64, WN = 64;                                // warp tile
constexpr int TM = 16, TN = 8;                                 // thread tile
constexpr int THREADS = BM / WM * (BN / WN) * 32, BLOCKS = 2;  // that an SM shall hold
constexpr int PAD = 4;      // floats added to rows of a tile that comes turned: stores conflict two ways, not four
constexpr int STAGES = 3;   // slices in shared memory
constexpr int BAND = 1024;  // rows of C that neighbouring blocks stay within, for L2
constexpr int SMEM_BYTES = STAGES * BK * (BM + PAD + BN + PAD) * 4;
static_assert(Guard::ROWS % BM == 0 && Guard::COLUMNS % BN == 0, "a tile lies in one region");

/// A tile that lies along k in memory is turned on its way: 4 threads copy a row's 16 floats. A's
/// tile, and B's where it is transposed.
constexpr int PITCH = BM + PAD, ROWS_AT_ONCE = THREADS / (BK / 4), COPIES = BM / ROWS_AT_ONCE;
static_assert(BM == BN, "both tiles are copied alike");

/// WIDTH: floats a copy moves, 4 where every row is 16-byte aligned, else 1.
template <int WIDTH, bool B_TRANSPOSED>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<float> g, Guard guard, int band_rows) {
  constexpr int LANES_M = WM / TM, LANES_N = WN / TN;  // threads of a warp: 4×8
  constexpr int B_ROWS = THREADS / (BN / 4);           // rows of B's tile that all copy at once …
  constexpr int B_COPIES = BK / B_ROWS;                // … so often per slice, where B is not turned

  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  if (guard.digits_at(block_row, block_col) != 0) {  // digits compute this tile
    if (blockIdx.x == 0) wait_for_kernel_before();   // what waits for this kernel, waits for that one
    return;
  }
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int turned_row = tid / (BK / 4), turned_k = tid % (BK / 4) * 4;  // of a tile that is turned
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;          // B's tile: BN / 4 threads per row
  // Lanes 2i and 2i + 1 share a column: a float4 takes two wavefronts. A thread's rows come in
  // fours, 4 * LANES_M apart, its columns too, 4 * LANES_N apart.
  const int lane_row = lane / (2 * LANES_N) * 2 + lane % 2, lane_col = lane / 2 % LANES_N;
  const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
  const int tile_col = warp % (BN / WN) * WN + lane_col * 4;

  const float *a = g.a, *b = g.b;  // where the next slice begins
  int left = g.k;                  // of K from there
  int a_start[COPIES],
      b_start[COPIES];  // elements before this thread's rows; the last row for rows behind it
#pragma unroll
  for (int i = 0; i < COPIES; ++i) {
    a_start[i] = min(block_row + turned_row + i * ROWS_AT_ONCE, g.m - 1) * g.lda;
    b_start[i] = B_TRANSPOSED ? min(block_col + turned_row + i * ROWS_AT_ONCE, g.n - 1) * g.ldb : 0;
  }

  extern __shared__ __align__(16) float smem[];
  const auto As = reinterpret_cast<float (*)[BK][PITCH]>(smem);         // [stage][k][row]
  const auto Bs = reinterpret_cast<float (*)[BK][PITCH]>(As + STAGES);  // [stage][k][col]

  float4 a_copy[COPIES], b_copy[COPIES];  // on their way from global to shared memory
  float a_frag[2][TM], b_frag[2][TN];     // [k % 2]
  float acc[TM][TN] = {};

  const auto copy_b = [&](float* to, int k, bool inside) {  // 4 columns of row k, or zeros
    const float* from = b + (inside ? k : 0) * g.ldb;
    if (WIDTH == 4) {
      cp_async_16(to, from + min(block_col + b_col, g.n - 4), inside ? 16 : 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) cp_async_4(to + q, from + min(block_col + b_col + q, g.n - 1), inside ? 4 : 0);
    }
  };
  const auto fetch_turned = [&](float4& copy, const float* row, int depth) {
    copy = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (turned_k < depth) copy = load_quad<WIDTH>(row + turned_k, depth - turned_k);
  };
  const auto fetch = [&](int stage, int depth) {  // start the copies of a slice of `depth` k
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      fetch_turned(a_copy[i], a + a_start[i], depth);
      if (B_TRANSPOSED) fetch_turned(b_copy[i], b + b_start[i], depth);
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const int k = b_row + i * B_ROWS;
      if (!B_TRANSPOSED) copy_b(&Bs[stage][k][b_col], k, k < depth);
    }
    a += depth;
    b += depth * (B_TRANSPOSED ? 1 : g.ldb);
    left -= depth;
  };
  const auto store_turned = [&](float (*to)[PITCH], float4 copy, int i) {  // [k][row of the tile]
    const int row = turned_row + i * ROWS_AT_ONCE;
    to[turned_k + 0][row] = copy.x;
    to[turned_k + 1][row] = copy.y;
    to[turned_k + 2][row] = copy.z;
    to[turned_k + 3][row] = copy.w;
  };
  const auto store = [&](int stage, int i) {  // what the copies brought
    store_turned(As[stage], a_copy[i], i);
    if (B_TRANSPOSED) store_turned(Bs[stage], b_copy[i], i);
  };
  const auto load_fragments = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) load_shared_x4(&a_frag[k % 2][i], &As[stage][k][tile_row + i * LANES_M]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) load_shared_x4(&b_frag[k % 2][j], &Bs[stage][k][tile_col + j * LANES_N]);
  };

  const int slices = ceil_div(g.k, BK);
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage == 0) fetch(0, g.k - (slices - 1) * BK);  // the ragged slice comes first
    if (stage > 0 && left > 0) fetch(stage, BK);
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < COPIES; ++i) store(stage, i);
  }
  cp_async_wait<STAGES - 2>();  // this thread's copies of the first slice have landed
  __syncthreads();              // so have everyone's
  load_fragments(0, 0);

  int read = 0, write = STAGES - 1;  // stages
  for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      constexpr int FIRST_STORE = BK - 1 - COPIES;  // late: the loads have a slice's time
      if (k >= FIRST_STORE && k < BK - 1) store(write, k - FIRST_STORE);
      if (k == BK - 1) {              // its own fragments are in registers already
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();              // so have everyone's, and everyone has read the last of this slice
        write = read;
        // After the last slice its first fragments are loaded once more, unused.
        if (slice + 1 < slices) read = read + 1 == STAGES ? 0 : read + 1;
      }
      load_fragments(read, (k + 1) % BK);
      if (k == 0) {
        if (left > 0) fetch(write, BK);
        cp_async_commit();
      }
#pragma unroll
      for (int j = 0; j < TN; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i = j % 2 == 0 ? step : TM - 1 - step;  // down one column, up the next
          acc[i][j] += a_frag[k % 2][i] * b_frag[k % 2][j];
        }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int row = block_row + tile_row + i / 4 * 4 * LANES_M + i % 4;
      const int col = block_col + tile_col + j * LANES_N;
      if (row < g.m && col < g.n) store_scaled<WIDTH>(g.c + row * g.ldc + col, g.alpha, &acc[i][j], g.beta, g.n - col);
    }
  if (blockIdx.x == 0) wait_for_kernel_before();
}

}  // namespace

void launch_fp32_tiles(const Gemm<float>& g, const Guard& guard, bool b_transposed, cudaStream_t stream) {
  const auto addresses =
      reinterpret_cast<uintptr_t>(g.a) | reinterpret_cast<uintptr_t>(g.b) | reinterpret_cast<uintptr_t>(g.c);
  const bool aligned = addresses % 16 == 0 && (g.k | g.n | g.lda | g.ldb | g.ldc) % 4 == 0;
  const auto kernel = b_transposed ? (aligned ? gemm_kernel<4, true> : gemm_kernel<1, true>)
                                   : (aligned ? gemm_kernel<4, false> : gemm_kernel<1, false>);
  const int grid = ceil_div(g.m, BM) * ceil_div(g.n, BN);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  launch_early(true, kernel, 1, grid, THREADS, SMEM_BYTES, stream, g, guard, band_height(0, BAND, BM, g.m));
}
