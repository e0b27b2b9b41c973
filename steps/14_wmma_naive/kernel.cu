// Step 14: tensor cores through the WMMA interface: one warp, one 16×16 tile of C, fragments
// straight from global memory.
//
// The idea: wmma::mma_sync multiplies a 16×16 by a 16×16 matrix: 4096 multiply-adds that the warp
// computes together. The operands are fragments, spread over the 32 lanes. Which lane holds which
// element is not documented, so each index here is one of a tile and none is one of an element.
//
// Against step 13: no thread tile and no shared memory. A warp is the smallest thing that computes.
//
// Source: hgemm_wmma_m16n16k16_naive (LeetCUDA); CUDA C++ Programming Guide, "Warp Matrix
// Functions".

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/wmma.h"

constexpr int MMA_K = 16;  // depth of one product

/// MMA_M×MMA_N: the tile of C that the block's one warp computes: 16×16, 32×8 or 8×32.
template <int MMA_M, int MMA_N>
__global__ void __launch_bounds__(32) gemm_kernel(Gemm<half> g) {
  using Fragment = Fragments<MMA_M, MMA_N, half, half>;
  const int block_row = blockIdx.y * MMA_M, block_col = blockIdx.x * MMA_N;
  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;
  half* c = g.c + block_row * g.ldc + block_col;

  typename Fragment::A a_frag;  // (MMA_M, 16), row-major
  typename Fragment::B b_frag;  // (16, MMA_N), row-major
  typename Fragment::Sum acc;   // (MMA_M, MMA_N)
  wmma::fill_fragment(acc, __float2half(0.0f));

  for (int left = g.k; left > 0; left -= MMA_K) {
    wmma::load_matrix_sync(a_frag, a, g.lda);
    wmma::load_matrix_sync(b_frag, b, g.ldb);
    wmma::mma_sync(acc, a_frag, b_frag, acc);
    a += MMA_K;
    b += MMA_K * g.ldb;
  }

  // Two fragments of one type hold the same elements in the same places, so that C is scaled
  // without knowing which.
  typename Fragment::Sum old;
  if (g.beta != 0.0f) wmma::load_matrix_sync(old, c, g.ldc, wmma::mem_row_major);
#pragma unroll
  for (int i = 0; i < acc.num_elements; ++i)
    acc.x[i] = scaled(g.alpha, acc.x[i], g.beta, &old.x[i]);
  wmma::store_matrix_sync(c, acc, g.ldc, wmma::mem_row_major);
}

template <int MMA_M, int MMA_N>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(g.n / MMA_N, g.m / MMA_M);
  gemm_kernel<MMA_M, MMA_N><<<grid, 32, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <int MMA_M, int MMA_N>
Variant variant(const char* name) {
  return Variant(name, launch<MMA_M, MMA_N>)
      .tile(MMA_M, MMA_N, MMA_K)
      .aligned_ld(8, 8, 8)
      .on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<16, 16>("m16n16k16").covers("LeetCUDA hgemm_wmma_m16n16k16_naive"),
      variant<32, 8>("m32n8k16").note("the same work on a tile of 32×8"),
      variant<8, 32>("m8n32k16").note("the same work on a tile of 8×32"),
  };
}
