// Step 20: mma.sync fed without a bank conflict, a fragment ahead, and C stored in whole sectors.
//
// The idea: an XOR in the address instead of a pad. Chunk c (16 bytes) of row r lies in column c ^
// (r % 8) of its row, so the eight rows of an ldmatrix meet eight different groups of banks, the
// copies' stores stay whole rows, and no byte is lost: three stages of 256×256×64 fill 192 KB. A
// warp owns 64×128 of C and holds the fragments of two units of 64×64×16, one being multiplied, one
// on its way. At the end each quad of lanes transposes four pairs of registers by shuffles, so that
// a lane stores 16 bytes of C and a quad 64, without shared memory or a barrier. Blocks are
// persistent: as many as the SMs hold, each computes one tile after the other, and the copies run
// ahead into the next tile while C of the last one is stored: the pipeline fills once, not once a
// tile.
//
// Against step 19: the swizzle, fragments a unit ahead, the collective store, persistent blocks,
// any size: rows outside stand in for the last one inside, columns and the end of K are zeros by
// cp.async's source size. Whole tiles get a kernel without masks: at the power limit every
// instruction counts.
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem and its sisters; the A100
// notes' k07_mma_permute.

#include <type_traits>

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/leave_out.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/ptx/movmatrix.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;
constexpr int CHUNK = 8;  // elements in 16 bytes: what a copy moves, and a row of an ldmatrix
constexpr int DEFAULT_BAND =
    1024;  // rows of C that neighbouring blocks stay within, for the L2 cache

// How a variant differs from the step at its best.
constexpr unsigned TN = 1, PADDED = 2, B_X2 = 8, MOVMATRIX = 16, DIRECT_STORE = 32;

/// Tile sizes and what follows from them. BLOCKS: blocks that an SM shall hold at once. HOW: the
/// bits above.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_, int BLOCKS_, unsigned HOW_ = 0>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_,
                       BLOCKS = BLOCKS_;
  static constexpr unsigned HOW = HOW_;
  static constexpr int PART =
      WN < 64 ? WN : 64;  // columns of the warp tile that are multiplied at a time
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  static constexpr int B_ROWS = HOW & TN ? BN : BK,
                       B_COLS = HOW & TN ? BK : BN;  // Bs as it lies: [col][k] or [k][col]
  static constexpr int PAD = HOW & PADDED ? CHUNK : 0;
  static constexpr int A_PITCH = (BK + PAD) * 2,
                       B_PITCH = (B_COLS + PAD) * 2;  // bytes from row to row
  static constexpr int A_BYTES = BM * A_PITCH, STAGE_BYTES = A_BYTES + B_ROWS * B_PITCH;
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
  static constexpr int A_STEP = THREADS * CHUNK / BK,
                       A_COPIES = BM / A_STEP;  // rows of a tile copied at a time
  static constexpr int B_STEP = THREADS * CHUNK / B_COLS, B_COPIES = B_ROWS / B_STEP;
  static_assert(A_COPIES * A_STEP == BM && B_COPIES * B_STEP == B_ROWS,
                "every thread copies as much");
  static_assert(A_STEP % 8 == 0 && B_STEP % 8 == 0,
                "the swizzle is the same in all rows that a thread copies");
  static_assert(BK % 32 == 0 && WN % 32 == 0, "whole swizzles; whole quads of tiles in the store");

  /// Bytes from the start of a tile with rows of COLS elements to chunk `chunk` of row `row`.
  template <int COLS>
  __device__ static int offset(int row, int chunk) {
    const int column =
        HOW & PADDED ? chunk
                     : chunk ^ (COLS == 32 ? row / 2 % 4 : row % 8);  // two rows of 64 bytes: 128
    return row * (COLS + PAD) * 2 + column * 16;
  }
};

/// v[t] of lane s of each quad changes places with v[s] of lane t.
template <typename Register>
__device__ __forceinline__ void transpose_in_quad(Register (&v)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2)
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      if (t & bit) continue;
      const bool upper = lane & bit;
      const Register got = __shfl_xor_sync(0xffffffff, upper ? v[t] : v[t | bit], bit);
      v[t] = upper ? got : v[t];
      v[t | bit] = upper ? v[t | bit] : got;
    }
}

