// Step 21, also: the persistent kernel for every m, n and k.
//
// Tiles may reach beyond the matrices here. Rows of A below the last one stand in as the last one
// again: their sums are not stored. Columns of B and the end of K are filled with zeros, by
// cp.async's source size. A copy whose 16 bytes lie outside altogether reads nothing, and names an
// address inside all the same. The last tiles of a row or column of C store chunk by chunk what
// lies inside. Each copy computes its row and its size. With the largest tile that costs 92 of the
// 598 instructions of the loop (SASS, sm_90): kernel.cu, with 506, is for sizes that its tiles
// divide.
//
// B may be stored N×K (`any_size_tn`); its rows are then treated like A's.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

namespace {

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

/// Bytes of a chunk that lie inside, where `left` elements do from its start on.
__device__ __forceinline__ int bytes_inside(int left) { return min(max(left, 0), CHUNK) * 2; }

/// store_warp_tile for a tile that begins at this row and column and may reach beyond C.
template <int M, int N>
__device__ __forceinline__ void store_inside(const Gemm<half>& g, int first_row, int first_col,
                                             const uint32_t (&acc)[M][N][2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < M * 2; ++i) {  // eight rows of C, one per quad
    const int row = first_row + i * 8 + lane / 4;
#pragma unroll
    for (int j = 0; j < N; j += 4) {  // 32 columns, eight per lane
      uint32_t v[4];
#pragma unroll
      for (int t = 0; t < 4; ++t) v[t] = pair_of(acc[i / 2][j + t], i % 2);
      transpose_in_quad(v, lane);
      const int col = first_col + j * MMA_N + lane % 4 * CHUNK;
      if (row >= g.m || col >= g.n) continue;
      half* const c = g.c + row * g.ldc + col;
      store_scaled(c, g.alpha, reinterpret_cast<const half*>(v), g.beta, g.n - col);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::THREADS) any_size_kernel(Gemm<half> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, STAGES = T::STAGES;
  using A = typename T::A;
  using B = typename T::B;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * WM, warp_col = warp % T::WARPS_N * T::WN;

  const int a_row = threadIdx.x / A::CHUNKS, a_chunk = threadIdx.x % A::CHUNKS;
  const int b_row = threadIdx.x / B::CHUNKS, b_chunk = threadIdx.x % B::CHUNKS;
  extern __shared__ __align__(256) char As[];  // STAGES times As and Bs; 256: XOR reaches bit 7
  char* const Bs = As + A::BYTES;
  char* const As_copy = As + A::offset(a_row, a_chunk);
  char* const Bs_copy = Bs + B::offset(b_row, b_chunk);
  // The row that a lane names to ldmatrix.x4. Of A: rows 0–15 at k 0–7, then at k 8–15. Of B: k
  // 0–15 of columns 0–7, then of columns 8–15; where B is stored transposed, columns 0–7 at k 0–7
  // and at k 8–15, then columns 8–15.
  const uint32_t a_addr = shared_address(As + A::offset(warp_row + lane % 16, lane / 16));
  const uint32_t b_addr = shared_address(
      Bs + (T::B_TRANSPOSED ? B::offset(warp_col + lane / 16 * 8 + lane % 8, lane / 8 % 2)
                            : B::offset(lane % 16, warp_col / CHUNK + lane / 16)));

  uint32_t a_frag[2][T::MMAS_M][4], b_frag[2][T::UNIT_MMAS_N / 2][4];  // of this unit and the next
  MmaAccumulators<half> acc[T::MMAS_M][T::MMAS_N];

  // The copies run ahead of the products, past the end of a tile into the block's next one. Of the
  // slice that is copied next: its first k; the tile's first row and column; where this thread's
  // chunk of the first row begins, and how many of its bytes lie inside.
  int tile_to_copy = blockIdx.x, k = g.k;
  int copy_row = 0, copy_col = 0, a_bytes = 0, b_bytes = 0;
  const half *a = g.a, *b = g.b;
  const auto next_slice = [&] {
    if (k + BK < g.k) {
      k += BK;
    } else if (tile_to_copy < tiles) {
      const int2 tile = tile_in_bands(tile_to_copy, tile_rows, tile_cols, band_rows);
      copy_row = tile.x * BM;
      copy_col = tile.y * BN;
      k = 0;
      tile_to_copy += gridDim.x;
    } else {  // nothing is left: the copies go on without reading
      a_bytes = b_bytes = 0;
      return;
    }
    const int a_k = k + a_chunk * CHUNK;
    a_bytes = bytes_inside(g.k - a_k);
    a = g.a + (a_bytes > 0 ? a_k : 0);
    if constexpr (T::B_TRANSPOSED) {
      const int b_k = k + b_chunk * CHUNK;
      b_bytes = bytes_inside(g.k - b_k);
      b = g.b + (b_bytes > 0 ? b_k : 0);
    } else {
      const int col = copy_col + b_chunk * CHUNK;
      b_bytes = bytes_inside(g.n - col);
      b = g.b + (b_bytes > 0 ? col : 0);
    }
  };
  const auto copy = [&](int stage, int part, int parts) {
#pragma unroll
    for (int i = part * A::COPIES / parts; i < (part + 1) * A::COPIES / parts; ++i) {
      const int row = min(copy_row + a_row + i * A::STEP, g.m - 1);
      cp_async_16(As_copy + stage + i * A::STEP * A::PITCH, a + row * g.lda, a_bytes);
    }
#pragma unroll
    for (int i = part * B::COPIES / parts; i < (part + 1) * B::COPIES / parts; ++i) {
      char* const to = Bs_copy + stage + i * B::STEP * B::PITCH;
      const int row = (T::B_TRANSPOSED ? copy_col : k) + b_row + i * B::STEP;
      const int rows = T::B_TRANSPOSED ? g.n : g.k;
      const int bytes = T::B_TRANSPOSED || row < rows ? b_bytes : 0;  // rows of k have to be zeros
      cp_async_16(to, b + min(row, rows - 1) * g.ldb, bytes);
    }
    if (part < parts - 1) return;
    cp_async_commit();
    next_slice();
  };
  const auto load_frags = [&](int unit, int stage) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
    const int k_bytes = k_step * 2 * CHUNK_BYTES;  // two chunks
#pragma unroll
    for (int i = 0; i < T::MMAS_M && part == 0; ++i)
      ldmatrix_x4(a_frag[k_step % 2][i], ((a_addr + stage) ^ k_bytes) + i * MMA_M * A::PITCH);
#pragma unroll
    for (int j = 0; j < T::UNIT_MMAS_N / 2; ++j) {
      const int col = (part * T::UNIT_MMAS_N + j * 2) * MMA_N, col_bytes = col * 2;
      if constexpr (T::B_TRANSPOSED)
        ldmatrix_x4(b_frag[unit % 2][j], ((b_addr + stage) ^ k_bytes) + col * B::PITCH);
      else
        ldmatrix_x4_trans(b_frag[unit % 2][j],
                          ((b_addr + stage) ^ col_bytes) + k_step * MMA_K * B::PITCH);
    }
  };
  const auto multiply = [&](int unit) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < T::UNIT_MMAS_N; ++turn) {
        const int j = i % 2 == 0 ? turn : T::UNIT_MMAS_N - 1 - turn;  // neighbours share a fragment
        mma_m16n8k16(acc[i][part * T::UNIT_MMAS_N + j], a_frag[k_step % 2][i],
                     b_frag[unit % 2][j / 2] + j % 2 * 2);
      }
  };

