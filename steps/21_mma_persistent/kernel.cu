// Step 21: blocks that stay. Each computes one tile of C after the other, and the copies run ahead
// into its next tile.
//
// The idea: a tile of 256×256 leaves a multiprocessor one block, and no other block works while
// that one fills its stages or stores C. So the grid has only as many blocks as find room at once.
// Block b computes tiles b, b + gridDim.x, … . Where the K of a tile ends, its copies go on with
// the next tile, whose first slices arrive while the last products and the store of this one run.
// The stages are filled once per block, not once per tile.
//
// Against step 20: next_tile and the loop over tiles. And a choice: a large tile is fast, but a
// small C has too few of them for all multiprocessors, so `by_size` takes the tile whose speed
// times the share of the waves that it fills is the highest.
//
// The store is compiled twice, for beta = 0 and for any beta, so that a tile branches on beta once
// instead of eight times. The timing shows no effect: with step 20's store (also/without.cu,
// branchy_store) the kernel is as fast.
//
// Source: persistent kernels as in CUTLASS's persistent tile scheduler; the choice is our own.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8, CHUNK_BYTES = 16;        // what a copy moves; a row of an 8×8 matrix
constexpr int WM = 64;                            // rows of a warp tile
constexpr int DEFAULT_BAND = 1024;                // rows of C in a band

/// A tile in shared memory, ROWS rows of COLS elements, and who copies it.
template <int ROWS, int COLS, int THREADS>
struct SharedTile {
  static constexpr int PITCH = COLS * 2, BYTES = ROWS * PITCH;          // of a row, of the tile
  static constexpr int CHUNKS = COLS / CHUNK, STEP = THREADS / CHUNKS;  // per row; rows at a time
  static constexpr int COPIES = ROWS / STEP;                            // per thread
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  static_assert(CHUNKS % 8 == 0 && STEP % 8 == 0, "a thread's rows all have the same swizzle");

  /// Bytes from the start of the tile to a chunk of a row.
  static __device__ int offset(int row, int chunk) {
    return row * PITCH + (chunk ^ (row % 8)) * CHUNK_BYTES;
  }
  /// Starts a part of this thread's copies, STEP rows apart.
  template <class AB>
  static __device__ void copy(char* to, const AB* from, int ld, int part, int parts) {
#pragma unroll
    for (int i = part * COPIES / parts; i < (part + 1) * COPIES / parts; ++i)
      cp_async_16(to + i * STEP * PITCH, from + i * STEP * ld);
  }
};

/// Block tile, columns of a warp tile, stages. B_TRANSPOSED: B is stored N×K.
template <int BM_, int BN_, int BK_, int WN_, int STAGES_, bool B_TRANSPOSED_ = false>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WN = WN_, STAGES = STAGES_;
  static constexpr bool B_TRANSPOSED = B_TRANSPOSED_;
  static constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions of a warp
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  using A = SharedTile<BM, BK, THREADS>;                                          // [row][k]
  using B = SharedTile<B_TRANSPOSED ? BN : BK, B_TRANSPOSED ? BK : BN, THREADS>;  // [k][col]
  static constexpr int STAGE_BYTES = A::BYTES + B::BYTES, BYTES = STAGES * STAGE_BYTES;
  // A unit: 16 of k, all rows and at most 64 columns of the warp tile.
  static constexpr int UNIT_MMAS_N = MMAS_N < 8 ? MMAS_N : 8, PARTS = MMAS_N / UNIT_MMAS_N;
  static constexpr int UNITS = BK / MMA_K * PARTS;
  static_assert(BM % WM == 0 && BN % WN == 0 && WN % 32 == 0, "whole tiles, whole quads");
};