/// EDGES: rows, columns or a slice of K may lie outside; without it every tile is whole, and a copy
/// needs no mask.
template <class T, typename AB, typename Acc, bool EDGES, unsigned SKIP>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, WM = T::WM, WN = T::WN, STAGES = T::STAGES;
  constexpr unsigned HOW = T::HOW;
  constexpr int PART = T::PART, PARTS = WN / PART,
                UNITS = BK / MMA_K * PARTS;  // a unit: WM×PART×16
  constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N, PART_TILES = PART / MMA_N;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN),
            tiles = tile_rows * tile_cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * WM, warp_col = warp % T::WARPS_N * WN;

  // Copies: a thread's chunk is the same in all of its rows.
  const int a_row = threadIdx.x / (BK / CHUNK), a_col = threadIdx.x % (BK / CHUNK) * CHUNK;
  const int b_row = threadIdx.x / (T::B_COLS / CHUNK),
            b_col = threadIdx.x % (T::B_COLS / CHUNK) * CHUNK;
  extern __shared__ __align__(
      128) char smem[];  // STAGES x (As[BM][BK], Bs[BK][BN] or, TN, Bs[BN][BK])
  const uint32_t shared = shared_address(smem);
  char* const a_to = smem + T::template offset<BK>(a_row, a_col / CHUNK);
  char* const b_to = smem + T::A_BYTES + T::template offset<T::B_COLS>(b_row, b_col / CHUNK);
  // What lane l gives to ldmatrix: rows l % 16 in the left or right chunk; TN: rows of B in the
  // order of b's registers.
  const uint32_t a_lane = shared + T::template offset<BK>(warp_row + lane % 16, lane / 16);
  const uint32_t b_lane =
      shared + T::A_BYTES +
      (HOW & TN
           ? T::template offset<BK>(warp_col + (HOW & B_X2 ? 0 : lane / 16 * 8) + lane % 8,
                                    lane / 8 % 2)
           : T::template offset<BN>(lane % 16, warp_col / CHUNK + (HOW & B_X2 ? 0 : lane / 16)));

  using Register = std::conditional_t<std::is_same_v<Acc, float>, float, uint32_t>;
  constexpr int REGS = std::is_same_v<Acc, float> ? 4 : 2,
                PAIR = REGS / 2;  // of an accumulator; of two neighbours in it
  Register acc[TILES_M][TILES_N][REGS];
  uint32_t a_frag[2][TILES_M][4],
      b_frag[2][PART_TILES / 2][4];  // this unit's and the next; b: two tiles in four registers

  // The copies run ahead of the arithmetic, past the end of a tile into the block's next one.
  int copy_tile = blockIdx.x, copy_row, copy_col;
  int k_left = 0;    // from the slice that is copied next
  int b_inside = 0;  // NN: bytes of the thread's chunk that lie inside B
  const AB *a = g.a, *b = g.b;
  const auto next_tile = [&] {
    if (copy_tile >= tiles) return;
    const int2 tile = tile_in_bands(copy_tile, tile_rows, tile_cols, band_rows);
    copy_row = tile.x * BM;
    copy_col = tile.y * BN;
    copy_tile += gridDim.x;
    b_inside = min(max(g.n - copy_col - b_col, 0), CHUNK) * 2;
    a = g.a + (EDGES ? 0 : (copy_row + a_row) * g.lda) + a_col;
    b = g.b + (HOW & TN ? (EDGES ? 0 : (copy_col + b_row) * g.ldb) : b_row * g.ldb + copy_col) +
        b_col;
    k_left = g.k;
  };
  const auto copy = [&](int stage, int part, int parts) {
    const int a_inside = min(max(k_left - a_col, 0), CHUNK) * 2,
              bt_inside = min(max(k_left - b_col, 0), CHUNK) * 2;
#pragma unroll
    for (int i = part * T::A_COPIES / parts;
         i < (part + 1) * T::A_COPIES / parts && !(SKIP & SKIP_COPY_A); ++i) {
      char* const to = a_to + stage + i * T::A_STEP * T::A_PITCH;
      if constexpr (EDGES)
        cp_async_16(to, a + min(copy_row + a_row + i * T::A_STEP, g.m - 1) * g.lda, a_inside);
      else if (k_left > 0)
        cp_async_16(to, a + i * T::A_STEP * g.lda);
    }
#pragma unroll
    for (int i = part * T::B_COPIES / parts;
         i < (part + 1) * T::B_COPIES / parts && !(SKIP & SKIP_COPY_B); ++i) {
      char* const to = b_to + stage + i * T::B_STEP * T::B_PITCH;
      if constexpr (EDGES && HOW & TN)
        cp_async_16(to, b + min(copy_col + b_row + i * T::B_STEP, g.n - 1) * g.ldb, bt_inside);
      else if constexpr (EDGES)
        cp_async_16(to, b + i * T::B_STEP * g.ldb, b_row + i * T::B_STEP < k_left ? b_inside : 0);
      else if (k_left > 0)
        cp_async_16(to, b + i * T::B_STEP * g.ldb);
    }
    if (part < parts - 1) return;
    cp_async_commit();
    a += BK;
    b += HOW & TN ? BK : BK * g.ldb;
    k_left -= BK;
    if (k_left <= 0) next_tile();
  };
  const auto load_frags = [&](int unit, int stage) {
    const int step = unit / PARTS, part = unit % PARTS;
    // A step is two chunks to the right: an XOR that the swizzle's own bits let through, or what a
    // padded row adds.
    const auto moved = [](uint32_t at, int by) { return HOW & PADDED ? at + by : at ^ by; };
#pragma unroll
    for (int i = 0; i < TILES_M && part == 0; ++i)
      ldmatrix_x4(a_frag[step % 2][i], moved(a_lane + stage, step * 32) + i * MMA_M * T::A_PITCH);
#pragma unroll
    for (int j = 0; j < PART_TILES / 2; ++j) {
      uint32_t (&into)[4] = b_frag[unit % 2][j];
      const int pair = part * (PART_TILES / 2) + j;  // of mma tiles: 16 columns
      if constexpr (HOW & TN) {
        const uint32_t at = moved(b_lane + stage, step * 32) + pair * 2 * MMA_N * T::B_PITCH;
        if constexpr (HOW & B_X2) {
          ldmatrix_x2(reinterpret_cast<uint32_t (&)[2]>(into[0]), at);
          ldmatrix_x2(reinterpret_cast<uint32_t (&)[2]>(into[2]), at + MMA_N * T::B_PITCH);
        } else {
          ldmatrix_x4(into, at);
        }
      } else {
        const uint32_t at = moved(b_lane + stage, pair * 32) + step * MMA_K * T::B_PITCH;
        if constexpr (HOW & MOVMATRIX) {
          ldmatrix_x4(into, at);
          for (int r = 0; r < 4 && !(SKIP & SKIP_MOVMATRIX); ++r)
            into[r] = movmatrix_trans(into[r]);
        } else if constexpr (HOW & B_X2) {
          ldmatrix_x2_trans(reinterpret_cast<uint32_t (&)[2]>(into[0]), at);
          ldmatrix_x2_trans(reinterpret_cast<uint32_t (&)[2]>(into[2]), moved(at, 16));
        } else {
          ldmatrix_x4_trans(into, at);
        }
      }
    }
  };
  const auto multiply = [&](int unit) {
    const int step = unit / PARTS, part = unit % PARTS;
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
      for (int turn = 0; turn < PART_TILES; ++turn) {
        const int j =
            i % 2 == 0 ? turn : PART_TILES - 1 - turn;  // a serpentine: neighbours share a fragment
        mma_m16n8k16<AB>(acc[i][part * PART_TILES + j], a_frag[step % 2][i],
                         &b_frag[unit % 2][j / 2][j % 2 * 2]);
      }
  };

  // C of the tile whose sums are ready; beta is g.beta, or 0 where the compiler shall know it.
  const auto store = [&](int block_row, int block_col, float beta) {
#pragma unroll
    for (int i = 0; i < TILES_M * 2; ++i) {  // eight rows of C, one a quad
      const int row = block_row + warp_row + i * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < TILES_N; j += 4) {  // four mma tiles: 32 columns, eight a lane
        Register v[PAIR][4];
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int r = 0; r < PAIR; ++r) v[r][t] = acc[i / 2][j + t][i % 2 * PAIR + r];
        if constexpr (HOW & DIRECT_STORE) {
#pragma unroll
          for (int t = 0; t < 4; ++t) {
            const int col = block_col + warp_col + (j + t) * MMA_N + lane % 4 * 2;
            Register pair[PAIR];
            for (int r = 0; r < PAIR; ++r) pair[r] = v[r][t];
            const Acc* const sums = reinterpret_cast<const Acc*>(pair);
            for (int q = 0; q < 2; ++q)
              if (!EDGES || (row < g.m && col + q < g.n))
                g.c[row * g.ldc + col + q] =
                    scaled(g.alpha, sums[q], beta, &g.c[row * g.ldc + col + q]);
          }
        } else {
          Register mine[4][PAIR];  // eight neighbours of one row
#pragma unroll
          for (int r = 0; r < PAIR; ++r) {
            transpose_in_quad(v[r], lane);
#pragma unroll
            for (int t = 0; t < 4; ++t) mine[t][r] = v[r][t];
          }
          const int col = block_col + warp_col + j * MMA_N + lane % 4 * CHUNK;
          AB* const c = g.c + row * g.ldc + col;
          const Acc* const sums = reinterpret_cast<const Acc*>(mine);
          if constexpr (!EDGES)
            store_scaled(c, g.alpha, sums, beta);
          else if (row < g.m && col < g.n)
            store_scaled(c, g.alpha, sums, beta, g.n - col);
        }
      }
    }
  };

  next_tile();
  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();  // the first slice is complete before anyone reads it
  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
