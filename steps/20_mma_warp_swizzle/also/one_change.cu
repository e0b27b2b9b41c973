// Step 20, also: the way from step 19 to this step, one change at a time, in the same block tile
// and with the same bands. What does each change gain by itself, and what is lost where it alone is
// taken back?
//
// Against kernel.cu: a list of changes, of which each variant makes some.
//
//   SWIZZLED    an XOR in the address instead of a pad
//
//   AHEAD       fragments loaded one unit (64×64×16) before they are multiplied, also across the
//               barrier
//
//   SPREAD      the copies of a slice in four parts, one per 16 of k, instead of all before its
//               first product
//
//   SERPENTINE  every other row of instructions from right to left, so that neighbours share a
//               fragment of B
//
//   QUADS       C in 16-byte stores, after the lanes of a quad have transposed their sums
//
// With none of them the loop is step 19's (`none`); with all of them (`every`) it is kernel.cu's.

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
constexpr int STAGES = 3;                         // of the ring
constexpr int DEFAULT_BAND = 1024;                // rows of C in a band
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions of a warp
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int K_STEPS = BK / MMA_K;  // of a slice

/// Which of the changes a variant makes.
struct None {
  static constexpr bool SWIZZLED = false, AHEAD = false, SPREAD = false, SERPENTINE = false,
                        QUADS = false;
};
struct OnlySwizzled : None {
  static constexpr bool SWIZZLED = true;
};
struct OnlyAhead : None {
  static constexpr bool AHEAD = true;
};
struct OnlySpread : None {
  static constexpr bool SPREAD = true;
};
struct OnlySerpentine : None {
  static constexpr bool SERPENTINE = true;
};
struct OnlyQuads : None {
  static constexpr bool QUADS = true;
};
struct OnlyOrder : None {  // all that concerns the order of the loop
  static constexpr bool AHEAD = true, SPREAD = true, SERPENTINE = true;
};
struct All {
  static constexpr bool SWIZZLED = true, AHEAD = true, SPREAD = true, SERPENTINE = true,
                        QUADS = true;
};
struct NotSwizzled : All {
  static constexpr bool SWIZZLED = false;
};
struct NotAhead : All {
  static constexpr bool AHEAD = false;
};
struct NotSpread : All {
  static constexpr bool SPREAD = false;
};
struct NotSerpentine : All {
  static constexpr bool SERPENTINE = false;
};
struct NotQuads : All {
  static constexpr bool QUADS = false;
};
struct NotOrder : All {
  static constexpr bool AHEAD = false, SPREAD = false, SERPENTINE = false;
};

/// A tile in shared memory, ROWS rows of COLS elements, and who copies it.
template <int ROWS, int COLS, bool SWIZZLED>
struct SharedTile {
  static constexpr int PAD = SWIZZLED ? 0 : CHUNK;                      // elements added to a row
  static constexpr int PITCH = (COLS + PAD) * 2, BYTES = ROWS * PITCH;  // of a row, of the tile
  static constexpr int CHUNKS = COLS / CHUNK, STEP = THREADS / CHUNKS;  // per row; rows at a time
  static constexpr int COPIES = ROWS / STEP;                            // per thread
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  static_assert(CHUNKS % 8 == 0 && STEP % 8 == 0, "a thread's rows all have the same swizzle");

  /// Bytes from the start of the tile to a chunk of a row.
  static __device__ int offset(int row, int chunk) {
    return row * PITCH + (SWIZZLED ? chunk ^ (row % 8) : chunk) * CHUNK_BYTES;
  }
  /// The address `bytes` further within a row: an XOR where the chunks of a row are swizzled.
  static __device__ uint32_t further(uint32_t address, int bytes) {
    return SWIZZLED ? address ^ bytes : address + bytes;
  }
  /// Starts a part of this thread's copies, STEP rows apart.
  static __device__ void copy(char* to, const half* from, int ld, int part, int parts) {
#pragma unroll
    for (int i = part * COPIES / parts; i < (part + 1) * COPIES / parts; ++i)
      cp_async_16(to + i * STEP * PITCH, from + i * STEP * ld);
  }
};

template <class Change>
struct Slice {
  using A = SharedTile<BM, BK, Change::SWIZZLED>;  // [row][k]
  using B = SharedTile<BK, BN, Change::SWIZZLED>;  // [k][col]
  static constexpr int STAGE_BYTES = A::BYTES + B::BYTES, BYTES = STAGES * STAGE_BYTES;
  // A unit: 16 of k and all of the warp tile; loaded ahead, half of its columns: the registers hold
  // two units.
  static constexpr int SETS = Change::AHEAD ? 2 : 1, PARTS = SETS, UNIT_MMAS_N = MMAS_N / PARTS;
  static constexpr int UNITS = K_STEPS * PARTS;
};

