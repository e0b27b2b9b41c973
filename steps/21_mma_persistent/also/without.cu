// Step 21, also: the 256×256 kernel with one piece of its work left out, to show what that piece
// costs.
//
// The results are wrong on purpose: such a variant is timed and never verified. The kernel is
// kernel.cu's, for its largest tile and FP16; `Parts` says what it does. `complete` does
// everything. `branchy_store` does, too, but has one store for every beta: the compiled kernel
// branches on beta eight times per tile. That was the store before kernel.cu gave beta = 0 its own.
//
// How to read the figures: docs/bottlenecks.md.

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
constexpr int CHUNK = 8, CHUNK_BYTES = 16;        // what a copy moves; a row of an 8×8 matrix
constexpr int BM = 256, BN = 256, BK = 64;        // block tile
constexpr int WM = 64, WN = 128;                  // warp tile
constexpr int STAGES = 3;
constexpr int DEFAULT_BAND = 1024;  // rows of C in a band
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions of a warp
// A unit: 16 of k, all rows and 64 columns of the warp tile.
constexpr int UNIT_MMAS_N = 8, PARTS = MMAS_N / UNIT_MMAS_N, UNITS = BK / MMA_K * PARTS;

/// What a kernel does of its work.
struct Complete {
  static constexpr bool COPY_A = true, COPY_B = true, LOAD_AND_MMA = true, STORE = true;
  static constexpr bool STORE_FOR_BETA_0 = true;
};
struct NoCopyA : Complete {
  static constexpr bool COPY_A = false;
};
struct NoCopyB : Complete {
  static constexpr bool COPY_B = false;
};
struct NoCopies : Complete {
  static constexpr bool COPY_A = false, COPY_B = false;
};
struct NoLoadAndMma : Complete {
  static constexpr bool LOAD_AND_MMA = false;
};
struct NoStore : Complete {
  static constexpr bool STORE = false;
};
struct BranchyStore : Complete {
  static constexpr bool STORE_FOR_BETA_0 = false;
};

/// A tile in shared memory, ROWS rows of COLS elements, and who copies it.
template <int ROWS, int COLS>
struct SharedTile {
  static constexpr int PITCH = COLS * 2, BYTES = ROWS * PITCH;          // of a row, of the tile
  static constexpr int CHUNKS = COLS / CHUNK, STEP = THREADS / CHUNKS;  // per row; rows at a time
  static constexpr int COPIES = ROWS / STEP;                            // per thread

  /// Bytes from the start of the tile to a chunk of a row.
  static __device__ int offset(int row, int chunk) {
    return row * PITCH + (chunk ^ (row % 8)) * CHUNK_BYTES;
  }
  /// Starts a part of this thread's copies, STEP rows apart.
  static __device__ void copy(char* to, const half* from, int ld, int part, int parts) {
#pragma unroll
    for (int i = part * COPIES / parts; i < (part + 1) * COPIES / parts; ++i)
      cp_async_16(to + i * STEP * PITCH, from + i * STEP * ld);
  }
};
using A = SharedTile<BM, BK>;  // [row][k]
using B = SharedTile<BK, BN>;  // [k][col]
constexpr int STAGE_BYTES = A::BYTES + B::BYTES, SMEM_BYTES = STAGES * STAGE_BYTES;