#pragma unroll
    for (auto& row : acc)
#pragma unroll
      for (auto& sums : row)
#pragma unroll
        for (auto& sum : sums) sum = 0;
    if constexpr (!(SKIP & SKIP_LOAD_AND_MMA)) load_frags(0, read);
    for (int slices = ceil_div(g.k, BK); slices > 0; --slices) {
#pragma unroll
      for (int unit = 0; unit < UNITS; ++unit) {
        if (unit == UNITS - 1) {
          cp_async_wait<STAGES - 2>();
          __syncthreads();  // the next slice is complete, and everyone has read the last of this
                            // one
          write = read;
          read = read == (STAGES - 1) * T::STAGE_BYTES ? 0 : read + T::STAGE_BYTES;
        }
        if constexpr (!(SKIP & SKIP_LOAD_AND_MMA))
          if (unit < UNITS - 1 || slices > 1) load_frags((unit + 1) % UNITS, read);
        if (unit % 2 == 0)
          copy(write, unit / 2, UNITS / 2);  // few groups: ptxas puts three dead loads before each
        if constexpr (!(SKIP & SKIP_LOAD_AND_MMA)) multiply(unit);
      }
    }
    if constexpr (SKIP & SKIP_STORE_C) {
      if (g.alpha != -1.0f) continue;  // never so when timed: keeps the sums alive
    }
    const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
    if (!EDGES && g.beta == 0.0f)
      store(tile.x * BM, tile.y * BN, 0.0f);  // without a branch before each store
    else
      store(tile.x * BM, tile.y * BN, g.beta);
  }
}

