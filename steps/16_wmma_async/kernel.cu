// Step 16: cp.async brings the next slice into a second buffer while the warps multiply this one.
//
// The idea: in step 15 a slice's way leads through registers, and the whole block waits for it,
// twice a slice. cp.async needs no register and no waiting: it is started before the products of
// the slice before, and waited for after them. Two buffers make one barrier a slice enough. The
// registers set free go into the warp tile: 64×64, 4×4 tiles, so that 8 fragments serve 16
// products.
//
// Against step 15: cp.async for the loads and stores, two buffers, dynamic shared memory, a warp
// tile of 64×64.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_async, _dbuf_async and
// m32n8k16_mma2x4_warp2x4_dbuf_async (LeetCUDA).

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/leave_out.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

constexpr int MMA_K = 16, CHUNK = 8;  // depth of one product; halves a copy moves, 16 bytes

/// Block tile, warp tile, PAD: halves added to the rows of As and Bs, BUFFERS: 1 or 2. BLOCKS: on
/// an SM.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int PAD_, int BUFFERS_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, BUFFERS = BUFFERS_,
                       BLOCKS = BLOCKS_;
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + PAD_, B_PITCH = BN + PAD_;  // halves from row to row
  static constexpr int A_HALVES = BM * A_PITCH, SLICE = A_HALVES + BK * B_PITCH;
  static constexpr int MMA_M = 16, MMA_N = 16;  // of one product
};

/// The same with products of 32×8.
template <class T>
struct With32x8 : T {
  static constexpr int MMA_M = 32, MMA_N = 8;
};

/// Shared memory of a block: the buffers, or where it is more, what the sums take on their way out.
template <class T, typename Acc>
constexpr int smem_bytes() {
  constexpr int buffers = T::BUFFERS * T::SLICE * static_cast<int>(sizeof(half));
  constexpr int staged =
      T::WARPS * staged_elements<T::MMA_M, T::WN> * static_cast<int>(sizeof(Acc));
  return buffers > staged ? buffers : staged;
}

/// Starts the copies of a tile of ROWS×COLS halves into shared memory, by all THREADS of the block.
template <int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int A_ROW = COLS / CHUNK, ROWS_AT_ONCE = THREADS / A_ROW;  // copies
  static_assert(THREADS % A_ROW == 0 && ROWS % ROWS_AT_ONCE == 0, "every thread copies as much");
  const int row = threadIdx.x / A_ROW, col = threadIdx.x % A_ROW * CHUNK;
#pragma unroll
  for (int i = 0; i < ROWS; i += ROWS_AT_ONCE)
    cp_async_16(shared + (row + i) * pitch + col, global + static_cast<size_t>(row + i) * ld + col);
}

template <class T, typename Acc, unsigned SKIP>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) gemm_kernel(Gemm<half, Acc, half> g) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, MMA_M = T::MMA_M, MMA_N = T::MMA_N;
  constexpr int TM = T::WM / MMA_M, TN = T::WN / MMA_N;  // products of a warp and 16 k
  using Fragment = Fragments<MMA_M, MMA_N, half, Acc>;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM,
            warp_col = warp % T::WARPS_N * T::WN;  // in the block tile
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;

  const half* a = g.a + static_cast<size_t>(block_row) * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) half shared[];  // BUFFERS x (As[BM][A_PITCH], Bs[BK][B_PITCH])

  typename Fragment::A a_frag[TM];
  typename Fragment::B b_frag;
  typename Fragment::Sum acc[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::fill_fragment(acc[i][j], static_cast<Acc>(0.0f));

  const auto copy_slice = [&](int buffer) {  // start the next slice's copies
    half* const As = shared + buffer * T::SLICE;
    // Without the padding the stores' rows follow each other without a gap: no conflict, and the
    // wrong addresses.
    constexpr int A_PITCH = SKIP & SKIP_STORE_CONFLICTS ? BK : T::A_PITCH;
    if constexpr (!(SKIP & SKIP_COPY_A)) copy_tile<BM, BK, T::THREADS>(As, A_PITCH, a, g.lda);
    if constexpr (!(SKIP & SKIP_COPY_B))
      copy_tile<BK, BN, T::THREADS>(As + T::A_HALVES, T::B_PITCH, b, g.ldb);
    cp_async_commit();
    a += BK;
    b += static_cast<size_t>(BK) * g.ldb;
  };
  const auto multiply = [&](int buffer) {
    const half* const As = shared + buffer * T::SLICE + warp_row * T::A_PITCH;
    const half* const Bs = shared + buffer * T::SLICE + T::A_HALVES + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
        load_fragment(a_frag[i], As + i * MMA_M * T::A_PITCH + k, T::A_PITCH);
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + j * MMA_N, T::B_PITCH);
#pragma unroll
        for (int i = 0; i < TM; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
  };

  if (T::BUFFERS == 2) copy_slice(0);
  int buffer = 0;
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    if (T::BUFFERS == 1) copy_slice(0);
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's, and everyone has read the buffer that is filled next
    if (T::BUFFERS == 2 && left > 0) copy_slice(buffer ^ 1);
    if constexpr (!(SKIP & SKIP_LOAD_AND_MMA)) multiply(buffer);
    if (T::BUFFERS == 1)
      __syncthreads();  // everyone has read the slice before the next one overwrites it
    if (T::BUFFERS == 2) buffer ^= 1;
  }

  // A kernel without its store would compute nothing at all; no launch has m = 0, but the compiler
  // does not know.
  if ((SKIP & SKIP_STORE_C) && g.m > 0) return;
  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  const int row = block_row + warp_row, col = block_col + warp_col;
  store_warp_tile<MMA_M, MMA_N>(
      acc, reinterpret_cast<Acc*>(shared) + warp * staged_elements<MMA_M, T::WN>,
      g.c + static_cast<size_t>(row) * g.ldc + col, g.ldc, T::WM, T::WN, g.alpha, g.beta);
}

