// Step 11, also: the kernel for every m, n, k >= 1 and every leading dimension.
//
// Three things are done about edges, and none of them costs an instruction per FMA. Rows of A below
// the last one and columns of B beyond the last one are replaced by the last one: what is computed
// from them is never stored. Only K needs zeros, because sums run along it: the ragged slice comes
// first and is filled up with zeros, so that all others are whole. And where not every row begins
// at a multiple of 16 bytes, the copies move 4 bytes instead of 16 (WIDTH 1), chosen at the launch.
//
// Moving the last block back until it fits would be simpler, but elements would be computed twice,
// and with beta != 0 scaled twice.

#include <cstdint>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

namespace {

constexpr int BK = 16;      // depth of a slice of K
constexpr int TN = 8;       // columns of C per thread
constexpr int PAD = 4;      // floats added to As's rows: stores conflict two ways, not four
constexpr int STAGES = 3;   // slices in shared memory
constexpr int BAND = 1024;  // rows of C that neighbouring blocks stay within, for L2
constexpr double LARGE_GAIN = 1.03;  // of large tiles where both kinds fill the chip, as measured

/// BM×BN of C per block, WM×WN per warp, TM×TN per thread; BLOCKS that an SM shall hold.
struct Large {
  static constexpr int BM = 128, BN = 256, WM = 64, WN = 64, TM = 16, BLOCKS = 1;
};
struct Small {  // a fourth of the area: fills the chip sooner
  static constexpr int BM = 64, BN = 128, WM = 64, WN = 32, TM = 8, BLOCKS = 2;
};
template <class Tile>
constexpr int THREADS = Tile::BM / Tile::WM * (Tile::BN / Tile::WN) * 32;

/// WIDTH: floats a copy moves, 4 where every row is 16-byte aligned, else 1.
template <class Tile, int WIDTH>
__global__ void __launch_bounds__(THREADS<Tile>, Tile::BLOCKS)
    gemm_kernel(Gemm<float> g, int band_rows) {
  constexpr int BM = Tile::BM, BN = Tile::BN, WM = Tile::WM, WN = Tile::WN, TM = Tile::TM;
  constexpr int LANES_M = WM / TM, LANES_N = WN / TN;  // threads of a warp: 4×8 or 8×4
  constexpr int A_ROWS = THREADS<Tile> / (BK / 4);     // rows of A's tile that all copy at once
  constexpr int B_ROWS = THREADS<Tile> / (BN / 4);     // rows of B's tile likewise
  constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;  // per thread and slice
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
  static_assert(LANES_M * LANES_N == 32, "every lane has a thread tile");

  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // A's tile: 4 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: BN / 4 threads per row
  // Lanes 2i and 2i + 1 share a column: a float4 takes two wavefronts. A thread's rows come in
  // fours, 4 * LANES_M apart, its columns too, 4 * LANES_N apart.
  const int lane_row = lane / (2 * LANES_N) * 2 + lane % 2, lane_col = lane / 2 % LANES_N;
  const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
  const int tile_col = warp % (BN / WN) * WN + lane_col * 4;

  const float *a = g.a, *b = g.b;  // where the next slice begins
  int left = g.k;                  // of K from there
  int a_start[A_COPIES];  // elements before this thread's rows; A's last row for rows below it
#pragma unroll
  for (int i = 0; i < A_COPIES; ++i)
    a_start[i] = min(block_row + a_row + i * A_ROWS, g.m - 1) * g.lda;

  extern __shared__ __align__(16) float smem[];
  const auto As = reinterpret_cast<float (*)[BK][BM + PAD]>(smem);   // [stage][k][row]
  const auto Bs = reinterpret_cast<float (*)[BK][BN]>(As + STAGES);  // [stage][k][col]

  float4 a_copy[A_COPIES];             // on their way from global to shared memory
  float a_frag[2][TM], b_frag[2][TN];  // [k % 2]
  float acc[TM][TN] = {};

  const auto copy_b = [&](float* to, int k, bool inside) {  // 4 columns of row k, or zeros
    const float* from = b + (inside ? k : 0) * g.ldb;
    if (WIDTH == 4) {
      cp_async_16(to, from + min(block_col + b_col, g.n - 4), inside ? 16 : 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q)
        cp_async_4(to + q, from + min(block_col + b_col + q, g.n - 1), inside ? 4 : 0);
    }
  };
  const auto fetch = [&](int stage, int depth) {  // start the copies of a slice of `depth` k
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
      a_copy[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (a_col < depth) a_copy[i] = load_quad<WIDTH>(a + a_start[i] + a_col, depth - a_col);
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const int k = b_row + i * B_ROWS;
      copy_b(&Bs[stage][k][b_col], k, k < depth);
    }
    a += depth;
    b += depth * g.ldb;
    left -= depth;
  };
  const auto store_a = [&](int stage, int i) {  // what a copy brought
    As[stage][a_col + 0][a_row + i * A_ROWS] = a_copy[i].x;
    As[stage][a_col + 1][a_row + i * A_ROWS] = a_copy[i].y;
    As[stage][a_col + 2][a_row + i * A_ROWS] = a_copy[i].z;
    As[stage][a_col + 3][a_row + i * A_ROWS] = a_copy[i].w;
  };
  const auto load_fragments = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      load_shared_x4(&a_frag[k % 2][i], &As[stage][k][tile_row + i * LANES_M]);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      load_shared_x4(&b_frag[k % 2][j], &Bs[stage][k][tile_col + j * LANES_N]);
  };

