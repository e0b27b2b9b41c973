// Step 19, also: the ring of stages in shared memory that the kernel declares itself.
//
// A kernel may declare 48 KB of shared memory statically. That is room for four stages of a block
// tile of 128×128×16, not for one of 256×256×64. In return the tiles are plain arrays with an index
// for the stage, and the launch asks for nothing. The kernel is otherwise kernel.cu's: cp.async,
// one barrier per slice, padded rows, fragments by ldmatrix.x4. With two stages it takes 86
// registers per thread where kernel.cu takes 80 (sm_90), so two of its blocks fit on an SM instead
// of three.
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4_stages.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

namespace {

constexpr int MMA_M = 16, MMA_N = 8;        // of one instruction
constexpr int CHUNK = 8;                    // elements in 16 bytes: what a copy moves
constexpr int PAD = CHUNK;                  // added to every row: pitches of 16 bytes × odd
constexpr int BM = 128, BN = 128, BK = 16;  // block tile
constexpr int WM = 64, WN = 32;             // warp tile
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;      // instructions of a warp
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;  // per row: a thread copies one of each
constexpr int BLOCKS = 2;                                    // that a multiprocessor shall hold
constexpr int DEFAULT_BAND = 2048;                           // rows of C in a band
static_assert(BM * A_CHUNKS == THREADS && BK * B_CHUNKS == THREADS, "one copy per thread and tile");

struct Stage {
  alignas(16) half As[BM][BK + PAD];  // [row][k]
  alignas(16) half Bs[BK][BN + PAD];  // [k][col]
};

template <int STAGES>
__global__ void __launch_bounds__(THREADS, BLOCKS) static_kernel(Gemm<half> g, int band_rows) {
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  // Eight lanes write 128 bytes of A at a time: four rows of 32 bytes. Rows that lie two apart
  // begin in different groups of banks, neighbours do not.
  const int dealt = threadIdx.x / A_CHUNKS;
  const int a_row = dealt / 8 * 8 + dealt % 4 * 2 + dealt % 8 / 4;
  const int a_col = threadIdx.x % A_CHUNKS * CHUNK;
  const int b_row = threadIdx.x / B_CHUNKS, b_col = threadIdx.x % B_CHUNKS * CHUNK;
  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ Stage stages[STAGES];

  uint32_t a_frag[MMAS_M][4], b_frag[MMAS_N / 2][4];
  MmaAccumulators<half> acc[MMAS_M][MMAS_N] = {};

  int k_left = g.k;                   // not on its way yet
  const auto copy = [&](int stage) {  // the next slice
    if (k_left > 0) {
      cp_async_16(&stages[stage].As[a_row][a_col], a);
      cp_async_16(&stages[stage].Bs[b_row][b_col], b);
      a += BK;
      b += BK * g.ldb;
      k_left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy(stage);

  int read = 0, write = STAGES - 1;
#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy(write);
    write = read;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
      ldmatrix_x4(
          a_frag[i],
          shared_address(&stages[read].As[warp_row + i * MMA_M + lane % 16][lane / 16 * CHUNK]));
#pragma unroll
    for (int j = 0; j < MMAS_N / 2; ++j)
      ldmatrix_x4_trans(
          b_frag[j],
          shared_address(
              &stages[read].Bs[lane % 16][warp_col + j * 2 * MMA_N + lane / 16 * CHUNK]));
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j)
        mma_m16n8k16(acc[i][j], a_frag[i], b_frag[j / 2] + j % 2 * 2);
    read = read == STAGES - 1 ? 0 : read + 1;
  }

  const int row = block_row + warp_row + lane / 4, col = block_col + warp_col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below)
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        half* c = g.c + (row + i * MMA_M + below * 8) * g.ldc + col + j * MMA_N;
        store_scaled_pair(c, g.alpha, sums(acc[i][j], below), g.beta);
      }
}

template <int STAGES>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  static_kernel<STAGES><<<grid, THREADS, 0, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <int STAGES>
Variant variant(const char* name) {
  Variant v(name, launch<STAGES>);
  v.tile(BM, BN, BK).aligned_ld(CHUNK, CHUNK, 2).flat_grid().in_bands().on_tensor_cores();
  return v.covers("LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages");
}

std::vector<Variant> variants() {
  return {
      variant<2>("warp4x4_static_stages2"),
      variant<3>("warp4x4_static_stages3"),
      variant<4>("warp4x4_static_stages4").note("41 KB; five stages do not fit"),
  };
}

const Also added(variants);

}  // namespace