template <class T, typename Acc, unsigned SKIP>
void launch(const Gemm<half, Acc, half>& g, const LaunchOptions&, cudaStream_t stream) {
  const auto kernel = gemm_kernel<T, Acc, SKIP>;
  const dim3 grid(ceil_div(g.n, T::BN), ceil_div(g.m, T::BM));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  smem_bytes<T, Acc>()));
  kernel<<<grid, T::THREADS, smem_bytes<T, Acc>(), stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, typename Acc = half, unsigned SKIP = 0>
Variant variant(const char* name) {
  return Variant(name, launch<T, Acc, SKIP>)
      .tile(T::BM, T::BN, T::BK)
      .aligned_ld(8, 8, 8)
      .on_tensor_cores();
}

using Best = Tile<128, 256, 32, 64, 64, 8, 2, 2>;

std::vector<Variant> variants() {
  return {
      variant<Best>("warp4x4_k32").note("128×256 by 8 warps of 64×64, slices of 32"),
      variant<Tile<256, 128, 32, 64, 64, 8, 2, 2>>("warp4x4_tall").note("256×128"),
      variant<Tile<128, 256, 64, 64, 64, 8, 2, 2>>("warp4x4_k64").note("slices of 64"),
      variant<Tile<128, 128, 64, 64, 64, 8, 2, 3>>("square_k64")
          .note("128×128 by 4 warps of 64×64, slices of 64"),
      variant<Tile<128, 128, 32, 64, 64, 8, 2, 4>>("square_k32")
          .note("128×128 by 4 warps of 64×64, slices of 32"),
      variant<Tile<128, 128, 64, 32, 64, 8, 2, 2>>("warp2x4_k64")
          .note("128×128 by 8 warps of 32×64, slices of 64"),
      variant<Tile<128, 128, 32, 32, 64, 8, 2, 2>>("warp2x4_k32")
          .note("128×128 by 8 warps of 32×64, slices of 32"),
      variant<Tile<128, 128, 16, 32, 64, 8, 2, 2>>("warp2x4_dbuf_async")
          .note("slices of 16")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_dbuf_async"),
      variant<Tile<128, 128, 16, 32, 64, 8, 1, 2>>("warp2x4_async_offset")
          .note("one buffer")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_async_offset"),
      variant<Tile<128, 128, 16, 32, 64, 0, 1, 2>>("warp2x4_async")
          .note("one buffer, no padding")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_async"),
      variant<With32x8<Tile<128, 128, 16, 64, 32, 8, 2, 2>>>("m32n8k16_dbuf_async")
          .note("products of 32×8")
          .covers("LeetCUDA hgemm_wmma_m32n8k16_mma2x4_warp2x4_dbuf_async"),
      variant<Best, half, SKIP_COPY_A>("no_copy_a").leaves_out("the copy of A"),
      variant<Best, half, SKIP_COPY_B>("no_copy_b").leaves_out("the copy of B"),
      variant<Best, half, SKIP_COPY_A | SKIP_COPY_B>("no_copies").leaves_out("both copies"),
      variant<Best, half, SKIP_STORE_CONFLICTS>("no_store_conflicts")
          .leaves_out("the conflicts of the copies of A"),
      variant<Best, half, SKIP_LOAD_AND_MMA>("no_load_and_mma")
          .leaves_out("the fragments' loads and the products"),
      variant<Best, half, SKIP_STORE_C>("no_store").leaves_out("the store of C"),
  };
}
