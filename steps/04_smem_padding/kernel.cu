// Step 04: A's tile is stored transposed, and one more column removes the bank conflicts that this
// makes.
//
// The idea: later steps read several rows of A at one k, so they want As[k][row]. The copy runs
// along k in global memory, so a warp's 32 lanes store down a column of As. With a pitch of 32
// floats they all hit one bank: 32 passes for one store. With a pitch of 33, each hits its own.
//
// Against step 03: As is transposed and padded, and a thread computes two rows of C. Transposed,
// four k of a row are no longer neighbours that one 16-byte load could read: with one result per
// thread that would cost 2 loads per FMA (variant one_row), where step 03 has 5 for 4. A second row
// shares the load of B: 3 loads for 2 FMAs.
//
// Source: the pad is that of gemm_32x32_v4 of the V100 SGEMM article (wuk), whose kernel is in
// also/lane_rows.cu.

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "one thread map serves both tiles");

/// PAD: floats added to As's rows. TM: rows of C a thread computes.
template <int PAD, int TM>
__global__ void __launch_bounds__(BM* BN / TM, 2 * TM) gemm_kernel(Gemm<float> g) {
  constexpr int ROW_STEP = BM / TM;  // between the rows of a thread
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int tile_row = threadIdx.y;
  const int tile_col = threadIdx.x;

  const float* a = g.a + (block_row + tile_row) * g.lda + tile_col;
  const float* b = g.b + tile_row * g.ldb + block_col + tile_col;

  __shared__ float As[BK][BM + PAD];  // [k][row]
  __shared__ float Bs[BK][BN];        // [k][col]

  float a_copy[TM], b_copy[TM];  // on their way from global to shared memory
  float acc[TM] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      a_copy[i] = a[i * ROW_STEP * g.lda];
      b_copy[i] = b[i * ROW_STEP * g.ldb];
    }
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      As[tile_col][tile_row + i * ROW_STEP] = a_copy[i];
      Bs[tile_row + i * ROW_STEP][tile_col] = b_copy[i];
    }
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float b_frag = Bs[k][tile_col];
#pragma unroll
      for (int i = 0; i < TM; ++i) acc[i] += As[k][tile_row + i * ROW_STEP] * b_frag;
    }
  }

  float* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    float* out = c + i * ROW_STEP * g.ldc;
    *out = scaled(g.alpha, acc[i], g.beta, out);
  }
}

template <int PAD, int TM>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM / TM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<PAD, TM><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("padded", launch<1, 2>).tile(BM, BN, BK),
      Variant("unpadded", launch<0, 2>).tile(BM, BN, BK).note("A's stores: 32-way conflicts"),
      Variant("one_row", launch<1, 1>).tile(BM, BN, BK).note("one result per thread"),
  };
}
