// Step 18: tensor cores by their own instructions, ldmatrix and mma.sync, with the fragments in
// plain registers.
//
// The idea: mma.m16n8k16 takes a 16×16 tile of A, a 16×8 tile of B and 16×8 sums from the registers
// of a warp, in a layout that the PTX ISA documents. ldmatrix puts 8×8 matrices there in the same
// layout: four of them make A's fragment; with .trans, two make B's from a tile that lies
// row-major. Nothing is hidden any more, as it is in WMMA: the kernel decides what a register
// holds, and how wide every load from shared memory is.
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
constexpr int CHUNK = 8;   // elements in 16 bytes: a copy, and a row of an ldmatrix
constexpr int BK = MMA_K;  // depth of a slice of K

/// Tile sizes and what follows from them. PAD: elements added to the rows of shared tiles.
template <int BM_, int BN_, int WM_, int WN_, int PAD>
struct Tile {
  static constexpr int BM = BM_, BN = BN_;                        // block tile
  static constexpr int WM = WM_, WN = WN_;                        // warp tile
  static constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions that cover it
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;  // elements from a row to the next
  static constexpr int A_CHUNKS = BK / CHUNK,
                       A_ROWS = THREADS / A_CHUNKS;  // of a row; rows copied at a time
  static constexpr int B_CHUNKS = BN / CHUNK, B_ROWS = THREADS / B_CHUNKS;
  static_assert(BM % A_ROWS == 0 && (BK % B_ROWS == 0 || B_ROWS > BK), "whole copies");
  static_assert(BM % WM == 0 && BN % WN == 0 && WM % MMA_M == 0 && WN % MMA_N == 0, "whole tiles");
};

template <class T, class AB, class Acc>
__global__ void __launch_bounds__(T::THREADS) gemm_kernel(Gemm<AB, Acc, AB> g) {
  constexpr int BM = T::BM, BN = T::BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * T::WM,
            warp_col = warp % T::WARPS_N * T::WN;  // in the block tile

  const int a_row = threadIdx.x / T::A_CHUNKS, a_col = threadIdx.x % T::A_CHUNKS * CHUNK;
  const int b_row = threadIdx.x / T::B_CHUNKS, b_col = threadIdx.x % T::B_CHUNKS * CHUNK;

  const AB* a = g.a + static_cast<size_t>(blockIdx.y * BM + a_row) * g.lda + a_col;
  const AB* b = g.b + static_cast<size_t>(b_row) * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16) AB As[BM][T::A_PITCH];  // [row][k]
  __shared__ __align__(16) AB Bs[BK][T::B_PITCH];  // [k][col]

  uint32_t a_frag[T::MMAS_M][4], b_frag[T::MMAS_N][2];
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N] = {};

#pragma unroll 1
  for (int slice = 0; slice < g.k; slice += BK) {
    __syncthreads();  // everyone has read the slice before
#pragma unroll
    for (int row = 0; row < BM; row += T::A_ROWS)
      uint4_at(&As[a_row + row][a_col]) = uint4_at(a + row * g.lda);
#pragma unroll
    for (int row = 0; row < BK; row += T::B_ROWS)
      if (T::B_ROWS <= BK || b_row < BK)
        uint4_at(&Bs[b_row + row][b_col]) = uint4_at(b + row * g.ldb);
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

  const int row = blockIdx.y * BM + warp_row + lane / 4,
            col = blockIdx.x * BN + warp_col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below)
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j) {
        AB* c = g.c + static_cast<size_t>(row + i * MMA_M + below * 8) * g.ldc + col + j * MMA_N;
        store_scaled_pair(c, g.alpha, sums(acc[i][j], below), g.beta);
      }
}

template <class T, class AB, class Acc>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions&, cudaStream_t stream) {
  gemm_kernel<T, AB, Acc>
      <<<dim3(ceil_div(g.n, T::BN), ceil_div(g.m, T::BM)), T::THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

using OneMma = Tile<MMA_M, MMA_N, MMA_M, MMA_N, 0>;  // one warp, one instruction a slice
using EightWarps = Tile<128, 128, 64, 32, CHUNK>;    // 2×4 warps of 4×4 instructions
using Unpadded = Tile<128, 128, 64, 32, 0>;

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bm, int bn, auto launcher) {
    return Variant(name, launcher).tile(bm, bn, BK).aligned_ld(CHUNK, CHUNK, 2).on_tensor_cores();
  };
  return {
      add("mma2x4_warp4x4", 128, 128, launch<EightWarps, half, half>)
          .covers("LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4"),
      add("unpadded", 128, 128, launch<Unpadded, half, half>).note("ldmatrix rows share banks"),
      add("naive", MMA_M, MMA_N, launch<OneMma, half, half>)
          .covers("LeetCUDA hgemm_mma_m16n8k16_naive"),
      add("fp32_accumulate", 128, 128, launch<EightWarps, half, float>),
      add("bf16", 128, 128, launch<EightWarps, __nv_bfloat16, float>),
  };
}