template <class T, typename AB, typename Acc, unsigned SKIP = 0>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const bool whole = g.m % T::BM == 0 && g.n % T::BN == 0 && g.k % T::BK == 0;
  const auto kernel =
      whole ? gemm_kernel<T, AB, Acc, false, SKIP> : gemm_kernel<T, AB, Acc, true, SKIP>;
  const int grid =
      min(ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN), multiprocessors_here() * T::BLOCKS);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  kernel<<<grid, T::THREADS, T::SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, typename AB = half, typename Acc = half, unsigned SKIP = 0>
Variant variant(const char* name) {
  Variant v(name, launch<T, AB, Acc, SKIP>);
  v.any_size(T::BM, T::BN, T::BK).aligned_ld(8, 8, 8).flat_grid().on_tensor_cores();
  return T::HOW & TN ? v.tn() : v;
}

using Best = Tile<256, 256, 64, 64, 128, 3, 1>;
using BestTN = Tile<256, 256, 64, 64, 128, 3, 1, TN>;
using Wide =
    Tile<128, 256, 64, 64, 64, 4, 1>;  // FP32 sums are twice as many registers: half the warp tile
using Square = Tile<128, 128, 64, 64, 64, 3, 2>;
using Small = Tile<128, 64, 64, 64, 32, 8, 1>;
template <unsigned HOW>
using Published = Tile<128, 128, 32, 64, 32, 3, 2, HOW>;  // LeetCUDA's mma2x4_warp4x4x2
template <unsigned HOW>
using Permuted = Tile<128, 128, 64, 64, 64, 2, 2, HOW>;  // the A100 notes' block tile