template <class T, class AB, class Acc>
__global__ void __launch_bounds__(T::THREADS) gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, STAGES = T::STAGES;
  const int tile_rows = g.m / BM, tile_cols = g.n / BN, tiles = tile_rows * tile_cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * WM, warp_col = warp % T::WARPS_N * T::WN;

  const int a_row = threadIdx.x / T::A::CHUNKS, a_chunk = threadIdx.x % T::A::CHUNKS;
  const int b_row = threadIdx.x / T::B::CHUNKS, b_chunk = threadIdx.x % T::B::CHUNKS;
  extern __shared__ __align__(256) char As[];  // STAGES times As and Bs; 256: XOR reaches bit 7
  char* const Bs = As + T::A::BYTES;
  char* const As_copy = As + T::A::offset(a_row, a_chunk);
  char* const Bs_copy = Bs + T::B::offset(b_row, b_chunk);
  // The row that a lane names to ldmatrix.x4. Of A: rows 0–15 at k 0–7, then at k 8–15. Of B: k
  // 0–15 of columns 0–7, then of columns 8–15; where B is stored transposed, columns 0–7 at k 0–7
  // and at k 8–15, then columns 8–15.
  const uint32_t a_addr = shared_address(As + T::A::offset(warp_row + lane % 16, lane / 16));
  const uint32_t b_addr = shared_address(
      Bs + (T::B_TRANSPOSED ? T::B::offset(warp_col + lane / 16 * 8 + lane % 8, lane / 8 % 2)
                            : T::B::offset(lane % 16, warp_col / CHUNK + lane / 16)));

  uint32_t a_frag[2][T::MMAS_M][4], b_frag[2][T::UNIT_MMAS_N / 2][4];  // of this unit and the next
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N];

  // The copies run ahead of the products, past the end of a tile into the block's next one.
  const AB *a = g.a, *b = g.b;
  int tile_to_copy = blockIdx.x, k_left = 0;  // k_left: not on its way yet
  const auto next_tile = [&] {
    if (tile_to_copy >= tiles) return;
    const int2 tile = tile_in_bands(tile_to_copy, tile_rows, tile_cols, band_rows);
    a = g.a + (tile.x * BM + a_row) * g.lda + a_chunk * CHUNK;
    b = g.b + tile.y * BN * (T::B_TRANSPOSED ? g.ldb : 1) + b_row * g.ldb + b_chunk * CHUNK;
    k_left = g.k;
    tile_to_copy += gridDim.x;
  };
  const auto copy = [&](int stage, int part, int parts) {  // of the next slice
    if (k_left > 0) {
      T::A::copy(As_copy + stage, a, g.lda, part, parts);
      T::B::copy(Bs_copy + stage, b, g.ldb, part, parts);
    }
    if (part < parts - 1) return;
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
    a += BK;
    b += T::B_TRANSPOSED ? BK : BK * g.ldb;
    k_left -= BK;
    if (k_left <= 0) next_tile();
  };
  const auto load_frags = [&](int unit, int stage) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
    const int k_bytes = k_step * 2 * CHUNK_BYTES;  // two chunks
#pragma unroll
    for (int i = 0; i < T::MMAS_M && part == 0; ++i)
      ldmatrix_x4(a_frag[k_step % 2][i], ((a_addr + stage) ^ k_bytes) + i * MMA_M * T::A::PITCH);
