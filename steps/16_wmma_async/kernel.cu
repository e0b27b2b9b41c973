// Step 16: cp.async copies the next slice into a second buffer while the warps multiply this one.
//
// The idea: in step 15 a slice passes through registers, and the whole block waits for it, twice
// per slice. cp.async needs no register and no waiting: it is started before the products of the
// slice before, and waited for after them. With two buffers one barrier per slice is enough. The
// registers set free go into the warp tile: 64×64, 4×4 products, so that 8 fragments serve 16
// products.
//
// Against step 15: cp.async for the loads and stores, two buffers, dynamic shared memory, a warp
// tile of 64×64.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_dbuf_async (LeetCUDA).

#include <algorithm>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/wmma.h"

constexpr int MMA = 16;     // rows, columns and depth of one product
constexpr int CHUNK = 8;    // halves that a copy moves: 16 bytes
constexpr int PAD = CHUNK;  // halves added to the rows of As and Bs

/// Block tile and warp tile. BLOCKS: that an SM shall hold.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, BLOCKS = BLOCKS_;
  static constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;  // halves from row to row
  static constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
  static constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out
};

/// Shared memory of a block: two slices, or where it is more, what the sums take on their way out.
template <class T>
constexpr int smem_bytes = std::max<int>(2 * T::SLICE * sizeof(half), T::STAGED * sizeof(half));

/// Starts the copies of a tile of ROWS×COLS halves into shared memory, by all THREADS of the block.
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  half* to = shared + row * pitch + col;
  const half* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP) cp_async_16(to + i * pitch, from + i * ld);
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) gemm_kernel(Gemm<half> g) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, MMAS_M = T::MMAS_M, MMAS_N = T::MMAS_N;
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM, warp_col = warp % T::WARPS_N * T::WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // Two slices: As[BM][A_PITCH] and Bs[BK][B_PITCH], twice.
  half* const shared = reinterpret_cast<half*>(smem);

  typename Fragment::A a_frag[MMAS_M];         // (WM, 16)
  typename Fragment::B b_frag;                 // (16, 16)
  typename Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], __float2half(0.0f));

  const auto copy_slice = [&](int buffer) {  // start the next slice's copies
    half* const As = shared + buffer;
    half* const Bs = As + T::A_SIZE;
    copy_tile<BM, BK, T::THREADS>(As, T::A_PITCH, a, g.lda);
    copy_tile<BK, BN, T::THREADS>(Bs, T::B_PITCH, b, g.ldb);
    a += BK;
    b += BK * g.ldb;
    cp_async_commit();
  };

  copy_slice(0);

  int read = 0, write = T::SLICE;  // halves from the first buffer
#pragma unroll 1
  for (int left = g.k - BK; left >= 0; left -= BK) {
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's, and everyone has read the buffer that is filled next
    if (left > 0) copy_slice(write);

    const half* const As = shared + read + warp_row * T::A_PITCH;
    const half* const Bs = shared + read + T::A_SIZE + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
        load_fragment(a_frag[i], As + i * MMA * T::A_PITCH + k, T::A_PITCH);
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + j * MMA, T::B_PITCH);
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    write = read;
    read = T::SLICE - read;
  }

  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class T>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int bytes = smem_bytes<T>;
  const auto kernel = gemm_kernel<T>;
  const dim3 grid(g.n / T::BN, g.m / T::BM);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, T::THREADS, bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class T>
Variant variant(const char* name) {
  Variant v = Variant(name, launch<T>).tile(T::BM, T::BN, T::BK).shared_memory(smem_bytes<T>);
  return v.aligned_ld(8, 8, 8).on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Tile<128, 256, 32, 64, 64, 2>>("warp4x4_k32")
          .note("128×256 by 8 warps of 64×64, slices of 32"),
      variant<Tile<256, 128, 32, 64, 64, 2>>("warp4x4_tall").note("256×128"),
      variant<Tile<128, 256, 64, 64, 64, 2>>("warp4x4_k64").note("slices of 64"),
      variant<Tile<128, 128, 64, 64, 64, 3>>("square_k64")
          .note("128×128 by 4 warps of 64×64, slices of 64"),
      variant<Tile<128, 128, 32, 64, 64, 4>>("square_k32")
          .note("128×128 by 4 warps of 64×64, slices of 32"),
      variant<Tile<128, 128, 64, 32, 64, 2>>("warp2x4_k64")
          .note("128×128 by 8 warps of 32×64, slices of 64"),
      variant<Tile<128, 128, 32, 32, 64, 2>>("warp2x4_k32")
          .note("128×128 by 8 warps of 32×64, slices of 32"),
      variant<Tile<128, 128, 16, 32, 64, 2>>("warp2x4_dbuf_async")
          .note("slices of 16")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_dbuf_async"),
  };
}