  next_slice();
  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it

  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    memset(acc, 0, sizeof(acc));
    load_frags(0, read);
    for (int slices = ceil_div(g.k, BK); slices > 0; --slices) {
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
    store_inside(g, tile.x * BM + warp_row, tile.y * BN + warp_col, acc);
  }
}

template <class T>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = any_size_kernel<T>;
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES));
  const int tiles = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  const int grid = min(tiles, resident_blocks(kernel, T::THREADS, T::BYTES));
  kernel<<<grid, T::THREADS, T::BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

using Large = Tile<256, 256, 64, 128, 3>;  // 4×2 warps of 4×16 instructions
using LargeTransposed = Tile<256, 256, 64, 128, 3, true>;
using SquareTransposed = Tile<128, 128, 64, 64, 3, true>;
using Wide = Tile<128, 256, 64, 64, 4>;    // 2×4 warps of 4×8 instructions
using Wide3 = Tile<128, 256, 64, 64, 3>;   // as Wide, for 163 KB per block
using Square = Tile<128, 128, 64, 64, 3>;  // 2×2 warps of 4×8; two blocks fit on a multiprocessor
using Small = Tile<128, 64, 64, 32, 8>;    // 2×2 warps of 4×4
using Small4 = Tile<128, 64, 64, 32, 4>;   // as Small, for 99 KB per block

void launch_by_size(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  // Block tiles with their speed, relative to the largest, where each has tiles enough.
  best_choice({choice<Large>(1.0, launch<Large>), choice<Wide>(0.95, launch<Wide>),
               choice<Wide3>(0.94, launch<Wide3>), choice<Square>(0.8, launch<Square>),
               choice<Small>(0.6, launch<Small>), choice<Small4>(0.59, launch<Small4>)},
              g.m, g.n, Edges::RAGGED)
      .launch(g, options, stream);
}

template <class T>
Variant variant(const char* name, Variant::Launcher<half, half, half> launcher = launch<T>) {
  Variant v(name, launcher);
  v.any_size(T::BM, T::BN, T::BK).shared_memory(T::BYTES).aligned_ld(CHUNK, CHUNK, CHUNK);
  v.flat_grid().in_bands().on_tensor_cores();
  return T::B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<Small4>("any_size", launch_by_size).note("the tile by the waves that it needs"),
      variant<LargeTransposed>("any_size_tn").note("block 256×256×64"),
      variant<SquareTransposed>("any_size_tn_96kb").note("block 128×128×64"),
  };
}

const Also added(variants);

}  // namespace
