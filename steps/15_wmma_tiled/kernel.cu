// Step 15: warps share a block tile through shared memory, and each warp takes several 16×16 tiles
// of it.
//
// The idea: in step 14 every warp fetches all its operands itself: 16 FLOP for 2 bytes. A slice of
// A and of B in shared memory serves all warps of the block, and a fragment in registers serves all
// tiles in its row or column: with 2×4 tiles a warp loads 6 fragments for 8 products instead of 2
// for each. A fragment is loaded by ldmatrix (LDSM), 8 rows of 16 bytes at a time. The rows are in
// different banks when their pitch is an odd multiple of 16 bytes, hence PAD.
//
// Against step 14: slices in shared memory and the copies to it, warp tiles, and C through shared
// memory in whole rows.
//
// Source: hgemm_wmma_m16n16k16_mma4x2 and _mma4x2_warp2x4 (LeetCUDA); k03, k04 of the A100 notes.

#include <algorithm>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/half.h"
#include "common/device/wmma.h"

constexpr int MMA = 16;    // rows, columns and depth of one product
constexpr int BLOCKS = 2;  // that an SM shall hold

/// Block tile and warp tile. PAD: halves added to the rows of As and Bs.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int PAD>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_;
  static constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;  // halves from row to row
  static constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
  static constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out
};

/// Shared memory of a block: a slice, or where it is more, what the sums take on their way out.
template <class T, typename Acc>
constexpr int smem_bytes = std::max<int>(T::SLICE * sizeof(half), T::STAGED * sizeof(Acc));

/// Copies a tile of ROWS×COLS halves into shared memory, by all THREADS of the block. WIDTH: halves
/// that an access moves.
template <int ROWS, int COLS, int THREADS, int WIDTH>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int LANES = COLS / WIDTH, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0 || ROWS < STEP, "every thread copies as much, or nothing");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * WIDTH;
  half* to = shared + row * pitch + col;
  const half* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP)
    if (ROWS >= STEP || row < ROWS) pack_at<WIDTH>(to + i * pitch) = pack_at<WIDTH>(from + i * ld);
}

template <class T, int WIDTH, typename Acc>
__global__ void __launch_bounds__(T::THREADS, BLOCKS) gemm_kernel(Gemm<half, Acc, half> g) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, MMAS_M = T::MMAS_M, MMAS_N = T::MMAS_N;
  using Fragment = Fragments<MMA, MMA, half, Acc>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM, warp_col = warp % T::WARPS_N * T::WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  __shared__ __align__(128) char smem[smem_bytes<T, Acc>];
  half* const As = reinterpret_cast<half*>(smem);  // [BM][A_PITCH]
  half* const Bs = As + T::A_SIZE;                 // [BK][B_PITCH]

  typename Fragment::A a_frag[MMAS_M];         // (WM, 16)
  typename Fragment::B b_frag;                 // (16, 16)
  typename Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], static_cast<Acc>(0.0f));

  for (int left = g.k; left > 0; left -= BK) {
    copy_tile<BM, BK, T::THREADS, WIDTH>(As, T::A_PITCH, a, g.lda);
    copy_tile<BK, BN, T::THREADS, WIDTH>(Bs, T::B_PITCH, b, g.ldb);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // the slice is complete before anyone reads it
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
        load_fragment(a_frag[i], As + (warp_row + i * MMA) * T::A_PITCH + k, T::A_PITCH);
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + warp_col + j * MMA, T::B_PITCH);
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    __syncthreads();  // everyone has read the slice before the next one, or the sums on their way
                      // out, overwrite it
  }

  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class T, int WIDTH, typename Acc>
void launch(const Gemm<half, Acc, half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(g.n / T::BN, g.m / T::BM);
  gemm_kernel<T, WIDTH, Acc><<<grid, T::THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, int WIDTH = 8, typename Acc = half>
Variant variant(const char* name) {
  return Variant(name, launch<T, WIDTH, Acc>)
      .tile(T::BM, T::BN, T::BK)
      .aligned_ld(8, 8, 8)
      .on_tensor_cores();
}

using K64 = Tile<128, 128, 64, 32, 64, 8>;
using K32 = Tile<128, 128, 32, 32, 64, 8>;

std::vector<Variant> variants() {
  return {
      variant<K64>("warp2x4_k64").note("2×4 tiles per warp, slices of 64"),
      variant<K32>("warp2x4_k32").note("slices of 32"),
      variant<Tile<128, 128, 16, 32, 64, 0>>("warp2x4")
          .note("slices of 16, no padding")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4"),
      variant<Tile<64, 32, 16, 16, 16, 0>, 4>("mma4x2")
          .note("one 16×16 tile per warp")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2"),
      variant<K64, 8, float>("wmma_shmem_opt_k64")
          .note("FP32 accumulate, 128×128×64")
          .covers("A100 notes k04_wmma_shmem_opt"),
      variant<K32, 8, float>("wmma_shmem_opt")
          .note("FP32 accumulate, 128×128×32, 16-byte copies, padding")
          .covers("A100 notes k04_wmma_shmem_opt"),
      variant<Tile<128, 128, 32, 32, 64, 0>, 2, float>("wmma_shmem")
          .note("FP32 accumulate, 128×128×32, 4-byte copies, no padding")
          .covers("A100 notes k03_wmma_shmem"),
  };
}
