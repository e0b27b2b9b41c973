// Step 15: warps share a block tile through shared memory, and each warp takes several 16×16 tiles
// of it.
//
// The idea: in step 14 every warp fetches all its operands itself: 16 FLOP for 2 bytes. A slice of
// A and of B in shared memory serves all warps of the block, and a fragment in registers serves all
// tiles in its row or column: with 2×4 tiles a warp loads 6 fragments for 8 products instead of 2
// for each. The fragments' loads are ldmatrix (LDSM): 8 rows of 16 bytes at a time, free of
// conflicts when the rows' pitch is an odd number of 16 bytes. Hence PAD.
//
// Against step 14: slices in shared memory, the copies to it, warp tiles, and C through shared
// memory in whole rows.
//
// Source: hgemm_wmma_m16n16k16_mma4x2 and _mma4x2_warp2x4 (LeetCUDA); k03, k04 of the A100 notes.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

constexpr int MMA = 16;  // rows, columns and depth of one product

/// Block tile, warp tile, PAD: halves added to the rows of As and Bs, WIDTH: halves a copy moves.
/// BLOCKS: on an SM.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int PAD_, int WIDTH_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, WIDTH = WIDTH_,
                       BLOCKS = BLOCKS_;
  static constexpr int TM = WM / MMA, TN = WN / MMA;  // 16×16 tiles of a warp
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + PAD_, B_PITCH = BN + PAD_;  // halves from row to row
  static constexpr int SLICE = BM * A_PITCH + BK * B_PITCH;       // halves
};

template <int WIDTH>
struct alignas(2 * WIDTH) Pack {  // what one access moves
  half element[WIDTH];
};

/// Copies a tile of ROWS×COLS halves into shared memory, by all THREADS of the block.
template <int ROWS, int COLS, int WIDTH, int THREADS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int COPIES = ROWS * COLS / WIDTH, A_ROW = COLS / WIDTH;
#pragma unroll
  for (int i = 0; i < ceil_div(COPIES, THREADS); ++i) {
    const int copy = i * THREADS + threadIdx.x, row = copy / A_ROW, col = copy % A_ROW * WIDTH;
    if (COPIES % THREADS != 0 && copy >= COPIES) break;
    *reinterpret_cast<Pack<WIDTH>*>(shared + row * pitch + col) =
        *reinterpret_cast<const Pack<WIDTH>*>(global + static_cast<size_t>(row) * ld + col);
  }
}

template <class T, typename Acc>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) gemm_kernel(Gemm<half, Acc, half> g) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN;
  using Fragment = Fragments<MMA, MMA, half, Acc>;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM,
            warp_col = warp % T::WARPS_N * T::WN;  // in the block tile
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;

  const half* a = g.a + static_cast<size_t>(block_row) * g.lda;
  const half* b = g.b + block_col;

  constexpr int STAGED = staged_elements<MMA, T::WN>;  // of a warp's way out
  constexpr int STAGED_HALVES = T::WARPS * STAGED * sizeof(Acc) / sizeof(half);
  __shared__ __align__(128) half shared[T::SLICE > STAGED_HALVES ? T::SLICE : STAGED_HALVES];
  half* const As = shared;                    // [BM][A_PITCH]
  half* const Bs = shared + BM * T::A_PITCH;  // [BK][B_PITCH]

  typename Fragment::A a_frag[TM];
  typename Fragment::B b_frag;
  typename Fragment::Sum acc[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::fill_fragment(acc[i][j], static_cast<Acc>(0.0f));

  for (int slice = 0; slice < g.k; slice += BK) {
    copy_tile<BM, BK, T::WIDTH, T::THREADS>(As, T::A_PITCH, a + slice, g.lda);
    copy_tile<BK, BN, T::WIDTH, T::THREADS>(Bs, T::B_PITCH, b + static_cast<size_t>(slice) * g.ldb,
                                            g.ldb);
    __syncthreads();  // the slice is complete before anyone reads it
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
        load_fragment(a_frag[i], As + (warp_row + i * MMA) * T::A_PITCH + k, T::A_PITCH);
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + warp_col + j * MMA, T::B_PITCH);
#pragma unroll
        for (int i = 0; i < TM; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    __syncthreads();  // everyone has read the slice before the next one, or the sums on their way
                      // out, overwrite it
  }

  const int row = block_row + warp_row, col = block_col + warp_col;
  store_warp_tile<MMA, MMA>(acc, reinterpret_cast<Acc*>(shared) + warp * STAGED,
                            g.c + static_cast<size_t>(row) * g.ldc + col, g.ldc, T::WM, T::WN,
                            g.alpha, g.beta);
}

template <class T, typename Acc>
void launch(const Gemm<half, Acc, half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, T::BN), ceil_div(g.m, T::BM));
  gemm_kernel<T, Acc><<<grid, T::THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, typename Acc = half>
Variant variant(const char* name) {
  return Variant(name, launch<T, Acc>)
      .tile(T::BM, T::BN, T::BK)
      .aligned_ld(8, 8, 8)
      .on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Tile<128, 128, 64, 32, 64, 8, 8, 2>>("warp2x4_k64")
          .note("2×4 tiles a warp, slices of 64"),
      variant<Tile<128, 128, 32, 32, 64, 8, 8, 2>>("warp2x4_k32").note("slices of 32"),
      variant<Tile<128, 128, 16, 32, 64, 0, 8, 2>>("warp2x4")
          .note("slices of 16, no padding")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4"),
      variant<Tile<64, 32, 16, 16, 16, 0, 4, 2>>("mma4x2")
          .note("one 16×16 tile a warp")
          .covers("LeetCUDA hgemm_wmma_m16n16k16_mma4x2"),
      variant<Tile<128, 128, 64, 32, 64, 8, 8, 2>, float>("wmma_shmem_opt_k64")
          .note("FP32 accumulate, 128×128×64")
          .covers("A100 notes k04_wmma_shmem_opt"),
      variant<Tile<128, 128, 32, 32, 64, 8, 8, 2>, float>("wmma_shmem_opt")
          .note("FP32 accumulate, 128×128×32, 16-byte copies, padding")
          .covers("A100 notes k04_wmma_shmem_opt"),
      variant<Tile<128, 128, 32, 32, 64, 0, 2, 2>, float>("wmma_shmem")
          .note("FP32 accumulate, 128×128×32, 4-byte copies, no padding")
          .covers("A100 notes k03_wmma_shmem"),
  };
}