template <class Parts>
__global__ void __launch_bounds__(THREADS) partial_kernel(Gemm<half> g, int band_rows) {
  const int tile_rows = g.m / BM, tile_cols = g.n / BN, tiles = tile_rows * tile_cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int a_row = threadIdx.x / A::CHUNKS, a_chunk = threadIdx.x % A::CHUNKS;
  const int b_row = threadIdx.x / B::CHUNKS, b_chunk = threadIdx.x % B::CHUNKS;
  extern __shared__ __align__(256) char As[];  // STAGES times As and Bs; 256: XOR reaches bit 7
  char* const Bs = As + A::BYTES;
  char* const As_copy = As + A::offset(a_row, a_chunk);
  char* const Bs_copy = Bs + B::offset(b_row, b_chunk);
  const uint32_t a_addr = shared_address(As + A::offset(warp_row + lane % 16, lane / 16));
  const uint32_t b_addr = shared_address(Bs + B::offset(lane % 16, warp_col / CHUNK + lane / 16));

  uint32_t a_frag[2][MMAS_M][4], b_frag[2][UNIT_MMAS_N / 2][4];  // of this unit and the next
  MmaAccumulators<half> acc[MMAS_M][MMAS_N];

  // The copies run ahead of the products, past the end of a tile into the block's next one.
  const half *a = g.a, *b = g.b;
  int tile_to_copy = blockIdx.x, k_left = 0;  // k_left: not on its way yet
  const auto next_tile = [&] {
    if (tile_to_copy >= tiles) return;
    const int2 tile = tile_in_bands(tile_to_copy, tile_rows, tile_cols, band_rows);
    a = g.a + (tile.x * BM + a_row) * g.lda + a_chunk * CHUNK;
    b = g.b + tile.y * BN + b_row * g.ldb + b_chunk * CHUNK;
    k_left = g.k;
    tile_to_copy += gridDim.x;
  };
  const auto copy = [&](int stage, int part, int parts) {  // of the next slice
    if (k_left > 0) {
      if constexpr (Parts::COPY_A) A::copy(As_copy + stage, a, g.lda, part, parts);
      if constexpr (Parts::COPY_B) B::copy(Bs_copy + stage, b, g.ldb, part, parts);
    }
    if (part < parts - 1) return;
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
    a += BK;
    b += BK * g.ldb;
    k_left -= BK;
    if (k_left <= 0) next_tile();
  };
  const auto load_frags = [&](int unit, int stage) {
    if constexpr (!Parts::LOAD_AND_MMA) return;
    const int k_step = unit / PARTS, part = unit % PARTS;
    const int k_bytes = k_step * 2 * CHUNK_BYTES;  // two chunks
#pragma unroll
    for (int i = 0; i < MMAS_M && part == 0; ++i)
      ldmatrix_x4(a_frag[k_step % 2][i], ((a_addr + stage) ^ k_bytes) + i * MMA_M * A::PITCH);
#pragma unroll
    for (int j = 0; j < UNIT_MMAS_N / 2; ++j) {
      const int col_bytes = (part * UNIT_MMAS_N + j * 2) * MMA_N * 2;
      ldmatrix_x4_trans(b_frag[unit % 2][j],
                        ((b_addr + stage) ^ col_bytes) + k_step * MMA_K * B::PITCH);
    }
  };
  const auto multiply = [&](int unit) {
    if constexpr (!Parts::LOAD_AND_MMA) return;
    const int k_step = unit / PARTS, part = unit % PARTS;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < UNIT_MMAS_N; ++turn) {
        const int j = i % 2 == 0 ? turn : UNIT_MMAS_N - 1 - turn;  // neighbours share a fragment
        mma_m16n8k16(acc[i][part * UNIT_MMAS_N + j], a_frag[k_step % 2][i],
                     b_frag[unit % 2][j / 2] + j % 2 * 2);
      }
  };

  next_tile();
  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * STAGE_BYTES, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it

  int read = 0, write = (STAGES - 1) * STAGE_BYTES;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    memset(acc, 0, sizeof(acc));
    load_frags(0, read);
    for (int slices = g.k / BK; slices > 0; --slices) {
#pragma unroll
      for (int unit = 0; unit < UNITS; ++unit) {
        if (unit == UNITS - 1) {
          cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
          __syncthreads();  // so have everyone's, and everyone has read the last of this slice
          write = read;
          read = read == (STAGES - 1) * STAGE_BYTES ? 0 : read + STAGE_BYTES;
        }
        if (unit < UNITS - 1 || slices > 1) load_frags((unit + 1) % UNITS, read);
        if (unit % 2 == 0) copy(write, unit / 2, UNITS / 2);
        multiply(unit);
      }
    }
    // Not known to be false when the kernel is compiled: the sums have to be computed.
    if (!Parts::STORE && g.m > 0) continue;
    const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
    half* const c = g.c + (tile.x * BM + warp_row) * g.ldc + tile.y * BN + warp_col;
    if (Parts::STORE_FOR_BETA_0 && g.beta == 0.0f)
      store_warp_tile<half>(c, g.ldc, acc, g.alpha, 0.0f);
    else
      store_warp_tile<half>(c, g.ldc, acc, g.alpha, g.beta);
  }
}

template <class Parts>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = partial_kernel<Parts>;
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid = min(g.m / BM * (g.n / BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class Parts>
Variant variant(const char* name) {
  Variant v(name, launch<Parts>);
  v.tile(BM, BN, BK).shared_memory(SMEM_BYTES).aligned_ld(CHUNK, CHUNK, CHUNK);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Complete>("complete").note("`large` as it is compiled here"),
      variant<BranchyStore>("branchy_store").note("`large` with one store for every beta"),
      variant<NoCopyA>("no_copy_a").leaves_out("the copy of A"),
      variant<NoCopyB>("no_copy_b").leaves_out("the copy of B"),
      variant<NoCopies>("no_copies").leaves_out("both copies"),
      variant<NoLoadAndMma>("no_load_and_mma").leaves_out("fragment loads and arithmetic"),
      variant<NoStore>("no_store").leaves_out("the store of C"),
  };
}

const Also added(variants);

}  // namespace