/// The largest tile that the waves do not punish: a tile of half the area has to fill the chip that
/// much better.
void launch_by_size(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const struct {
    int bm, bn;
    double speed;  // of the tile itself, against the largest
    void (*launch)(const Gemm<half>&, const LaunchOptions&, cudaStream_t);
  } tiles[] = {
      {Best::BM, Best::BN, 1.0, launch<Best, half, half>},
      {Wide::BM, Wide::BN, 0.95, launch<Wide, half, half>},
      {Square::BM, Square::BN, 0.8, launch<Square, half, half>},
      {Small::BM, Small::BN, 0.6, launch<Small, half, half>},
  };
  const int multiprocessors = multiprocessors_here();
  const auto score = [&](const auto& t) {
    return t.speed * wave_efficiency(g.m, g.n, t.bm, t.bn, multiprocessors);
  };
  const auto* best = &tiles[0];
  for (const auto& tile : tiles)
    if (score(tile) > score(*best)) best = &tile;
  best->launch(g, options, stream);
}

std::vector<Variant> variants() {
  return {
      Variant("by_size", launch_by_size)
          .any_size(Small::BM, Small::BN, Small::BK)
          .aligned_ld(8, 8, 8)
          .flat_grid()
          .on_tensor_cores()
          .note("the tile by the waves it needs"),
      variant<Best>("swizzle").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle"),
      variant<BestTN>("tn_x4").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle_x4"),
      variant<Wide>("wide").note("128×256, four stages, warp tiles of 64×64"),
      variant<Square>("square").note("128×128 by 4 warps of 64×64, two blocks an SM"),
      variant<Small>("small").note("128×64, eight stages, warp tiles of 64×32"),
      variant<Wide, half, float>("fp32_accumulate")
          .note("128×256: FP32 sums leave no room for more"),
      variant<Wide, __nv_bfloat16, float>("bf16").note("128×256"),
      variant<Published<PADDED | B_X2 | DIRECT_STORE>>("dsmem").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem"),
      variant<Published<PADDED | DIRECT_STORE>>("x4").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_x4"),
      variant<Published<PADDED | B_X2>>("rr").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr"),
      variant<Published<TN | B_X2>>("tn").covers(
          "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle"),
      variant<Permuted<MOVMATRIX>, half, float>("k07_movmatrix")
          .covers("A100 notes k07_mma_permute"),
      variant<Permuted<0>, half, float>("k07").covers(
          "A100 notes k07_mma_permute without movmatrix"),
      variant<Best, half, half, SKIP_COPY_A>("no_copy_a").leaves_out("the copy of A"),
      variant<Best, half, half, SKIP_COPY_B>("no_copy_b").leaves_out("the copy of B"),
      variant<Best, half, half, SKIP_COPY_A | SKIP_COPY_B>("no_copies").leaves_out("both copies"),
      variant<Best, half, half, SKIP_LOAD_AND_MMA>("no_load_and_mma")
          .leaves_out("fragment loads and arithmetic"),
      variant<Best, half, half, SKIP_STORE_C>("no_store").leaves_out("the store of C"),
      variant<Permuted<MOVMATRIX>, half, float, SKIP_MOVMATRIX>("no_movmatrix")
          .leaves_out("movmatrix"),
  };
}
