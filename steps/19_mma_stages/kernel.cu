// Step 19: slices of K wait in a ring of stages, in a block tile of 256×256.
//
// The idea: while the tensor cores multiply one slice of K, cp.async copies the next ones into
// other stages of shared memory, so that they have arrived when their turn comes. A larger block
// tile needs fewer bytes for the same work: at 256×256 a byte from L2 serves 128 FLOP, at 128×128
// it served 64. Three stages of such a tile take 207 KB. A kernel may declare 48 KB of shared
// memory itself, so the launch has to ask for this much: dynamic shared memory.
//
// Against step 18: cp.async and STAGES buffers; one barrier per slice instead of two; slices of 64
// k; warp tiles of 64×128; B's fragments four matrices at a time; B may be stored transposed, N×K.
// Rows are padded as before. Blocks walk C in bands, so that those which run at the same time share
// rows of A and columns of B in the L2 cache (--swizzle-stride sets the height of a band).
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem and …_dsmem_tn; the A100 notes'
// k06_mma.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8, CHUNK_BYTES = 16;        // what a copy moves; a row of an 8×8 matrix
constexpr int PAD = CHUNK;                        // elements added to every row of a shared tile
constexpr int WM = 64;                            // rows of a warp tile
constexpr int TWO_FIT_BYTES = 113 * 1024;         // shared memory of each of two blocks
constexpr int DEFAULT_BAND = 2048;                // rows of C in a band

/// A tile in shared memory, ROWS rows of COLS elements, and who copies it.
template <int ROWS, int COLS, int THREADS>
struct SharedTile {
  static constexpr int PITCH = (COLS + PAD) * 2, BYTES = ROWS * PITCH;  // of a row, of the tile
  static constexpr int CHUNKS = COLS / CHUNK, STEP = THREADS / CHUNKS;  // per row; rows at a time
  static constexpr int COPIES = ROWS / STEP;                            // per thread
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  static_assert(PITCH / CHUNK_BYTES % 2 == 1, "eight rows begin in eight different bank groups");

  /// Bytes from the start of the tile to a chunk of a row.
  static __device__ int offset(int row, int chunk) { return row * PITCH + chunk * CHUNK_BYTES; }
  /// Which row the lanes of row `row` copy. Eight lanes write 128 bytes at a time. Where these are
  /// several rows, the rows lie CHUNKS apart: neighbours would share a group of banks.
  static __device__ int dealt(int row) {
    constexpr int TOGETHER = CHUNKS < 8 ? 8 / CHUNKS : 1;
    return row / 8 * 8 + row % TOGETHER * (8 / TOGETHER) + row % 8 / TOGETHER;
  }
  /// Starts this thread's copies, STEP rows apart.
  template <class AB>
  static __device__ void copy(char* to, const AB* from, int ld) {
#pragma unroll
    for (int i = 0; i < COPIES; ++i) cp_async_16(to + i * STEP * PITCH, from + i * STEP * ld);
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
  static constexpr int BLOCKS = BYTES <= TWO_FIT_BYTES && WN < 128 ? 2 : 1;  // per multiprocessor
  static_assert(BM % WM == 0 && BN % WN == 0 && WN % MMA_N == 0, "whole tiles");
};

template <class T, class AB, class Acc>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, STAGES = T::STAGES;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * WM, warp_col = warp % T::WARPS_N * T::WN;

  const int a_row = T::A::dealt(threadIdx.x / T::A::CHUNKS), a_chunk = threadIdx.x % T::A::CHUNKS;
  const int b_row = T::B::dealt(threadIdx.x / T::B::CHUNKS), b_chunk = threadIdx.x % T::B::CHUNKS;
  const AB* a = g.a + (block_row + a_row) * g.lda + a_chunk * CHUNK;
  const AB* b = g.b + block_col * (T::B_TRANSPOSED ? g.ldb : 1) + b_row * g.ldb + b_chunk * CHUNK;

  extern __shared__ __align__(128) char As[];  // STAGES times As and Bs
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

