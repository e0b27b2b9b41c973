// Step 13: half2 FMAs in both pipes; two buffers, deep slices, any size.
//
// The idea: HFMA2 runs in two pipes, each takes one every other cycle. The instruction that picks
// one half of an operand (step 12's broadcast of a) exists in one of them only, which ends at 67
// TFLOPS. With every a stored twice no half has to be picked, the compiler lets the pipes take
// turns, and a thread tile of 16×16 pays for the wider fragments.
//
// Against step 12: A doubled in shared memory (layout DOUBLED), a second buffer, fragments a k
// ahead, B's tile by cp.async. A passes through registers; its rows are turned from one 8 of k to
// the next, so that a warp's stores meet no bank twice. Any size: rows and columns outside stand in
// for the last inside, the last slice of K is filled up with zeros. Built with ptxas -O1
// (steps/meson.build), which leaves loads and FMAs where the source has them, as in step 11.
//
// Source: hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf(_async) and its kin with k32 and t_16x8
// (LeetCUDA), which take the last slice from buffer 1 and so need an even number of slices. The
// doubled operand is our answer to the pipes.

#include <type_traits>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/half.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

constexpr int DEFAULT_BAND =
    1024;  // rows of C that neighbouring blocks stay within, for the L2 cache

/// How A's transposed tile lies: PLAIN; PADDED: 8 halves behind each k; TURNED: see Tile::turn;
/// DOUBLED: turned, and every half twice.
enum class Layout { PLAIN, PADDED, TURNED, DOUBLED };

/// ASYNC: B goes by cp.async. BLOCKS: blocks that an SM shall hold at once.
template <int BM_, int BN_, int BK_, int TM_, int TN_, Layout LAYOUT_, bool ASYNC_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_;          // block tile
  static constexpr int TM = TM_, TN = TN_;                    // thread tile
  static constexpr int LANES_M = 4, LANES_N = 8;              // threads of a warp
  static constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // warp tile
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32, BLOCKS = BLOCKS_;
  static constexpr Layout LAYOUT = LAYOUT_;
  static constexpr bool ASYNC = ASYNC_;
  using AElement = std::conditional_t<LAYOUT == Layout::DOUBLED, half2, half>;
  static constexpr int A_PITCH =
      BM + (LAYOUT == Layout::PADDED ? 8 : 0);  // elements from k to k + 1
  static constexpr int A_WIDTH = sizeof(AElement) / sizeof(half);
  static constexpr int A_HALVES = BK * A_PITCH * A_WIDTH, STAGE = A_HALVES + BK * BN;
  static constexpr int SMEM_BYTES = 2 * STAGE * static_cast<int>(sizeof(half));
  static constexpr int COPY = BM * BK >= 8 * THREADS ? 8 : 4;  // halves that a copy moves
  static constexpr int A_PACKS = BK / COPY, A_ROWS = THREADS / A_PACKS, A_COPIES = BM / A_ROWS;
  static constexpr int B_PACKS = BN / COPY, B_ROWS = THREADS / B_PACKS, B_COPIES = BK / B_ROWS;
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "every thread copies as much");
  static_assert(!ASYNC || COPY == 8, "cp.async moves 16 bytes here");
  /// What the rows of As are turned by at k: the rows that a warp stores at each k, from one 8 of k
  /// to the next.
  static constexpr __host__ __device__ int turn(int k) {
    return LAYOUT >= Layout::TURNED ? k / COPY % A_PACKS * (32 / A_PACKS) : 0;
  }
};

