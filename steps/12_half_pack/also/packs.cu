// Step 12, also: the published packs: accesses of 4, 8 or 16 bytes, A transposed or as it lies,
// padded or not, 4×4 or 8×8 results per thread, slices of 8 (16 for 4×4).
//
// They differ from kernel.cu in how many halves an access moves. COPY halves come at once from
// global memory, and FRAG halves make an access of a fragment. f16x4 and f16x4_pack leave A's tile
// as it lies in memory and read it along k, one half at a time; all others transpose it on the way
// to shared memory. The published kernels multiply halves one at a time; here they are multiplied
// in pairs, as in kernel.cu, so that the accesses alone make the difference.
//
// Source: hgemm_t_8x8_sliced_k_f16x4, …_pack, …_bcf, f16x8_pack_bcf and their kin (LeetCUDA).

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/half.h"
#include "common/device/tiles.h"

namespace {

constexpr int SIDE = 16, THREADS = SIDE * SIDE;  // threads along a side of the block tile

/// c[0 … N-1] = alpha * sum[0 … N-1] + beta * c[0 … N-1] in one access of 2N bytes.
template <int N>
__device__ __forceinline__ void store_pack(half* c, float alpha, const half* sum, float beta) {
  alignas(2 * N) half out[N];
  if (beta != 0.0f) pack_at<N>(out) = pack_at<N>(c);
#pragma unroll
  for (int q = 0; q < N; ++q) out[q] = scaled(alpha, sum[q], beta, out + q);
  pack_at<N>(c) = pack_at<N>(out);
}

/// T: rows and columns of C per thread. COPY, FRAG: halves that an access to global memory and a
/// fragment's load move. PAD: halves added to As's rows. NATURAL_A: A's tile as it lies, and the
/// rows and columns of a thread side by side.
template <int T, int COPY, int FRAG, int PAD, bool NATURAL_A>
__global__ void __launch_bounds__(THREADS, 3) gemm_kernel(Gemm<half> g) {
  constexpr int BM = SIDE * T, BN = SIDE * T;
  constexpr int HALVES = 4, BK = HALVES * THREADS / BM;  // of each tile per thread; slice's depth
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = tid / (BK / HALVES), a_col = tid % (BK / HALVES) * HALVES;  // A's tile
  const int b_row = tid / (BN / HALVES), b_col = tid % (BN / HALVES) * HALVES;  // B's tile
  // A warp is 4×8 threads, of which lanes 2i and 2i + 1 share columns; NATURAL_A: 2×16.
  const int thread_row = NATURAL_A ? tid / SIDE : warp / 2 * 4 + lane / 16 * 2 + lane % 2;
  const int thread_col = NATURAL_A ? tid % SIDE : warp % 2 * 8 + lane / 2 % 8;
  constexpr int GROUP = NATURAL_A ? T : FRAG;  // neighbouring rows and columns of a thread …
  constexpr int STEP = NATURAL_A ? 1 : SIDE;   // … the next group of them is GROUP * STEP on
  const int tile_row = thread_row * GROUP, tile_col = thread_col * GROUP;

  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  __shared__ __align__(16) half As[NATURAL_A ? BM : BK][NATURAL_A ? BK : BM + PAD];
  __shared__ __align__(16) half Bs[BK][BN];  // [k][col]; As: [k][row], or [row][k]

  alignas(16) half a_copy[HALVES], b_copy[HALVES];  // on their way from global to shared memory
  alignas(16) half a_frag[T];
  alignas(16) half2 b_frag[T / 2];
  alignas(16) half2 acc[T][T / 2] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
#pragma unroll
    for (int q = 0; q < HALVES; q += COPY) {
      pack_at<COPY>(a_copy + q) = pack_at<COPY>(a + q);
      pack_at<COPY>(b_copy + q) = pack_at<COPY>(b + q);
    }
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
    if constexpr (NATURAL_A) {
#pragma unroll
      for (int q = 0; q < HALVES; q += COPY)
        pack_at<COPY>(&As[a_row][a_col + q]) = pack_at<COPY>(a_copy + q);
    } else {
#pragma unroll
      for (int q = 0; q < HALVES; ++q) As[a_col + q][a_row] = a_copy[q];
    }
#pragma unroll
    for (int q = 0; q < HALVES; q += COPY)
      pack_at<COPY>(&Bs[b_row][b_col + q]) = pack_at<COPY>(b_copy + q);
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if constexpr (NATURAL_A) {
#pragma unroll
        for (int i = 0; i < T; ++i) a_frag[i] = As[tile_row + i][k];
      } else {
#pragma unroll
        for (int i = 0; i < T; i += FRAG)
          pack_at<FRAG>(a_frag + i) = pack_at<FRAG>(&As[k][tile_row + i * STEP]);
      }
#pragma unroll
      for (int j = 0; j < T; j += FRAG)
        pack_at<FRAG>(b_frag + j / 2) = pack_at<FRAG>(&Bs[k][tile_col + j * STEP]);
#pragma unroll
      for (int i = 0; i < T; ++i)
#pragma unroll
        for (int j = 0; j < T / 2; ++j)
          acc[i][j] = __hfma2(__half2half2(a_frag[i]), b_frag[j], acc[i][j]);
    }
  }

  half* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < T; ++i) {
    const int row = i / FRAG * FRAG * STEP + i % FRAG;
#pragma unroll
    for (int j = 0; j < T; j += FRAG)
      store_pack<FRAG>(c + row * g.ldc + j * STEP, g.alpha,
                       reinterpret_cast<const half*>(acc[i]) + j, g.beta);
  }
}

template <int T, int COPY, int FRAG, int PAD, bool NATURAL_A = false>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, SIDE * T), ceil_div(g.m, SIDE * T));
  gemm_kernel<T, COPY, FRAG, PAD, NATURAL_A><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int t, int bk, int align, auto launcher) {
    return Variant(name, launcher).tile(SIDE * t, SIDE * t, bk).aligned_ld(align, align, align);
  };
  return {
      add("f16x8_pack_bcf_offset", 8, 8, 8, launch<8, 4, 8, 8>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x8_pack_bcf_offset"),
      add("f16x8_pack_bcf", 8, 8, 8, launch<8, 4, 8, 0>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x8_pack_bcf"),
      add("f16x4_pack_bcf_offset", 8, 8, 4, launch<8, 4, 4, 8>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x4_pack_bcf_offset"),
      add("f16x4_pack_bcf", 8, 8, 4, launch<8, 4, 4, 0>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x4_pack_bcf"),
      add("f16x4_bcf", 8, 8, 4, launch<8, 2, 2, 0>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x4_bcf"),
      add("f16x4_pack", 8, 8, 4, launch<8, 4, 4, 0, true>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x4_pack"),
      add("f16x4", 8, 8, 4, launch<8, 2, 2, 0, true>).covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x4"),
      add("t4x4_f16x4_pack_bcf_offset", 4, 16, 4, launch<4, 4, 4, 8>)
          .covers("LeetCUDA hgemm_t_4x4_sliced_k_f16x4_pack_bcf_offset"),
      add("t4x4_f16x4_pack_bcf", 4, 16, 4, launch<4, 4, 4, 0>)
          .covers("LeetCUDA hgemm_t_4x4_sliced_k_f16x4_pack_bcf"),
  };
}

const Also added(variants);

}  // namespace
