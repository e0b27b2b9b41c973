// A published kernel between steps 08 and 09: the next slice is prefetched in registers, but there
// is one shared buffer, and so there are two barriers per slice.
//
// Against kernel.cu: the prefetched slice overwrites the one that was just computed, which costs a
// second barrier, and the fragments of k are loaded right before the FMAs of k. As has no pad. The
// published kernel unrolls k by 4 (one_buffer); unrolled completely it is one_buffer_unroll8.
//
// Source: gemm_128x128 of the V100 SGEMM article (wuk). Its second buffer is behind #if TWO_BUFFER,
// where TWO_BUFFER is a template parameter; the preprocessor takes that as 0, so the kernel was
// always compiled, and measured, with one.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128;  // rows of C a block covers
constexpr int BN = 128;  // columns of C a block covers
constexpr int BK = 8;    // depth of a slice of K
constexpr int TM = 8;    // rows of C a thread computes: 4 in each half of the block tile
constexpr int TN = 8;    // columns of C a thread computes: 4 in each half of the block tile
constexpr int THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "a float4 of each tile per thread");

/// UNROLL: by how many k the loop over a slice is unrolled.
template <int UNROLL>
__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // A's tile: 2 threads per row
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // B's tile: 32 threads per row
  const int tile_row = tid / (BN / TN) * 4;                      // and tile_row + BM / 2
  const int tile_col = tid % (BN / TN) * 4;                      // and tile_col + BN / 2

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) float As[BK][BM];  // [k][row]
  __shared__ __align__(16) float Bs[BK][BN];  // [k][col]

  float4 a_copy, b_copy;  // the next slice, on its way to shared memory
  float a_frag[TM], b_frag[TN];
  float acc[TM][TN] = {};

  const auto fetch = [&] {  // start the loads of a slice
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
  };
  const auto store_slice = [&] {  // what fetch has loaded
    As[a_col + 0][a_row] = a_copy.x;
    As[a_col + 1][a_row] = a_copy.y;
    As[a_col + 2][a_row] = a_copy.z;
    As[a_col + 3][a_row] = a_copy.w;
    float4_at(&Bs[b_row][b_col]) = b_copy;
  };

  fetch();
  store_slice();
  __syncthreads();  // the first slice is complete before anyone reads it

  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    if (left > 0) fetch();
#pragma unroll UNROLL
    for (int k = 0; k < BK; ++k) {
      float4_at(&a_frag[0]) = float4_at(&As[k][tile_row]);
      float4_at(&a_frag[4]) = float4_at(&As[k][tile_row + BM / 2]);
      float4_at(&b_frag[0]) = float4_at(&Bs[k][tile_col]);
      float4_at(&b_frag[4]) = float4_at(&Bs[k][tile_col + BN / 2]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
    }
    __syncthreads();  // everyone has read this slice before the next one overwrites it
    store_slice();    // after the last slice once more, unused: saves a branch
    __syncthreads();  // the next slice is complete before anyone reads it
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = i / 4 * (BM / 2) + i % 4;
    store_scaled(c + row * g.ldc, g.alpha, &acc[i][0], g.beta);
    store_scaled(c + row * g.ldc + BN / 2, g.alpha, &acc[i][4], g.beta);
  }
}

template <int UNROLL>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<UNROLL><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("one_buffer", launch<4>)
          .tile(BM, BN, BK)
          .aligned_ld(4, 4, 4)
          .note("two barriers, k unrolled by 4")
          .covers("wuk gemm_128x128"),
      Variant("one_buffer_unroll8", launch<BK>)
          .tile(BM, BN, BK)
          .aligned_ld(4, 4, 4)
          .note("two barriers, k unrolled by 8"),
  };
}

const Also added(variants);

}  // namespace