/// Acc: half for sums in pairs (half2), float for single ones.
template <class T, typename Acc>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<half, Acc, half> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, COPY = T::COPY;
  constexpr int PRODUCTS = std::is_same_v<Acc, half> ? 2 : 1;  // of an instruction
  constexpr int COLS = TN / PRODUCTS;                          // sums in a row of the thread tile
  using AElement = typename T::AElement;
  using Sum = std::conditional_t<PRODUCTS == 2, half2, float>;
  using Factor = std::conditional_t<PRODUCTS == 2, half2, half>;
  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Lanes 2i and 2i + 1 share columns, i and i + 2 rows: the quarter-warps of every 16-byte load
  // merge in pairs.
  const int row = warp / T::WARPS_N * T::WM +
                  (lane / 16 * 2 + lane % 2) * 8;  // rows come in eights, 8 * LANES_M apart
  const int col = warp % T::WARPS_N * T::WN + lane / 2 % 8 * 8;  // columns too, 8 * LANES_N apart

  const int a_row = threadIdx.x / T::A_PACKS, a_col = threadIdx.x % T::A_PACKS * COPY;
  const int b_row = threadIdx.x / T::B_PACKS, b_col = threadIdx.x % T::B_PACKS * COPY;
  const half* a = g.a + a_col;
  const half* b =
      g.b + static_cast<size_t>(b_row) * g.ldb + min(block_col + b_col, (g.n - 1) / COPY * COPY);
  int a_offset[T::A_COPIES];  // of this thread's rows; A's last row stands in for rows below it
#pragma unroll
  for (int i = 0; i < T::A_COPIES; ++i)
    a_offset[i] = min(block_row + a_row + i * T::A_ROWS, g.m - 1) * g.lda;

  extern __shared__ __align__(16) half shared[];  // 2 x (As[BK][A_PITCH], Bs[BK][BN])
  const auto As = reinterpret_cast<AElement*>(shared);
  half* const Bs_copy = shared + T::A_HALVES + b_row * BN + b_col;
  const half* const Bs_read = shared + T::A_HALVES + col;

  Sum acc[TM][COLS] = {};
  alignas(16) AElement a_frag[2][TM];  // of this k and the next
  alignas(16) Factor b_frag[2][COLS];
  alignas(16) half a_copy[T::A_COPIES][COPY],
      b_copy[T::B_COPIES][COPY];  // on their way to shared memory

  const auto fetch = [&](int stage, int depth) {  // the next slice, of which `depth` k are inside
#pragma unroll
    for (int i = 0; i < T::A_COPIES; ++i) {
      pack_at<COPY>(a_copy[i]) = {};
      if (a_col < depth) pack_at<COPY>(a_copy[i]) = pack_at<COPY>(a + a_offset[i]);
    }
#pragma unroll
    for (int i = 0; i < T::B_COPIES; ++i) {
      const bool inside = b_row + i * T::B_ROWS < depth;
      if (T::ASYNC)
        cp_async_16(Bs_copy + stage + i * T::B_ROWS * BN, b + i * T::B_ROWS * g.ldb,
                    inside ? 16 : 0);
      if (!T::ASYNC) pack_at<COPY>(b_copy[i]) = {};
      if (!T::ASYNC && inside) pack_at<COPY>(b_copy[i]) = pack_at<COPY>(b + i * T::B_ROWS * g.ldb);
    }
    cp_async_commit();
    a += BK;
    b += static_cast<size_t>(BK) * g.ldb;
  };
  const auto put =
      [&](int stage,
          int depth) {  // down what was fetched, zeros where a pack of A crosses the end of K
        if (depth < BK) {
#pragma unroll
          for (int q = 0; q < COPY * T::A_COPIES; ++q)
            if (a_col + q % COPY >= depth) a_copy[q / COPY][q % COPY] = half{};
        }
#pragma unroll
        for (int i = 0; i < T::A_COPIES; ++i)
#pragma unroll
          for (int q = 0; q < COPY; ++q)
            As[stage / T::A_WIDTH + (a_col + q) * T::A_PITCH +
               ((a_row + i * T::A_ROWS) ^ T::turn(a_col))] = copies<AElement>(a_copy[i][q]);
#pragma unroll
        for (int i = 0; i < T::B_COPIES; ++i)
          if (!T::ASYNC)
            pack_at<COPY>(Bs_copy + stage + i * T::B_ROWS * BN) = pack_at<COPY>(b_copy[i]);
      };
  const auto load_frags = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 8 / T::A_WIDTH)
      pack_at<8>(a_frag[k % 2] + i) =
          pack_at<8>(As + stage / T::A_WIDTH + k * T::A_PITCH + (row ^ T::turn(k)) +
                     i / 8 * 8 * T::LANES_M + i % 8);
