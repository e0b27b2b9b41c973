// Step 11: each warp owns a rectangle of the block tile, each thread 16×8 of it (8×8 for small C),
// for any size.
//
// The idea: the FMAs' share of the issue slots is the budget. All that is no FMA is made rare: the
// lanes sit so that every fragment load takes two wavefronts, fragments are loaded a k ahead,
// slices wait in three stages, copies move 16 bytes. The register file is the second budget: one
// read a bank (register number even or odd) and cycle. An FMA has three sources, so one should come
// from the reuse cache: the FMAs walk the thread tile in a serpentine, where neighbours always
// share one. Built with ptxas -O1 (steps/meson.build): -O3 moves the fragment loads next to their
// use, and they stall. Against step 10: the serpentine and fragments a k ahead; A through
// registers; tiles chosen by the size; any size: rows and columns outside stand in for the last
// inside, the ragged slice of K comes first and is filled up with zeros. Source: warp tiles as in
// CUTLASS (Kerr et al., 2017); register banks and their reuse as in maxas (Gray, 2014).

#include <cstdint>

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

constexpr int DEFAULT_BAND =
    1024;  // rows of C that neighbouring blocks stay within, for the L2 cache
constexpr double LARGE_GAIN =
    1.03;  // large tiles over small ones where both fill the chip, as measured on an H200

/// Tile sizes and what follows from them. BLOCKS: blocks that an SM shall hold at once.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int STAGES_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_;  // block tile
  static constexpr int WM = WM_, WN = WN_;            // warp tile
  static constexpr int TM = TM_, TN = TN_;            // thread tile
  static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  static constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
  static_assert(LANES_M * LANES_N == 32 && (LANES_M == 4 || LANES_M == 8),
                "the lane maps below are for 4x8 and 8x4");
  static constexpr int A_PITCH =
      BM + 4;  // floats from k to k + 1; A's transposing stores conflict two ways, not four
  static constexpr int A_FLOATS = BK * A_PITCH, STAGE = A_FLOATS + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE * static_cast<int>(sizeof(float));
  static constexpr int A_QUADS = BK / 4, A_ROWS = THREADS / A_QUADS, A_COPIES = BM / A_ROWS;
  static constexpr int B_QUADS = BN / 4, B_ROWS = THREADS / B_QUADS, B_COPIES = BK / B_ROWS;
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "every thread copies as much");
};

