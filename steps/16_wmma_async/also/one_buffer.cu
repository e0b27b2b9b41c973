// cp.async with one buffer: the copies no longer pass through registers, but nothing overlaps them.
//
// Against kernel.cu: every slice is copied, waited for and multiplied before the next copy starts,
// because the only buffer is still read until then. Hence two barriers per slice, as in step 15.
// The block tile is the published one, 128×128×16 with warp tiles of 32×64, and a slice fits into
// static shared memory.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_async and _async_offset (LeetCUDA).

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16;                              // rows, columns and depth of one product
constexpr int CHUNK = 8;                             // halves that a copy moves: 16 bytes
constexpr int BM = 128, BN = 128, BK = 16;           // block tile
constexpr int WM = 32, WN = 64;                      // warp tile
constexpr int BLOCKS = 3;                            // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;

/// One slice in shared memory. PAD: halves added to the rows of As and Bs.
template <int PAD>
struct Slice {
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;  // halves from row to row
  static constexpr int A_SIZE = BM * A_PITCH, SIZE = A_SIZE + BK * B_PITCH;  // halves
  static constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out
  static constexpr int BYTES = std::max<int>(SIZE * sizeof(half), STAGED * sizeof(half));
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

template <int PAD>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g) {
  using S = Slice<PAD>;
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  __shared__ __align__(128) char smem[S::BYTES];
  half* const As = reinterpret_cast<half*>(smem);  // [BM][A_PITCH]
  half* const Bs = As + S::A_SIZE;                 // [BK][B_PITCH]

  Fragment::A a_frag[MMAS_M];         // (WM, 16)
  Fragment::B b_frag;                 // (16, 16)
  Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], __float2half(0.0f));

  // Unrolled by four, as the compiler would, the kernel takes 120 registers per thread, and only
  // two blocks fit on an SM. This one takes 76, and three fit, as with the two buffers that it is
  // compared with (kernel.cu's warp2x4_dbuf_async, 79 registers).
#pragma unroll 1
  for (int left = g.k; left > 0; left -= BK) {
    copy_tile<BM, BK>(As, S::A_PITCH, a, g.lda);
    copy_tile<BK, BN>(Bs, S::B_PITCH, b, g.ldb);
    a += BK;
    b += BK * g.ldb;
    cp_async_commit();
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's
#pragma unroll
    for (int i = 0; i < MMAS_M; ++i)
      load_fragment(a_frag[i], As + (warp_row + i * MMA) * S::A_PITCH, S::A_PITCH);
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) {
      load_fragment(b_frag, Bs + warp_col + j * MMA, S::B_PITCH);
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
    }
    __syncthreads();  // everyone has read the slice before the next one, or the sums on their way
                      // out, overwrite it
  }

  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <int PAD>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(g.n / BN, g.m / BM);
  gemm_kernel<PAD><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <int PAD>
Variant variant(const char* name) {
  return Variant(name, launch<PAD>).tile(BM, BN, BK).aligned_ld(8, 8, 8).on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<8>("warp2x4_async_offset")
          .note("one buffer")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_async_offset"),
      variant<0>("warp2x4_async")
          .note("one buffer, no padding")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_async"),
  };
}

const Also added(variants);

}  // namespace