#pragma unroll
    for (int j = 0; j < TN; j += 8)
      pack_at<8>(b_frag[k % 2] + j / PRODUCTS) =
          pack_at<8>(Bs_read + stage + k * BN + j * T::LANES_N);
  };

  fetch(0, g.k);
  put(0, g.k);
  cp_async_wait<0>();
  __syncthreads();  // the first slice is complete before anyone reads it
  load_frags(0, 0);

  int read = 0;
  for (int left = g.k - BK;; left -= BK) {  // of K behind this slice
    const int write = T::STAGE - read;
    if (left > 0) fetch(write, left);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == BK - 1) {
        if (left > 0) put(write, left);
        cp_async_wait<0>();
        __syncthreads();  // the next slice is complete, and everyone has read the last of this one
        if (left > 0)
          read = write;  // after the last slice the first fragments are loaded once more, unused
      }
      load_frags(read, (k + 1) % BK);
#pragma unroll
      for (int j = 0; j < COLS; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i =
              j % 2 == 0 ? step
                         : TM - 1 - step;  // a serpentine: the column shares b, the turn shares a
          acc[i][j] = multiply_add(a_frag[k % 2][i], b_frag[k % 2][j], acc[i][j]);
        }
    }
    if (left <= 0) break;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 8) {
      const int c_row = block_row + row + i / 8 * 8 * T::LANES_M + i % 8,
                c_col = block_col + col + j * T::LANES_N;
      if (c_row < g.m && c_col < g.n)
        store_scaled(g.c + static_cast<size_t>(c_row) * g.ldc + c_col, g.alpha,
                     reinterpret_cast<const Acc*>(acc[i]) + j, g.beta, g.n - c_col);
    }
}

template <class T, typename Acc = half>
void launch(const Gemm<half, Acc, half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int grid = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(gemm_kernel<T, Acc>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  T::SMEM_BYTES));
  gemm_kernel<T, Acc><<<grid, T::THREADS, T::SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, typename Acc = half>
Variant variant(const char* name) {
  return Variant(name, launch<T, Acc>).any_size(T::BM, T::BN, T::BK).aligned_ld(8, 8, 8);
}

std::vector<Variant> variants() {
  constexpr Layout PLAIN = Layout::PLAIN, PADDED = Layout::PADDED, TURNED = Layout::TURNED,
                   DOUBLED = Layout::DOUBLED;
  return {
      variant<Tile<256, 256, 16, 16, 16, DOUBLED, true, 1>>("t16x16_doubled"),
      variant<Tile<128, 256, 32, 8, 16, DOUBLED, true, 2>>("t8x16_doubled")
          .note("8×16 a thread, slices of 32"),
      variant<Tile<256, 256, 16, 16, 16, TURNED, true, 1>>("t16x16_picked")
          .note("A's halves once: one pipe"),
      variant<Tile<128, 128, 32, 8, 8, TURNED, true, 2>>("k32_turned")
          .note("8×8 a thread, A's halves once"),
      variant<Tile<128, 128, 32, 8, 8, TURNED, true, 1>, float>("fp32_accumulate")
          .note("sums in float"),
      variant<Tile<128, 128, 32, 16, 8, PLAIN, true, 2>>("t16x8_k32_dbuf_async")
          .covers("LeetCUDA hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf_async"),
      variant<Tile<128, 128, 32, 16, 8, PLAIN, false, 2>>("t16x8_k32_dbuf")
          .covers("LeetCUDA hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf"),
      variant<Tile<128, 128, 32, 8, 8, PLAIN, true, 2>>("k32_dbuf_async")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async"),
      variant<Tile<128, 128, 32, 8, 8, PLAIN, false, 2>>("k32_dbuf")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf"),
      variant<Tile<128, 128, 16, 8, 8, PLAIN, true, 2>>("k16_dbuf_async")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async"),
      variant<Tile<128, 128, 16, 8, 8, PADDED, false, 2>>("k16_dbuf_offset")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_offset"),
      variant<Tile<128, 128, 16, 8, 8, PLAIN, false, 2>>("k16_dbuf")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf"),
      variant<Tile<128, 128, 8, 8, 8, PLAIN, false, 2>>("f16x8_pack_bcf_dbuf")
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x8_pack_bcf_dbuf"),
  };
}
