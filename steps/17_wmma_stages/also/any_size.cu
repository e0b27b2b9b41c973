// Step 17's kernel for every M, N and K: tiles may hang over the edges of the matrices.
//
// Against kernel.cu: cp.async may read fewer bytes than it writes, and fills the rest with zeros.
// Copies of what lies right of B or behind the last k fill zeros in this way, so these products add
// nothing. A row of A below the last one is replaced by the last row, which may be read; its sums
// are not stored. A copy whose size is known only at run time costs six instructions more, so a
// slice that lies inside takes a path without sizes.
//
// Leading dimensions are multiples of 8, so that every copy begins at a multiple of 16 bytes.

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
constexpr int BM = 256, BN = 256;                    // block tile
constexpr int WM = 64, WN = 128;                     // warp tile
constexpr int BLOCKS = 1;                            // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int B_PITCH = BN + PAD;                                // halves from row to row
constexpr int STAGED = WARPS * staged_elements<MMA, WN>;         // sums on their way out
constexpr int B_LANES = BN / CHUNK, B_STEP = THREADS / B_LANES;  // threads per row; rows at a time

/// The ring, of STAGES slices of BK, and who copies what.
template <int BK_, int STAGES_>
struct Ring {
  static constexpr int BK = BK_, STAGES = STAGES_;
  static constexpr int A_PITCH = BK + PAD, A_SIZE = BM * A_PITCH;  // halves
  static constexpr int SLICE = A_SIZE + BK * B_PITCH;
  static constexpr int BYTES = std::max(STAGES * SLICE, STAGED) * static_cast<int>(sizeof(half));
  static constexpr int A_LANES = BK / CHUNK, A_STEP = THREADS / A_LANES;
  static constexpr int A_COPIES = BM / A_STEP, B_COPIES = BK / B_STEP;  // per thread
  static_assert(BM % A_STEP == 0 && BK % B_STEP == 0, "every thread copies as much");
};

/// Bytes of a chunk that are to be read where `left` elements of the row are left from its start.
__device__ __forceinline__ int bytes_inside(int left) {
  return min(max(left, 0), CHUNK) * static_cast<int>(sizeof(half));
}

template <class R>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g, int band_rows) {
  constexpr int BK = R::BK, STAGES = R::STAGES, SLICE = R::SLICE;
  constexpr int A_PITCH = R::A_PITCH, A_SIZE = R::A_SIZE, A_LANES = R::A_LANES, A_STEP = R::A_STEP;
  constexpr int A_COPIES = R::A_COPIES, B_COPIES = R::B_COPIES;
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const int a_row = threadIdx.x / A_LANES, a_col = threadIdx.x % A_LANES * CHUNK;
  const int b_row = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * CHUNK;
  const bool whole_tile = block_row + BM <= g.m && block_col + BN <= g.n;
  const half* a_rows[A_COPIES];  // starts of the rows that this thread copies
#pragma unroll
  for (int i = 0; i < A_COPIES; ++i)
    a_rows[i] = g.a + min(block_row + a_row + i * A_STEP, g.m - 1) * g.lda;
  const int b_bytes = bytes_inside(g.n - block_col - b_col);  // of this thread's chunk of each row

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

  int k_copied = 0;                         // of K, on its way or there
  const auto copy_slice = [&](int stage) {  // start the next slice's copies
    half* const As = shared + stage + a_row * A_PITCH + a_col;
    half* const Bs = shared + stage + A_SIZE + b_row * B_PITCH + b_col;
    const int a_k = k_copied + a_col, b_k = k_copied + b_row, b_n = block_col + b_col;
    if (whole_tile && k_copied + BK <= g.k) {
      const half* b = g.b + b_k * g.ldb + b_n;
#pragma unroll
      for (int i = 0; i < A_COPIES; ++i) cp_async_16(As + i * A_STEP * A_PITCH, a_rows[i] + a_k);
#pragma unroll
      for (int i = 0; i < B_COPIES; ++i)
        cp_async_16(Bs + i * B_STEP * B_PITCH, b + i * B_STEP * g.ldb);
    } else if (k_copied < g.k) {
      const int a_bytes = bytes_inside(g.k - a_k);
#pragma unroll
      for (int i = 0; i < A_COPIES; ++i)
        cp_async_16(As + i * A_STEP * A_PITCH, a_rows[i] + (a_bytes > 0 ? a_k : 0), a_bytes);
#pragma unroll
      for (int i = 0; i < B_COPIES; ++i) {
        const int k = b_k + i * B_STEP, bytes = k < g.k ? b_bytes : 0;
        cp_async_16(Bs + i * B_STEP * B_PITCH, g.b + (bytes > 0 ? k * g.ldb + b_n : 0), bytes);
      }
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
    k_copied += BK;
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_slice(stage * SLICE);

  int read = 0, write = (STAGES - 1) * SLICE;  // halves from the first stage
#pragma unroll 1
  for (int slices = ceil_div(g.k, BK); slices > 0; --slices) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy_slice(write);

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
    write = read;
    read = read == (STAGES - 1) * SLICE ? 0 : read + SLICE;
  }

  // Every group still open is an empty one, so no copy lands on sums on their way out.
  __syncthreads();  // everyone has read the last slice before these sums overwrite it
  constexpr bool EDGES = true;
  store_warp_tile<EDGES>(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class R>
void launch(const Gemm<half>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<R>;
  const int grid = ceil_div(g.m, BM) * ceil_div(g.n, BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, R::BYTES));
  kernel<<<grid, THREADS, R::BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class R>
Variant variant(const char* name) {
  Variant v(name, launch<R>);
  v.any_size(BM, BN, R::BK).shared_memory(R::BYTES).aligned_ld(8, 8, 8);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Ring<64, 3>>("any_size").note("every M, N and K"),
      variant<Ring<64, 2>>("any_size_138kb").note("2 stages"),
      variant<Ring<32, 2>>("any_size_73kb").note("slices of 32, 2 stages"),
  };
}

const Also added(variants);

}  // namespace
