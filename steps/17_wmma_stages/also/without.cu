// Step 17's kernel with one part of the work left out at a time, to see what that part costs.
//
// Against kernel.cu: nothing in the variant `complete`; the simulator counts the same for both. The
// other variants compute wrong results, so they are timed and never verified. What is left out no
// longer takes time, and neither does anything that had to wait for it: docs/bottlenecks tells how
// to read the times.
//
// Source: the A100 notes measured their k05 and k07 in this way.

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16;                              // rows, columns and depth of one product
constexpr int CHUNK = 8;                             // halves that a copy moves: 16 bytes
constexpr int PAD = CHUNK;                           // halves added to the rows of As and Bs
constexpr int DEFAULT_BAND = 1024;                   // rows of C in a band
constexpr int BM = 256, BN = 256, BK = 64;           // block tile
constexpr int WM = 64, WN = 128;                     // warp tile
constexpr int STAGES = 3;                            // slices in shared memory
constexpr int BLOCKS = 1;                            // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;                // halves from row to row
constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
constexpr int STAGED = WARPS * staged_elements<MMA, WN>;             // sums on their way out
constexpr int SMEM_BYTES = std::max<int>(STAGES * SLICE * sizeof(half), STAGED * sizeof(half));

/// The parts of the kernel; a variant has all but one or two of them.
struct Complete {
  static constexpr bool COPY_A = true, COPY_B = true;  // from global memory
  static constexpr bool LOAD_AND_MMA = true;           // the fragments' loads and the products
  static constexpr bool STORE_C = true;
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
  static constexpr bool STORE_C = false;
};

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

template <class Parts>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g, int band_rows) {
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // The ring: As[BM][A_PITCH] and Bs[BK][B_PITCH], STAGES times.
  half* const shared = reinterpret_cast<half*>(smem);

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
      if constexpr (Parts::COPY_A) copy_tile<BM, BK>(As, A_PITCH, a, g.lda);
      if constexpr (Parts::COPY_B) copy_tile<BK, BN>(Bs, B_PITCH, b, g.ldb);
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

    if constexpr (Parts::LOAD_AND_MMA) {
      const half* const As = shared + read + warp_row * A_PITCH;
      const half* const Bs = shared + read + A_SIZE + warp_col;
#pragma unroll
      for (int k = 0; k < BK; k += MMA) {
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i)
          load_fragment(a_frag[i], As + i * MMA * A_PITCH + k, A_PITCH);
#pragma unroll
        for (int j = 0; j < MMAS_N; ++j) {
          load_fragment(b_frag, Bs + k * B_PITCH + j * MMA, B_PITCH);
#pragma unroll
          for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
        }
      }
    }
    write = read;
    read = read == (STAGES - 1) * SLICE ? 0 : read + SLICE;
  }

  // Without its store the kernel would have no result, and the compiler would remove all of it. No
  // launch has m = 0, but the compiler does not know that.
  if (!Parts::STORE_C && g.m > 0) return;
  // Every group still open is an empty one, so no copy lands on sums on their way out.
  __syncthreads();  // everyone has read the last slice before these sums overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class Parts>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<Parts>;
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class Parts>
Variant variant(const char* name) {
  return Variant(name, launch<Parts>)
      .tile(BM, BN, BK)
      .shared_memory(SMEM_BYTES)
      .aligned_ld(8, 8, 8)
      .flat_grid()
      .in_bands()
      .on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Complete>("complete").note("nothing left out: the default's counts"),
      variant<NoCopyA>("no_copy_a").leaves_out("the copy of A"),
      variant<NoCopyB>("no_copy_b").leaves_out("the copy of B"),
      variant<NoCopies>("no_copies").leaves_out("both copies"),
      variant<NoLoadAndMma>("no_load_and_mma").leaves_out("the fragments' loads and the products"),
      variant<NoStore>("no_store").leaves_out("the store of C"),
  };
}

const Also added(variants);

}  // namespace