/// WIDTH: floats a copy moves, 4 where every row is 16-byte aligned, else 1.
template <class T, int WIDTH>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) gemm_kernel(Gemm<float> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, STAGES = T::STAGES;
  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Lanes i and i^1 share rows, i and i^2 columns: the quarter-warps of every 16-byte load merge in
  // pairs.
  const int lane_row = lane / 2 % 2 + (T::LANES_M == 4 ? lane / 16 : lane / 8) * 2;
  const int lane_col = lane % 2 + (T::LANES_M == 4 ? lane / 4 % 4 : lane / 4 % 2) * 2;
  const int row = warp / T::WARPS_N * T::WM +
                  lane_row * 4;  // in the block tile; rows come in fours, 4 * LANES_M apart
  const int col = warp % T::WARPS_N * T::WN + lane_col * 4;

  const int slices = ceil_div(g.k, BK),
            first_depth = g.k - (slices - 1) * BK;  // the ragged slice comes first
  const int a_row = threadIdx.x / T::A_QUADS, a_col = threadIdx.x % T::A_QUADS * 4;
  const int b_row = threadIdx.x / T::B_QUADS, b_col = threadIdx.x % T::B_QUADS * 4;
  const float* a = g.a + a_col;
  const float* b = g.b + static_cast<size_t>(b_row) * g.ldb;
  int a_offset[T::A_COPIES];  // of this thread's rows; A's last row stands in for rows below it
#pragma unroll
  for (int i = 0; i < T::A_COPIES; ++i)
    a_offset[i] = min(block_row + a_row + i * T::A_ROWS, g.m - 1) * g.lda;

  extern __shared__ __align__(16) float shared[];  // STAGES x (As[BK][A_PITCH], Bs[BK][BN])
  float* const As_copy = shared + a_col * T::A_PITCH + a_row;
  float* const Bs_copy = shared + T::A_FLOATS + b_row * BN + b_col;
  const float* const As_read = shared + row;
  const float* const Bs_read = shared + T::A_FLOATS + col;

  float acc[TM][TN] = {};
  float a_frag[2][TM], b_frag[2][TN];  // of this k and the next
  float4 a_copy[T::A_COPIES];          // on their way from global to shared memory

  const auto fetch_a = [&](int i, int depth) {
    a_copy[i] = load_quad<WIDTH>(a + a_offset[i], depth - a_col);
  };
  const auto put_a = [&](int stage, int i) {
    float* to = As_copy + stage + i * T::A_ROWS;
    to[0 * T::A_PITCH] = a_copy[i].x;
    to[1 * T::A_PITCH] = a_copy[i].y;
    to[2 * T::A_PITCH] = a_copy[i].z;
    to[3 * T::A_PITCH] = a_copy[i].w;
  };
  const auto copy_b = [&](int stage, int i, bool inside) {
    float* to = Bs_copy + stage + i * T::B_ROWS * BN;
    const float* from = b + i * T::B_ROWS * g.ldb;
    if (WIDTH == 4) {
      cp_async_16(to, from + min(block_col + b_col, g.n - 4), inside ? 16 : 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q)
        cp_async_4(to + q, from + min(block_col + b_col + q, g.n - 1), inside ? 4 : 0);
    }
  };
  const auto load_frags = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      load_shared_x4(&a_frag[k % 2][i], As_read + stage + k * T::A_PITCH + i * T::LANES_M);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      load_shared_x4(&b_frag[k % 2][j], Bs_read + stage + k * BN + j * T::LANES_N);
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    const int depth = stage == 0 ? first_depth : stage < slices ? BK : 0;
#pragma unroll
    for (int i = 0; i < T::A_COPIES; ++i) {
      fetch_a(i, depth);
      put_a(stage * T::STAGE, i);
    }
#pragma unroll
    for (int i = 0; i < T::B_COPIES; ++i)
      copy_b(stage * T::STAGE, i, b_row + i * T::B_ROWS < depth);
    cp_async_commit();
    a += depth;
    b += static_cast<size_t>(depth) * g.ldb;
  }
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0, write = (STAGES - 1) * T::STAGE;  // floats from the first stage
  for (int slice = 0; slice < slices; ++slice) {
    const bool more = slice + STAGES - 1 < slices;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0) {
#pragma unroll
        for (int i = 0; i < T::A_COPIES; ++i)
          if (more) fetch_a(i, BK);
#pragma unroll
        for (int i = 0; i < T::B_COPIES; ++i) copy_b(write, i, more);
        cp_async_commit();
        a += BK;
        b += static_cast<size_t>(BK) * g.ldb;
      }
      constexpr int FIRST_PUT =
          BK - 1 - T::A_COPIES;  // as late as possible: the loads have a slice's time to arrive
      if (k >= FIRST_PUT && k < BK - 1) put_a(write, k - FIRST_PUT);
      if (k == BK - 2) write = write == (STAGES - 1) * T::STAGE ? 0 : write + T::STAGE;
      if (k == BK - 1) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();  // the next slice is complete, and everyone has read the last of this one
        read = read == (STAGES - 1) * T::STAGE ? 0 : read + T::STAGE;
      }
      load_frags(read, (k + 1) % BK);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 0
                            ? step
                            : TN - 1 - step;  // a serpentine: the turn shares b, the row shares a
          acc[i][j] += a_frag[k % 2][i] * b_frag[k % 2][j];
        }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int c_row = block_row + row + i / 4 * 4 * T::LANES_M + i % 4;
      const int c_col = block_col + col + j * T::LANES_N;
      if (c_row < g.m && c_col < g.n)
        store_scaled<WIDTH>(g.c + c_row * g.ldc + c_col, g.alpha, &acc[i][j], g.beta, g.n - c_col);
    }
}

template <class T>
void launch(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto addresses = reinterpret_cast<uintptr_t>(g.a) | reinterpret_cast<uintptr_t>(g.b) |
                         reinterpret_cast<uintptr_t>(g.c);
  const bool aligned = addresses % 16 == 0 && (g.k | g.n | g.lda | g.ldb | g.ldc) % 4 == 0;
  const auto kernel = aligned ? gemm_kernel<T, 4> : gemm_kernel<T, 1>;
  const int grid = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  kernel<<<grid, T::THREADS, T::SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

using Large = Tile<128, 256, 16, 64, 64, 16, 8, 3,
                   1>;  // one block of 8 warps an SM, 74.5 KB of shared memory
using Small = Tile<64, 128, 16, 64, 32, 8, 8, 3,
                   2>;  // a fourth of the area, three blocks an SM: fills the chip sooner

void launch_by_size(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int multiprocessors = multiprocessors_here();
  const double large = wave_efficiency(g.m, g.n, Large::BM, Large::BN, multiprocessors);
  const double small = wave_efficiency(g.m, g.n, Small::BM, Small::BN, multiprocessors);
  (LARGE_GAIN * large >= small ? launch<Large> : launch<Small>)(g, options, stream);
}

std::vector<Variant> variants() {
  return {
      Variant("by_size", launch_by_size)
          .any_size(Small::BM, Small::BN, Small::BK)
          .flat_grid()
          .note("large or small tiles, by the waves they need"),
      Variant("large_tiles", launch<Large>)
          .any_size(Large::BM, Large::BN, Large::BK)
          .flat_grid()
          .note("128×256, 16×8 a thread"),
      Variant("small_tiles", launch<Small>)
          .any_size(Small::BM, Small::BN, Small::BK)
          .flat_grid()
          .note("64×128, 8×8 a thread"),
  };
}