template <class Change>
__global__ void __launch_bounds__(THREADS, 1) one_change_kernel(Gemm<half> g, int band_rows) {
  using T = Slice<Change>;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int a_row = threadIdx.x / T::A::CHUNKS, a_chunk = threadIdx.x % T::A::CHUNKS;
  const int b_row = threadIdx.x / T::B::CHUNKS, b_chunk = threadIdx.x % T::B::CHUNKS;
  const half* a = g.a + (block_row + a_row) * g.lda + a_chunk * CHUNK;
  const half* b = g.b + block_col + b_row * g.ldb + b_chunk * CHUNK;

  extern __shared__ __align__(256) char As[];  // STAGES times As and Bs; 256: XOR reaches bit 7
  char* const Bs = As + T::A::BYTES;
  char* const As_copy = As + T::A::offset(a_row, a_chunk);
  char* const Bs_copy = Bs + T::B::offset(b_row, b_chunk);
  // The row that a lane names to ldmatrix.x4. Of A: rows 0–15 at k 0–7, then at k 8–15. Of B: k
  // 0–15 of columns 0–7, then of columns 8–15.
  const uint32_t a_addr = shared_address(As + T::A::offset(warp_row + lane % 16, lane / 16));
  const uint32_t b_addr =
      shared_address(Bs + T::B::offset(lane % 16, warp_col / CHUNK + lane / 16));

  uint32_t a_frag[T::SETS][MMAS_M][4], b_frag[T::SETS][T::UNIT_MMAS_N / 2][4];
  MmaAccumulators<half> acc[MMAS_M][MMAS_N] = {};

  int k_left = g.k;                                        // not on its way yet
  const auto copy = [&](int stage, int part, int parts) {  // of the next slice
    if (k_left > 0) {
      T::A::copy(As_copy + stage, a, g.lda, part, parts);
      T::B::copy(Bs_copy + stage, b, g.ldb, part, parts);
    }
    if (part < parts - 1) return;
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
    a += BK;
    b += BK * g.ldb;
    k_left -= BK;
  };
  const auto load_frags = [&](int unit, int stage) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
    const int k_bytes = k_step * 2 * CHUNK_BYTES;  // two chunks
#pragma unroll
    for (int i = 0; i < MMAS_M && part == 0; ++i)
      ldmatrix_x4(a_frag[k_step % T::SETS][i],
                  T::A::further(a_addr + stage, k_bytes) + i * MMA_M * T::A::PITCH);
#pragma unroll
    for (int j = 0; j < T::UNIT_MMAS_N / 2; ++j) {
      const int col_bytes = (part * T::UNIT_MMAS_N + j * 2) * MMA_N * 2;
      ldmatrix_x4_trans(b_frag[unit % T::SETS][j],
                        T::B::further(b_addr + stage, col_bytes) + k_step * MMA_K * T::B::PITCH);
    }
  };
  const auto multiply = [&](int unit) {
    const int k_step = unit / T::PARTS, part = unit % T::PARTS;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int turn = 0; turn < T::UNIT_MMAS_N; ++turn) {
        const int j = Change::SERPENTINE && i % 2 == 1 ? T::UNIT_MMAS_N - 1 - turn : turn;
        mma_m16n8k16(acc[i][part * T::UNIT_MMAS_N + j], a_frag[k_step % T::SETS][i],
                     b_frag[unit % T::SETS][j / 2] + j % 2 * 2);
      }
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES, 0, 1);

  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
  const auto next = [&](int stage) {
    return stage == (STAGES - 1) * T::STAGE_BYTES ? 0 : stage + T::STAGE_BYTES;
  };
  if constexpr (Change::AHEAD) {
    cp_async_wait<STAGES - 2>();
    __syncthreads();  // the first slice is complete before anyone reads it
    load_frags(0, 0);
    for (int slices = g.k / BK; slices > 0; --slices) {
#pragma unroll
      for (int unit = 0; unit < T::UNITS; ++unit) {
        if (unit == T::UNITS - 1) {
          cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
          __syncthreads();  // so have everyone's, and everyone has read the last of this slice
          write = read;
          read = next(read);
        }
        if (unit < T::UNITS - 1 || slices > 1) load_frags((unit + 1) % T::UNITS, read);
        if (Change::SPREAD && unit % T::PARTS == 0) copy(write, unit / T::PARTS, K_STEPS);
        if (!Change::SPREAD && unit == 0) copy(write, 0, 1);
        multiply(unit);
      }
    }
  } else {
#pragma unroll 1
    for (int slices = g.k / BK; slices > 0; --slices) {
      cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
      __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
#pragma unroll
      for (int unit = 0; unit < T::UNITS; ++unit) {
        if (!Change::SPREAD && unit == 0) copy(write, 0, 1);
        load_frags(unit, read);
        if (Change::SPREAD) copy(write, unit, T::UNITS);
        multiply(unit);
      }
      write = read;
      read = next(read);
    }
  }

  half* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  if constexpr (Change::QUADS) {
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

template <class Change>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int bytes = Slice<Change>::BYTES;
  const auto kernel = one_change_kernel<Change>;
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, THREADS, bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class Change>
Variant variant(const char* name) {
  Variant v(name, launch<Change>);
  v.tile(BM, BN, BK)
      .shared_memory(Slice<Change>::BYTES)
      .aligned_ld(CHUNK, CHUNK, Change::QUADS ? CHUNK : 2);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<All>("every").note("all of the changes: the same machine code as the default"),
      variant<None>("none").note("none of the changes: step 19"),
      variant<OnlySwizzled>("only_xor").note("step 19 and the XOR"),
      variant<OnlyAhead>("only_ahead").note("step 19, fragments one unit ahead"),
      variant<OnlySpread>("only_spread").note("step 19, copies spread"),
      variant<OnlySerpentine>("only_serpentine").note("step 19, neighbours share a fragment"),
      variant<OnlyOrder>("only_order").note("step 19, ahead, spread and serpentine"),
      variant<OnlyQuads>("only_store").note("step 19, 16-byte stores"),
      variant<NotSwizzled>("no_xor").note("without the XOR: a pad"),
      variant<NotAhead>("no_ahead").note("without fragments ahead"),
      variant<NotSpread>("no_spread").note("without spreading the copies"),
      variant<NotSerpentine>("no_serpentine").note("without sharing fragments"),
      variant<NotOrder>("no_order").note("in step 19's order"),
      variant<NotQuads>("no_store").note("without 16-byte stores"),
  };
}

const Also added(variants);

}  // namespace
