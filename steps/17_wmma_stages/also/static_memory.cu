// The ring of stages in static shared memory, of which a block may declare 48 KB.
//
// Against kernel.cu: the array's size is known to the compiler, so the launch asks for nothing.
// That limits the tile and the stages: four stages of 128×128×16 take 42 KB, five would take 52.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages (LeetCUDA).

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16;                     // rows, columns and depth of one product
constexpr int CHUNK = 8;                    // halves that a copy moves: 16 bytes
constexpr int PAD = CHUNK;                  // halves added to the rows of As and Bs
constexpr int DEFAULT_BAND = 1024;          // rows of C in a band
constexpr int BM = 128, BN = 128, BK = 16;  // block tile; a slice is as deep as one product
constexpr int WM = 32, WN = 64;             // warp tile
constexpr int BLOCKS = 2;                   // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;                // halves from row to row
constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
constexpr int STAGED = WARPS * staged_elements<MMA, WN>;             // sums on their way out

/// Halves of a block's shared memory: the ring, or where it is more, the sums.
template <int STAGES>
constexpr int smem_halves = std::max(STAGES * SLICE, STAGED);

/// Starts the copies of a tile of ROWS×COLS halves into shared memory, by all threads of the block.
template <int ROWS, int COLS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  half* to = shared + row * pitch + col;
  const half* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP) cp_async_16(to + i * pitch, from + i * ld);
}

template <int STAGES>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g, int band_rows) {
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  // The ring: As[BM][A_PITCH] and Bs[BK][B_PITCH], STAGES times; after the loop, the sums.
  __shared__ __align__(128) half shared[smem_halves<STAGES>];

  Fragment::A a_frag[MMAS_M];         // (WM, 16)
  Fragment::B b_frag;                 // (16, 16)
  Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], __float2half(0.0f));

  int left = g.k;                           // of K, not on its way yet
  const auto copy_slice = [&](int stage) {  // start the next slice's copies
    half* const As = shared + stage;
    half* const Bs = As + A_SIZE;
    if (left > 0) {
      copy_tile<BM, BK>(As, A_PITCH, a, g.lda);
      copy_tile<BK, BN>(Bs, B_PITCH, b, g.ldb);
      a += BK;
      b += BK * g.ldb;
      left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_slice(stage * SLICE);

  int read = 0, write = (STAGES - 1) * SLICE;  // halves from the first stage
#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy_slice(write);

    const half* const As = shared + read + warp_row * A_PITCH;
    const half* const Bs = shared + read + A_SIZE + warp_col;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i) load_fragment(a_frag[i], As + i * MMA * A_PITCH, A_PITCH);
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) {
      load_fragment(b_frag, Bs + j * MMA, B_PITCH);
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
    }
    write = read;
    read = read == (STAGES - 1) * SLICE ? 0 : read + SLICE;
  }

  // Every group still open is an empty one, so no copy lands on sums on their way out.
  __syncthreads();  // everyone has read the last slice before these sums overwrite it
  store_warp_tile(acc, shared, g, block_row + warp_row, block_col + warp_col);
}

template <int STAGES>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  gemm_kernel<STAGES><<<grid, THREADS, 0, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <int STAGES>
Variant variant(const char* name) {
  return Variant(name, launch<STAGES>)
      .tile(BM, BN, BK)
      .aligned_ld(8, 8, 8)
      .flat_grid()
      .in_bands()
      .on_tensor_cores()
      .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages");
}

std::vector<Variant> variants() {
  return {
      variant<2>("warp2x4_static_stages2"),
      variant<3>("warp2x4_static_stages3"),
      variant<4>("warp2x4_static_stages4"),
  };
}

const Also added(variants);

}  // namespace
