// The other shape of a product that WMMA offers: 32×8 results, in place of 16×16.
//
// Against kernel.cu: a product takes 32 rows of A and 8 columns of B, and a warp tile of 64×32 is
// 2×4 of them. The elements that a warp loads per slice do not change, and in machine code either
// shape is made of the same instruction, HMMA 16×8×16. The block tile is the published one,
// 128×128×16.
//
// Source: hgemm_wmma_m32n8k16_mma2x4_warp2x4_dbuf_async (LeetCUDA).

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA_M = 32, MMA_N = 8;        // rows and columns of one product
constexpr int CHUNK = 8;                    // halves that a copy moves: 16 bytes
constexpr int PAD = CHUNK;                  // halves added to the rows of As and Bs
constexpr int BM = 128, BN = 128, BK = 16;  // block tile; a slice is as deep as one product
constexpr int WM = 64, WN = 32;             // warp tile
constexpr int BLOCKS = 3;                   // that an SM shall hold
constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;                // halves from row to row
constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
constexpr int STAGED = WARPS * staged_elements<MMA_M, WN>;           // sums on their way out
constexpr int SMEM_BYTES = std::max<int>(2 * SLICE * sizeof(half), STAGED * sizeof(half));

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

__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g) {
  using Fragment = Fragments<MMA_M, MMA_N, half, half>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // Two slices: As[BM][A_PITCH] and Bs[BK][B_PITCH], twice.
  half* const shared = reinterpret_cast<half*>(smem);

  Fragment::A a_frag[MMAS_M];         // (WM, 16)
  Fragment::B b_frag;                 // (16, 8)
  Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], __float2half(0.0f));

  const auto copy_slice = [&](int buffer) {  // start the next slice's copies
    half* const As = shared + buffer;
    half* const Bs = As + A_SIZE;
    copy_tile<BM, BK>(As, A_PITCH, a, g.lda);
    copy_tile<BK, BN>(Bs, B_PITCH, b, g.ldb);
    a += BK;
    b += BK * g.ldb;
    cp_async_commit();
  };

  copy_slice(0);

  int read = 0, write = SLICE;  // halves from the first buffer
#pragma unroll 1
  for (int left = g.k - BK; left >= 0; left -= BK) {
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's, and everyone has read the buffer that is filled next
    if (left > 0) copy_slice(write);

    const half* const As = shared + read + warp_row * A_PITCH;
    const half* const Bs = shared + read + A_SIZE + warp_col;
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i) load_fragment(a_frag[i], As + i * MMA_M * A_PITCH, A_PITCH);
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) {
      load_fragment(b_frag, Bs + j * MMA_N, B_PITCH);
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
    }
    write = read;
    read = SLICE - read;
  }

  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(g.n / BN, g.m / BM);
  CUDA_CHECK(
      cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  gemm_kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("m32n8k16_dbuf_async", launch)
          .tile(BM, BN, BK)
          .aligned_ld(8, 8, 8)
          .on_tensor_cores()
          .note("products of 32×8")
          .covers("LeetCUDA hgemm_wmma_m32n8k16_mma2x4_warp2x4_dbuf_async"),
  };
}

const Also added(variants);

}  // namespace
