// Step 20: an XOR in the address instead of a pad, fragments one unit ahead, C in 16-byte stores.
//
// The idea: chunk c (16 bytes) of row r lies at place c ^ (r % 8) of its row. The eight rows that
// an ldmatrix reads then lie in eight different groups of banks, as they did with a pad, and no
// byte is lost: three stages of 256×256×64 take 192 KB. The next 16 k lie two chunks on: since the
// swizzle is an XOR itself, an XOR of the address with 32 leads there, and nothing is recomputed.
//
// Against step 19: the swizzle. A second set of fragment registers: the fragments of the next unit
// (64×64×16 of the warp tile) are loaded before the products of this one. The copies of a slice
// spread over its units. And the store: the four lanes of a quad transpose their sums by shuffles,
// so that each stores 16 neighbouring bytes of C (store_warp_tile in mma_accumulators.h).
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle and
// …_tn_swizzle_x4; CUTLASS's permuted layouts.

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
constexpr int TWO_FIT_BYTES = 113 * 1024;         // shared memory of each of two blocks
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
  static constexpr int BLOCKS = BYTES <= TWO_FIT_BYTES ? 2 : 1;  // per multiprocessor
  // A unit: 16 of k, all rows and at most 64 columns of the warp tile.
  static constexpr int UNIT_MMAS_N = MMAS_N < 8 ? MMAS_N : 8, PARTS = MMAS_N / UNIT_MMAS_N;
  static constexpr int UNITS = BK / MMA_K * PARTS;
  static_assert(BM % WM == 0 && BN % WN == 0 && WN % 32 == 0, "whole tiles, whole quads");
};

template <class T, class AB, class Acc>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, STAGES = T::STAGES;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * WM, warp_col = warp % T::WARPS_N * T::WN;

  const int a_row = threadIdx.x / T::A::CHUNKS, a_chunk = threadIdx.x % T::A::CHUNKS;
  const int b_row = threadIdx.x / T::B::CHUNKS, b_chunk = threadIdx.x % T::B::CHUNKS;
  const AB* a = g.a + (block_row + a_row) * g.lda + a_chunk * CHUNK;
  const AB* b = g.b + block_col * (T::B_TRANSPOSED ? g.ldb : 1) + b_row * g.ldb + b_chunk * CHUNK;

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
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N] = {};

  int k_left = g.k;                                        // not on its way yet
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

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
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

  AB* const c = g.c + (block_row + warp_row) * g.ldc + block_col + warp_col;
  store_warp_tile<Acc>(c, g.ldc, acc, g.alpha, g.beta);
}

template <class T, class AB, class Acc>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<T, AB, Acc>;
  const int grid = g.m / T::BM * (g.n / T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES));
  kernel<<<grid, T::THREADS, T::BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

using Large = Tile<256, 256, 64, 128, 3>;  // 4×2 warps of 4×16 instructions
using Wide = Tile<128, 256, 64, 64, 4>;    // 2×4 warps of 4×8 instructions
using Wide3 = Tile<128, 256, 64, 64, 3>;   // as Wide, for 163 KB per block
using Square = Tile<128, 128, 64, 64, 3>;  // 2×2 warps of 4×8; two blocks fit on a multiprocessor
using Small = Tile<128, 64, 64, 32, 8>;    // 2×2 warps of 4×4

template <class T, class AB = half, class Acc = half>
Variant variant(const char* name) {
  Variant v(name, launch<T, AB, Acc>);
  v.tile(T::BM, T::BN, T::BK).shared_memory(T::BYTES).aligned_ld(CHUNK, CHUNK, CHUNK);
  v.flat_grid().in_bands().on_tensor_cores();
  return T::B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  const char* const nn = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle";
  const char* const tn = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle_x4";
  return {
      variant<Large>("swizzle").covers(nn),
      variant<Tile<256, 256, 64, 128, 3, true>>("tn_x4").covers(tn),
      variant<Wide>("wide").note("block 128×256×64"),
      variant<Wide3>("wide_144kb").note("block 128×256×64, 3 stages"),
      variant<Square>("square").note("block 128×128×64, two per multiprocessor"),
      variant<Small>("small").note("block 128×64×64"),
      variant<Wide, half, float>("fp32_accumulate").note("block 128×256×64"),
      variant<Wide, __nv_bfloat16, float>("bf16").note("block 128×256×64"),
      variant<Wide3, half, float>("fp32_144kb").note("block 128×256×64, 3 stages"),
      variant<Wide3, __nv_bfloat16, float>("bf16_144kb").note("block 128×256×64, 3 stages"),
      variant<Square, half, float>("fp32_96kb").note("block 128×128×64, 3 stages"),
      variant<Square, __nv_bfloat16, float>("bf16_96kb").note("block 128×128×64, 3 stages"),
      variant<Tile<128, 128, 64, 64, 2>, half, float>("k07").covers(
          "A100 notes k07_mma_permute without movmatrix"),
  };
}
