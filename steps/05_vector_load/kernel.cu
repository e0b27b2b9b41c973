// Step 05: 16-byte accesses: a thread moves four floats at a time and computes four neighbouring
// results.
//
// The idea: one float4 load does the work of four. A slice costs a thread two loads from global
// memory, and for its four columns of C it reads one float4 of Bs and one float of As a k: 2 loads
// for 4 FMAs.
//
// Against step 04: float4 copies, four columns a thread, float4 stores of C, and lanes in pairs
// that share their columns: a 16-byte load is served in quarter-warps, and two quarters merge into
// one pass where neighbouring lanes ask for the same address (variant unpaired_lanes: twice the
// passes for Bs).
//
// Source: gemm_32x32_v5 of the V100 SGEMM article (wuk), corrected: it stores one of every four
// floats of its B tile.

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
constexpr int TN = 4;   // columns of C a thread computes: one float4
constexpr int THREADS = BM * BN / TN;
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "one float4 of each tile a thread");

/// PAIRED: neighbouring lanes share columns. PAD: floats added to As's rows. PREFETCH: load a slice
/// one slice ahead.
template <bool PAIRED, int PAD, bool PREFETCH>
__global__ void __launch_bounds__(THREADS) gemm_kernel(Gemm<float> g) {
  const int tid = threadIdx.x;
  const int copy_row = tid / (BK / 4);  // of either tile: 8 threads a row
  const int copy_col = tid % (BK / 4) * 4;
  const int quad = PAIRED ? tid / 2 % 8 : tid % 8;  // which four columns
  const int tile_row = PAIRED ? tid / 32 * 4 + tid / 16 % 2 * 2 + tid % 2 : tid / 8;

  const float* a = g.a + (blockIdx.y * BM + copy_row) * g.lda + copy_col;
  const float* b = g.b + copy_row * g.ldb + blockIdx.x * BN + copy_col;

  __shared__ float As[BK][BM + PAD];          // [k][row]
  __shared__ __align__(16) float Bs[BK][BN];  // [k][col]

  float4 a_copy, b_copy;  // on their way from global to shared memory
  float acc[TN] = {};

  const auto fetch = [&] {
    a_copy = float4_at(a);
    b_copy = float4_at(b);
    a += BK;
    b += BK * g.ldb;
  };
  if (PREFETCH) fetch();

  for (int k0 = 0; k0 < g.k; k0 += BK) {
    if (!PREFETCH) fetch();
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    As[copy_col + 0][copy_row] = a_copy.x;
    As[copy_col + 1][copy_row] = a_copy.y;
    As[copy_col + 2][copy_row] = a_copy.z;
    As[copy_col + 3][copy_row] = a_copy.w;
    float4_at(&Bs[copy_row][copy_col]) = b_copy;
    if (PREFETCH && k0 + BK < g.k) fetch();
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float a_frag = As[k][tile_row];
      const float4 b_frag = float4_at(&Bs[k][quad * 4]);
      acc[0] += a_frag * b_frag.x;
      acc[1] += a_frag * b_frag.y;
      acc[2] += a_frag * b_frag.z;
      acc[3] += a_frag * b_frag.w;
    }
  }

  float* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + quad * 4;
  store_scaled(c, g.alpha, acc, g.beta);
}

template <bool PAIRED, int PAD, bool PREFETCH>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<PAIRED, PAD, PREFETCH><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  std::vector<Variant> table = {
      Variant("float4", launch<true, 1, false>),
      Variant("unpaired_lanes", launch<false, 1, false>)
          .note("a warp's lanes in rows of eight: twice the passes for Bs"),
      Variant("prefetch", launch<false, 0, true>)
          .note("unpaired, unpadded, next slice in registers")
          .covers("wuk gemm_32x32_v5"),
  };
  for (Variant& v : table) v.tile(BM, BN, BK).aligned_ld(4, 4, 4);
  return table;
}