#pragma unroll
    for (int j = 0; j < T::UNIT_MMAS_N / 2; ++j) {
      const int col = (part * T::UNIT_MMAS_N + j * 2) * MMA_N, col_bytes = col * 2;
      if constexpr (T::B_TRANSPOSED)
        ldmatrix_x4(b_frag[unit % 2][j], ((b_addr + stage) ^ k_bytes) + col * T::B::PITCH);
      else
        ldmatrix_x4_trans(b_frag[unit % 2][j],
                          ((b_addr + stage) ^ col_bytes) + k_step * MMA_K * T::B::PITCH);
    }
  };
  const auto multiply = [&](int unit) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < T::UNIT_MMAS_N; ++turn) {
        const int j = i % 2 == 0 ? turn : T::UNIT_MMAS_N - 1 - turn;  // neighbours share a fragment
        mma_m16n8k16<AB>(acc[i][part * T::UNIT_MMAS_N + j], a_frag[k_step % 2][i],
                         b_frag[unit % 2][j / 2] + j % 2 * 2);
      }
  };

  next_tile();
  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it

  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    memset(acc, 0, sizeof(acc));
    load_frags(0, read);
    for (int slices = g.k / BK; slices > 0; --slices) {
#pragma unroll
      for (int unit = 0; unit < T::UNITS; ++unit) {
        if (unit == T::UNITS - 1) {
          cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
          __syncthreads();  // so have everyone's, and everyone has read the last of this slice
          write = read;
          read = read == (STAGES - 1) * T::STAGE_BYTES ? 0 : read + T::STAGE_BYTES;
        }
        if (unit < T::UNITS - 1 || slices > 1) load_frags((unit + 1) % T::UNITS, read);
        if (unit % 2 == 0) copy(write, unit / 2, T::UNITS / 2);
        multiply(unit);
      }
    }
    const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
    AB* const c = g.c + (tile.x * BM + warp_row) * g.ldc + tile.y * BN + warp_col;
    if (g.beta == 0.0f)
      store_warp_tile<Acc>(c, g.ldc, acc, g.alpha, 0.0f);  // a literal: no branches, no loads of C
    else
      store_warp_tile<Acc>(c, g.ldc, acc, g.alpha, g.beta);
  }
}

template <class T, class AB = half, class Acc = half>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<T, AB, Acc>;
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES));
  const int grid = min(g.m / T::BM * (g.n / T::BN), resident_blocks(kernel, T::THREADS, T::BYTES));
  kernel<<<grid, T::THREADS, T::BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

using Large = Tile<256, 256, 64, 128, 3>;  // 4×2 warps of 4×16 instructions
using Wide = Tile<128, 256, 64, 64, 4>;    // 2×4 warps of 4×8 instructions
using Wide3 = Tile<128, 256, 64, 64, 3>;   // as Wide, for 163 KB per block
using Square = Tile<128, 128, 64, 64, 3>;  // 2×2 warps of 4×8; two blocks fit on a multiprocessor
using Small = Tile<128, 64, 64, 32, 8>;    // 2×2 warps of 4×4
using Small4 = Tile<128, 64, 64, 32, 4>;   // as Small, for 99 KB per block

void launch_by_size(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  // Block tiles with their speed, relative to the largest, where each has tiles enough. Square and
  // Small reach 0.88 and 0.71 at 4096³. But two blocks of Square share a multiprocessor, and the
  // waves are counted as if each had one to itself: with 0.88 the choice at 3840³ was 9 % slower.
  best_choice({choice<Large>(1.0, launch<Large>), choice<Wide>(0.95, launch<Wide>),
               choice<Wide3>(0.94, launch<Wide3>), choice<Square>(0.8, launch<Square>),
               choice<Small>(0.6, launch<Small>), choice<Small4>(0.59, launch<Small4>)},
              g.m, g.n)
      .launch(g, options, stream);
}

template <class T, class AB = half, class Acc = half>
Variant variant(const char* name, Variant::Launcher<AB, Acc, AB> launcher = launch<T, AB, Acc>) {
  Variant v(name, launcher);
  v.tile(T::BM, T::BN, T::BK).shared_memory(T::BYTES).aligned_ld(CHUNK, CHUNK, CHUNK);
  v.flat_grid().in_bands().on_tensor_cores();
  return T::B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<Small4>("by_size", launch_by_size).note("the tile by the waves that it needs"),
      variant<Large>("large").note("block 256×256×64"),
      variant<Tile<256, 256, 64, 128, 3, true>>("tn_x4").note("block 256×256×64"),
      variant<Wide>("wide").note("block 128×256×64"),
      variant<Wide3>("wide_144kb").note("block 128×256×64, 3 stages"),
      variant<Square>("square").note("block 128×128×64, two per multiprocessor"),
      variant<Small>("small").note("block 128×64×64"),
      variant<Wide, half, float>("fp32_accumulate").note("block 128×256×64"),
      variant<Wide, __nv_bfloat16, float>("bf16").note("block 128×256×64"),
  };
}
