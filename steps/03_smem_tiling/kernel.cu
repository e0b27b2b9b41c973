// Step 03: a block copies 32×32 tiles of A and B to shared memory, and its 1024 threads read them
// from there.
//
// The idea: in step 02 every float of A and B is loaded by 32 threads of the block. Now K is cut
// into slices of 32: each thread loads one float of A's tile and one of B's, then takes 32 products
// out of shared memory. Loads from global memory fall to 1/32. Each tile lies as it does in global
// memory, which makes no bank conflict.
//
// Against step 02: slices of K, two tiles, two barriers a slice.
//
// Source: sgemm_sliced_k_f32 (LeetCUDA); cuda_kernel_sgemm_1 and 3 (Alcanderian), which check
// bounds inside the loop and lay a warp's lanes down a column of C (the two differ by __restrict__
// alone).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "every thread copies one float of each tile");

/// LANES_DOWN: a warp's lanes run down a column of C, not along a row. CHECKED: any size, with
/// checks inside the loop.
template <bool LANES_DOWN, bool CHECKED>
__global__ void __launch_bounds__(BM* BN, 2) gemm_kernel(Gemm<float> g) {
  const int tile_row = LANES_DOWN ? threadIdx.x : threadIdx.y;
  const int tile_col = LANES_DOWN ? threadIdx.y : threadIdx.x;
  const int row = blockIdx.y * BM + tile_row;
  const int col = blockIdx.x * BN + tile_col;

  const float* a = g.a + row * g.lda + tile_col;
  const float* b = g.b + tile_row * g.ldb + col;

  __shared__ float As[BM][BK];  // [row][k]
  __shared__ float Bs[BK][BN];  // [k][col]

  float acc = 0.0f;

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    const float a_copy = !CHECKED || (row < g.m && k0 + tile_col < g.k) ? *a : 0.0f;
    const float b_copy = !CHECKED || (k0 + tile_row < g.k && col < g.n) ? *b : 0.0f;
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[tile_row][tile_col] = a_copy;
    Bs[tile_row][tile_col] = b_copy;
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) acc += As[tile_row][k] * Bs[k][tile_col];
  }

  if (CHECKED && (row >= g.m || col >= g.n)) return;
  float* c = g.c + row * g.ldc + col;
  *c = scaled(g.alpha, acc, g.beta, c);
}

template <bool LANES_DOWN, bool CHECKED>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<LANES_DOWN, CHECKED><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("tiled", launch<false, false>).tile(BM, BN, BK).covers("LeetCUDA sgemm_sliced_k_f32"),
      Variant("checked", launch<false, true>)
          .any_size(BM, BN, BK)
          .note("bounds checks inside the loop; any size"),
      Variant("checked_lanes_down", launch<true, true>)
          .any_size(BM, BN, BK)
          .note("and lanes down a column of C: uncoalesced, 32-way conflicts")
          .covers("Alcanderian 1")
          .covers("Alcanderian 3"),
  };
}
