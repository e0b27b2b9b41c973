// Step 17 for TF32: floats that the tensor cores multiply with 10 bits of mantissa.
//
// Against kernel.cu: elements of 4 bytes, products of 16×16×8, and the rounding. A tensor core by
// itself would cut off the low 13 bits of a float, so every element is rounded to the nearest TF32
// first: in the kernel, fragment by fragment, which each warp repeats for the fragments that it
// shares with others. The variant tf32_separate_pass rounds A and B before the kernel, by launches
// of their own which read and write both matrices once more.
//
// ldmatrix cannot transpose elements of 4 bytes, so fragments are loaded as single words. The pads
// are chosen for that: 4 banks from row to row of A, 8 of B.
//
// Source: sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages and …_dsmem (LeetCUDA), with a separate pass.

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16, MMA_K = 8;   // rows and columns of one product; its depth
constexpr int CHUNK = 4;             // floats that a copy moves: 16 bytes
constexpr int A_PAD = 4, B_PAD = 8;  // floats added to the rows of As and Bs
constexpr int BM = 128, BN = 128;    // block tile
constexpr int BLOCKS = 2;            // that an SM shall hold
constexpr int DEFAULT_BAND = 1024;   // rows of C in a band

using AFragment =
    wmma::fragment<wmma::matrix_a, MMA, MMA, MMA_K, wmma::precision::tf32, wmma::row_major>;
using BFragment =
    wmma::fragment<wmma::matrix_b, MMA, MMA, MMA_K, wmma::precision::tf32, wmma::row_major>;
using SumFragment = wmma::fragment<wmma::accumulator, MMA, MMA, MMA_K, float>;

/// Depth of a slice, warp tile. STAGES: slices in shared memory.
template <int BK_, int WM_, int WN_, int STAGES_>
struct Tile {
  static constexpr int BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_;
  static constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 8 k
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + A_PAD, B_PITCH = BN + B_PAD;  // floats from row to row
  static constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // floats
  static constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out
  static constexpr int SMEM_BYTES =
      std::max<int>(STAGES * SLICE * sizeof(tf32_t), STAGED * sizeof(float));
};

/// Starts the copies of a tile of ROWS×COLS floats into shared memory, by all THREADS of the block.
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void copy_tile(tf32_t* shared, int pitch, const tf32_t* global, int ld) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  tf32_t* to = shared + row * pitch + col;
  const tf32_t* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP) cp_async_16(to + i * pitch, from + i * ld);
}

// load_matrix_sync would read through generic addresses; see ptx/wmma_load.h.
__device__ __forceinline__ void load_fragment(AFragment& a_frag, const tf32_t* shared, int pitch) {
  wmma_load_a_tf32(reinterpret_cast<uint32_t (&)[4]>(a_frag.x), shared, pitch);
}
__device__ __forceinline__ void load_fragment(BFragment& b_frag, const tf32_t* shared, int pitch) {
  wmma_load_b_tf32(reinterpret_cast<uint32_t (&)[4]>(b_frag.x), shared, pitch);
}

/// Rounds a fragment's floats to the nearest TF32.
template <class Fragment>
__device__ __forceinline__ void round_to_tf32(Fragment& fragment) {
#pragma unroll
  for (int i = 0; i < fragment.num_elements; ++i)
    fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
}

/// ROUND: elements are rounded here; else they were before.
template <class T, bool ROUND>
__global__ void __launch_bounds__(T::THREADS, BLOCKS)
    gemm_kernel(Gemm<tf32_t, float, float> g, int band_rows) {
  constexpr int BK = T::BK, MMAS_M = T::MMAS_M, MMAS_N = T::MMAS_N;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM, warp_col = warp % T::WARPS_N * T::WN;

  const tf32_t* a = g.a + block_row * g.lda;
  const tf32_t* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // The ring: As[BM][A_PITCH] and Bs[BK][B_PITCH], STAGES times.
  tf32_t* const shared = reinterpret_cast<tf32_t*>(smem);

  AFragment a_frag[MMAS_M];         // (WM, 8)
  BFragment b_frag;                 // (8, 16)
  SumFragment acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], 0.0f);

  int left = g.k;                           // of K, not on its way yet
  const auto copy_slice = [&](int stage) {  // start the next slice's copies
    tf32_t* const As = shared + stage;
    tf32_t* const Bs = As + T::A_SIZE;
    if (left > 0) {
      copy_tile<BM, BK, T::THREADS>(As, T::A_PITCH, a, g.lda);
      copy_tile<BK, BN, T::THREADS>(Bs, T::B_PITCH, b, g.ldb);
      a += BK;
      b += BK * g.ldb;
      left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };

#pragma unroll
  for (int stage = 0; stage < T::STAGES - 1; ++stage) copy_slice(stage * T::SLICE);

  int read = 0, write = (T::STAGES - 1) * T::SLICE;  // floats from the first stage
#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    cp_async_wait<T::STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy_slice(write);

    const tf32_t* const As = shared + read + warp_row * T::A_PITCH;
    const tf32_t* const Bs = shared + read + T::A_SIZE + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i) {
        load_fragment(a_frag[i], As + i * MMA * T::A_PITCH + k, T::A_PITCH);
        if constexpr (ROUND) round_to_tf32(a_frag[i]);
      }
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + j * MMA, T::B_PITCH);
        if constexpr (ROUND) round_to_tf32(b_frag);
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    write = read;
    read = read == (T::STAGES - 1) * T::SLICE ? 0 : read + T::SLICE;
  }

  // Every group still open is an empty one, so no copy lands on sums on their way out.
  __syncthreads();  // everyone has read the last slice before these sums overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class T, bool ROUND>