  const int slices = ceil_div(g.k, BK);
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage == 0) fetch(0, g.k - (slices - 1) * BK);  // the ragged slice comes first
    if (stage > 0 && left > 0) fetch(stage, BK);
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) store_a(stage, i);
  }
  cp_async_wait<STAGES - 2>();  // this thread's copies of the first slice have landed
  __syncthreads();              // so have everyone's
  load_fragments(0, 0);

  int read = 0, write = STAGES - 1;  // stages
  for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      constexpr int FIRST_STORE = BK - 1 - A_COPIES;  // late: A's loads have a slice's time
      if (k >= FIRST_STORE && k < BK - 1) store_a(write, k - FIRST_STORE);
      if (k == BK - 1) {              // its own fragments are in registers already
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();  // so have everyone's, and everyone has read the last of this slice
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
      if (row < g.m && col < g.n)
        store_scaled<WIDTH>(g.c + row * g.ldc + col, g.alpha, &acc[i][j], g.beta, g.n - col);
    }
}

template <class Tile>
void launch(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * BK * (Tile::BM + PAD + Tile::BN) * 4;
  const auto addresses = reinterpret_cast<uintptr_t>(g.a) | reinterpret_cast<uintptr_t>(g.b) |
                         reinterpret_cast<uintptr_t>(g.c);
  const bool aligned = addresses % 16 == 0 && (g.k | g.n | g.lda | g.ldb | g.ldc) % 4 == 0;
  const auto kernel = aligned ? gemm_kernel<Tile, 4> : gemm_kernel<Tile, 1>;
  const int grid = ceil_div(g.m, Tile::BM) * ceil_div(g.n, Tile::BN);
  const int band_rows = band_height(options.swizzle_stride, BAND, Tile::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS<Tile>, smem_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

void launch_by_size(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int multiprocessors = multiprocessors_here();
  const double large = wave_efficiency(g.m, g.n, Large::BM, Large::BN, multiprocessors);
  const double small = wave_efficiency(g.m, g.n, Small::BM, Small::BN, multiprocessors);
  (LARGE_GAIN * large >= small ? launch<Large> : launch<Small>)(g, options, stream);
}

std::vector<Variant> variants() {
  return {Variant("any_size", launch_by_size)
              .any_size(Small::BM, Small::BN, BK)
              .flat_grid()
              .in_bands()
              .note("edges; large or small tiles, by the waves they need")};
}

const Also added(variants);

}  // namespace
