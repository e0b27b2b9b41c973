// Step 18: tensor cores by their own instructions, ldmatrix and mma.sync, with the fragments in
// plain registers.
//
// The idea: mma.m16n8k16 takes a 16×16 tile of A, a 16×8 tile of B and 16×8 sums from the registers
// of a warp, in a layout that the PTX ISA documents. ldmatrix loads 8×8 matrices from shared memory
// into registers in the same layout: four of them make A's fragment; two make B's, transposed on
// the way (.trans) because the tile of B lies row-major. WMMA hides all this. Here the kernel
// decides what a register holds, and how wide every load from shared memory is.
//
// Against step 17: mma.sync for wmma::mma_sync, the fragments by hand; again one tile, a slice of K
// at a time, copied through registers. PAD keeps the eight rows of a matrix in different banks:
// pitches of 16 bytes times an odd number.
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_naive and …_mma2x4_warp4x4; PTX ISA, "Matrix Fragments for
// mma.m16n8k16".

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8;   // elements in 16 bytes: a copy, and a row of an 8×8 matrix
constexpr int BK = MMA_K;  // depth of a slice of K

/// A tile in shared memory, ROWS rows of COLS elements, and who copies it.
template <int ROWS, int COLS, int PAD, int THREADS>
struct SharedTile {
  static constexpr int PITCH = COLS + PAD;                              // elements, row to row
  static constexpr int CHUNKS = COLS / CHUNK, STEP = THREADS / CHUNKS;  // per row; rows at a time
  static constexpr int COPIES = ceil_div(ROWS, STEP);                   // per thread
  static_assert(ROWS % STEP == 0 || ROWS < STEP, "every thread copies as much, or nothing");
};

/// Block tile and warp tile. PAD: elements added to every row of a shared tile.
template <int BM_, int BN_, int WM_, int WN_, int PAD>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_;
  static constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions of a warp
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  using A = SharedTile<BM, BK, PAD, THREADS>;  // [row][k]
  using B = SharedTile<BK, BN, PAD, THREADS>;  // [k][col]
  static_assert(BM % WM == 0 && BN % WN == 0 && WM % MMA_M == 0 && WN % MMA_N == 0, "whole tiles");
};

template <class T, class AB, class Acc>
__global__ void __launch_bounds__(T::THREADS) gemm_kernel(Gemm<AB, Acc, AB> g) {
  constexpr int BM = T::BM, BN = T::BN;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * T::WM, warp_col = warp % T::WARPS_N * T::WN;

  const int a_row = threadIdx.x / T::A::CHUNKS, a_col = threadIdx.x % T::A::CHUNKS * CHUNK;
  const int b_row = threadIdx.x / T::B::CHUNKS, b_col = threadIdx.x % T::B::CHUNKS * CHUNK;
  const AB* a = g.a + (block_row + a_row) * g.lda + a_col;
  const AB* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) AB As[BM][T::A::PITCH];  // [row][k]
  __shared__ __align__(16) AB Bs[BK][T::B::PITCH];  // [k][col]

  uint32_t a_frag[T::MMAS_M][4], b_frag[T::MMAS_N][2];
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N] = {};

#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    __syncthreads();  // everyone has read the slice before
#pragma unroll
    for (int i = 0; i < T::A::COPIES; ++i)
      uint4_at(&As[a_row + i * T::A::STEP][a_col]) = uint4_at(a + i * T::A::STEP * g.lda);
#pragma unroll
    for (int i = 0; i < T::B::COPIES; ++i)
      if (T::B::STEP <= BK || b_row < BK)
        uint4_at(&Bs[b_row + i * T::B::STEP][b_col]) = uint4_at(b + i * T::B::STEP * g.ldb);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // the slice is complete

    // Matrices 0 … 3 of A: rows 0–7 and 8–15 of columns 0–7, then of columns 8–15.
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
      ldmatrix_x4(a_frag[i],
                  shared_address(&As[warp_row + i * MMA_M + lane % 16][lane / 16 * CHUNK]));
    // Matrices 0 and 1 of B: rows 0–7 and 8–15. A row of them is 8 columns of one k; mma wants a
    // lane to hold two neighbouring k of one column: transposed on the way.
#pragma unroll
    for (int j = 0; j < T::MMAS_N; ++j)
      ldmatrix_x2_trans(b_frag[j], shared_address(&Bs[lane % 16][warp_col + j * MMA_N]));
#pragma unroll
    for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j) mma_m16n8k16<AB>(acc[i][j], a_frag[i], b_frag[j]);
  }

  const int row = block_row + warp_row + lane / 4, col = block_col + warp_col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below)
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j) {
        AB* c = g.c + (row + i * MMA_M + below * 8) * g.ldc + col + j * MMA_N;
        store_scaled_pair(c, g.alpha, sums(acc[i][j], below), g.beta);
      }
}

template <class T, class AB, class Acc>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions&, cudaStream_t stream) {
  const auto kernel = gemm_kernel<T, AB, Acc>;
  const dim3 grid(g.n / T::BN, g.m / T::BM);
  kernel<<<grid, T::THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, class AB = half, class Acc = half>
Variant variant(const char* name) {
  Variant v(name, launch<T, AB, Acc>);
  return v.tile(T::BM, T::BN, BK).aligned_ld(CHUNK, CHUNK, 2).on_tensor_cores();
}

std::vector<Variant> variants() {
  using EightWarps = Tile<128, 128, 64, 32, CHUNK>;  // 2×4 warps of 4×4 instructions
  return {
      variant<EightWarps>("mma2x4_warp4x4").covers("LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4"),
      variant<Tile<128, 128, 64, 32, 0>>("unpadded").note("ldmatrix rows share banks"),
      variant<Tile<16, 8, 16, 8, 0>>("naive").covers("LeetCUDA hgemm_mma_m16n8k16_naive"),
      variant<EightWarps, half, float>("fp32_accumulate"),
      variant<EightWarps, __nv_bfloat16, float>("bf16"),
  };
}