void launch(const Gemm<tf32_t, float, float>& g, const LaunchOptions& options,
            cudaStream_t stream) {
  const auto kernel = gemm_kernel<T, ROUND>;
  const int grid = g.m / BM * (g.n / BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  kernel<<<grid, T::THREADS, T::SMEM_BYTES, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

constexpr int ROUND_ROWS = 8;       // rows that a block of 32×8 threads rounds at a time
constexpr int MOST_GRID_Y = 65535;  // that a launch may have

/// Rounds rows × cols floats, CHUNK neighbours per thread. What lies between the rows is not
/// touched.
__global__ void __launch_bounds__(32 * ROUND_ROWS)
    round_kernel(const tf32_t* from, tf32_t* to, int rows, int cols, int ld) {
  const int col = (blockIdx.x * 32 + threadIdx.x) * CHUNK;
  if (col >= cols) return;
  for (int row = blockIdx.y * ROUND_ROWS + threadIdx.y; row < rows; row += gridDim.y * ROUND_ROWS)
#pragma unroll
    for (int i = col; i < col + CHUNK; ++i)
      to[row * ld + i].value = wmma::__float_to_tf32(from[row * ld + i].value);
}

/// Device memory for a rounded matrix, which grows where it is too small: only the first launch of
/// a size allocates. It is as large as the largest matrix so far, and stays until the program ends.
struct Rounded {
  tf32_t* data = nullptr;
  size_t bytes = 0;

  const tf32_t* of(const tf32_t* matrix, int rows, int cols, int ld, cudaStream_t stream) {
    const size_t needed = sizeof(tf32_t) * rows * ld;
    if (bytes < needed) {
      CUDA_CHECK(cudaFree(data));
      CUDA_CHECK(cudaMalloc(&data, needed));
      bytes = needed;
    }
    const dim3 block(32, ROUND_ROWS);
    const dim3 grid(ceil_div(cols, 32 * CHUNK), std::min(ceil_div(rows, ROUND_ROWS), MOST_GRID_Y));
    round_kernel<<<grid, block, 0, stream>>>(matrix, data, rows, cols, ld);
    CUDA_CHECK(cudaGetLastError());
    return data;
  }
};

/// As published: A and B are rounded first, into 4·M·lda and 4·K·ldb bytes beside A, B and C, which
/// the host's check of the memory does not count.
template <class T>
void launch_separate_pass(const Gemm<tf32_t, float, float>& g, const LaunchOptions& options,
                          cudaStream_t stream) {
  static Rounded a, b;
  Gemm<tf32_t, float, float> rounded = g;
  rounded.a = a.of(g.a, g.m, g.k, g.lda, stream);
  rounded.b = b.of(g.b, g.k, g.n, g.ldb, stream);
  launch<T, false>(rounded, options, stream);
}

template <class T>
Variant variant(const char* name, Variant::Launcher<tf32_t, float, float> launcher) {
  return Variant(name, launcher)
      .tile(BM, BN, T::BK)
      .shared_memory(T::SMEM_BYTES)
      .aligned_ld(8, 8, 8)
      .flat_grid()
      .in_bands()
      .on_tensor_cores();
}

using Square = Tile<32, 64, 64, 3>;
template <int STAGES>
using Warp2x4 = Tile<8, 32, 64, STAGES>;

template <int STAGES>
Variant published(const char* name) {
  return variant<Warp2x4<STAGES>>(name, launch<Warp2x4<STAGES>, true>)
      .covers("LeetCUDA sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages_dsmem");
}

std::vector<Variant> variants() {
  return {
      variant<Square>("tf32", launch<Square, true>).note("TF32, slices of 32, 3 stages"),
      variant<Tile<32, 64, 64, 2>>("tf32_70kb", launch<Tile<32, 64, 64, 2>, true>)
          .note("TF32, slices of 32, 2 stages"),
      variant<Square>("tf32_separate_pass", launch_separate_pass<Square>)
          .note("A and B rounded by a pass of their own, which is timed")
          .covers("LeetCUDA sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages"),
      published<2>("tf32_warp2x4_stages2"),
      published<3>("tf32_warp2x4_stages3"),
      published<4>("tf32_warp2x4_stages4"),
      published<5>("tf32_warp2x4_stages5"),
  };
}

const Also added(variants);

}  // namespace
