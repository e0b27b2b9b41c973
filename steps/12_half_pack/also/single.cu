// Step 12, also: the kernel of kernel.cu with its products written one at a time.
//
// Sums and B's fragment are halves instead of pairs, so the inner loop has twice the products. The
// compiler makes the pairs itself: neighbouring sums lie in the two halves of a register.

#include <cuda_fp16.h>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int BK = 16;   // depth of a slice of K
constexpr int TM = 8;    // rows of C a thread computes
constexpr int TN = 8;    // columns of C a thread computes
constexpr int PAD = 8;   // halves added to As's rows
constexpr int THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 8 * THREADS && BK * BN == 8 * THREADS, "8 halves of each tile per thread");

__global__ void __launch_bounds__(THREADS, 3) gemm_kernel(Gemm<half> g) {
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / 8), a_col = tid % (BK / 8) * 8;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 8), b_col = tid % (BN / 8) * 8;  // B's tile: 16 threads per row
  // A warp is 4×8 threads, of which lanes 2i and 2i + 1 share columns.
  const int tile_row = (warp / 2 * 4 + lane / 16 * 2 + lane % 2) * TM;
  const int tile_col = (warp % 2 * 8 + lane / 2 % 8) * TN;

  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) half As[BK][BM + PAD];  // [k][row]
  __shared__ __align__(16) half Bs[BK][BN];        // [k][col]

  alignas(16) half a_copy[8], b_copy[8];  // on their way from global to shared memory
  alignas(16) half a_frag[TM], b_frag[TN];
  alignas(16) half acc[TM][TN] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    uint4_at(a_copy) = uint4_at(a);
    uint4_at(b_copy) = uint4_at(b);
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
#pragma unroll
    for (int q = 0; q < 8; ++q) As[a_col + q][a_row] = a_copy[q];
    uint4_at(&Bs[b_row][b_col]) = uint4_at(b_copy);
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      uint4_at(a_frag) = uint4_at(&As[k][tile_row]);
      uint4_at(b_frag) = uint4_at(&Bs[k][tile_col]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = __hfma(a_frag[i], b_frag[j], acc[i][j]);
    }
  }

  half* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) store_scaled(c + i * g.ldc, g.alpha, acc[i], g.beta);
}

void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {Variant("f16x8_k16_single", launch)
              .tile(BM, BN, BK)
              .aligned_ld(8, 8, 8)
              .note("products one at a time in the source")};
}

const Also added(variants);

}  // namespace