  uint32_t a_frag[T::MMAS_M][4], b_frag[T::MMAS_N / 2][4];
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N] = {};

  int k_left = g.k;                   // not on its way yet
  const auto copy = [&](int stage) {  // the next slice
    if (k_left > 0) {
      T::A::copy(As_copy + stage, a, g.lda);
      T::B::copy(Bs_copy + stage, b, g.ldb);
      a += BK;
      b += T::B_TRANSPOSED ? BK : BK * g.ldb;
      k_left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };

  const auto load_frags = [&](int k_step, int stage) {
    const int k_bytes = k_step * 2 * CHUNK_BYTES;  // two chunks
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
      ldmatrix_x4(a_frag[i], a_addr + stage + k_bytes + i * MMA_M * T::A::PITCH);
#pragma unroll
    for (int j = 0; j < T::MMAS_N / 2; ++j) {
      const int col = j * 2 * MMA_N, col_bytes = col * 2;
      if constexpr (T::B_TRANSPOSED)
        ldmatrix_x4(b_frag[j], b_addr + stage + k_bytes + col * T::B::PITCH);
      else
        ldmatrix_x4_trans(b_frag[j], b_addr + stage + col_bytes + k_step * MMA_K * T::B::PITCH);
    }
  };
  const auto multiply = [&] {
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j)
        mma_m16n8k16<AB>(acc[i][j], a_frag[i], b_frag[j / 2] + j % 2 * 2);
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage * T::STAGE_BYTES);

  int read = 0, write = (STAGES - 1) * T::STAGE_BYTES;
#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy(write);
    write = read;
#pragma unroll
    for (int k_step = 0; k_step < BK / MMA_K; ++k_step) {
      load_frags(k_step, read);
      multiply();
    }
    read = read == (STAGES - 1) * T::STAGE_BYTES ? 0 : read + T::STAGE_BYTES;
  }

  const int row = block_row + warp_row + lane / 4, col = block_col + warp_col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below)
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j) {
        AB* c = g.c + (row + i * MMA_M + below * 8) * g.ldc + col + j * MMA_N;
        store_scaled_pair(c, g.alpha, sums(acc[i][j], below), g.beta);
      }
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

template <class T, class AB = half, class Acc = half>
Variant variant(const char* name) {
  Variant v(name, launch<T, AB, Acc>);
  v.tile(T::BM, T::BN, T::BK).shared_memory(T::BYTES).aligned_ld(CHUNK, CHUNK, 2);
  v.flat_grid().in_bands().on_tensor_cores();
  return T::B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  const char* const nn = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem";
  const char* const tn = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn";
  return {
      variant<Tile<256, 256, 64, 128, 3>>("large_stages3").note("block 256×256×64, 207 KB"),
      variant<Tile<256, 256, 64, 128, 2>>("large_stages2").note("block 256×256×64, 138 KB"),
      variant<Tile<256, 256, 32, 128, 2>>("large_73kb").note("block 256×256×32, 2 stages"),
      variant<Tile<256, 256, 64, 128, 3, true>>("tn"),
      variant<Tile<128, 128, 32, 64, 4>, half, float>("fp32_accumulate").note("block 128×128×32"),
      variant<Tile<128, 128, 32, 64, 4>, __nv_bfloat16, float>("bf16").note("block 128×128×32"),
      variant<Tile<128, 128, 32, 64, 4, true>, half, float>("tn_fp32_accumulate"),
      variant<Tile<128, 256, 32, 64, 2>>("wide_stages2").note("block 128×256×32"),
      variant<Tile<128, 256, 32, 64, 3>>("wide_stages3"),
      variant<Tile<128, 256, 32, 64, 4>>("wide_stages4"),
      variant<Tile<128, 256, 32, 64, 5>>("wide_stages5").note("one block per multiprocessor"),
      variant<Tile<128, 128, 16, 32, 2>>("warp4x4_stages2").covers(nn),
      variant<Tile<128, 128, 16, 32, 3>>("warp4x4_stages3").covers(nn),
      variant<Tile<128, 128, 16, 32, 4>>("warp4x4_stages4").covers(nn),
      variant<Tile<128, 128, 16, 32, 5>>("warp4x4_stages5").covers(nn),
      variant<Tile<128, 128, 16, 32, 2, true>>("warp4x4_tn_stages2").covers(tn),
      variant<Tile<128, 128, 16, 32, 3, true>>("warp4x4_tn_stages3").covers(tn),
      variant<Tile<128, 128, 16, 32, 4, true>>("warp4x4_tn_stages4").covers(tn),
      variant<Tile<128, 128, 16, 32, 5, true>>("warp4x4_tn_stages5").covers(tn),
      variant<Tile<128, 128, 32, 64, 2>, half, float>("k06").covers("A100 notes k06_mma"),
  };
}
