// Step 12: 16-bit elements, moved up to eight and multiplied two at a time.
//
// The idea: a half is half as wide, which wins nothing by itself. Two of them in a register (half2)
// make two products an instruction, HFMA2; eight make an access of 16 bytes. So a thread's 8×8 tile
// of C takes 32 registers, a fragment is one access, and eight columns of neighbouring lanes fill
// the banks without step 08's split.
//
// Against step 08: half in place of float, packs of halves in place of float4, products in pairs.
//
// Source: hgemm_t_8x8_sliced_k_f16x4, …_pack, …_bcf, f16x8_pack_bcf and their kin (LeetCUDA), which
// multiply halves one at a time; naive_f16 and sliced_k_f16 in also/.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/half.h"
#include "common/device/tiles.h"

constexpr int SIDE = 16, THREADS = SIDE * SIDE;  // threads along a side of the block tile

/// T: rows and columns of C a thread computes. COPY, FRAG: halves that an access to global memory
/// and a fragment's load move. PAD: halves added to As's rows. NATURAL_A: A's tile as it lies, rows
/// and columns of a thread side by side. Sum: half2, or half for one product an instruction.
template <int T, int COPY, int FRAG, int PAD, bool NATURAL_A, typename Sum>
__global__ void __launch_bounds__(THREADS, 3) gemm_kernel(Gemm<half> g) {
  constexpr int BM = SIDE * T, BN = SIDE * T, HALVES = COPY < 4 ? 4 : COPY,
                BK = HALVES * THREADS / BM;
  constexpr int PRODUCTS = sizeof(Sum) / sizeof(half);
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / HALVES), a_col = tid % (BK / HALVES) * HALVES;  // of A's tile
  const int b_row = tid / (BN / HALVES), b_col = tid % (BN / HALVES) * HALVES;  // of B's tile
  // A warp is 4×8 threads, of which lanes 2i and 2i + 1 share columns; NATURAL_A: 2×16.
  const int thread_row = NATURAL_A ? tid / SIDE : warp / 2 * 4 + lane / 16 * 2 + lane % 2;
  const int thread_col = NATURAL_A ? tid % SIDE : warp % 2 * 8 + lane / 2 % 8;
  constexpr int GROUP = NATURAL_A ? T : FRAG;  // neighbouring rows and columns of a thread …
  constexpr int STEP = NATURAL_A ? 1 : SIDE;   // … the next group of them is GROUP * STEP on
  const int tile_row = thread_row * GROUP, tile_col = thread_col * GROUP;

  const half* a = g.a + (blockIdx.y * BM + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + blockIdx.x * BN + b_col;

  __shared__ __align__(16)
      half As[NATURAL_A ? BM : BK][NATURAL_A ? BK : BM + PAD];  // [k][row], or [row][k]
  __shared__ __align__(16) half Bs[BK][BN];                     // [k][col]

  alignas(16) half a_copy[HALVES], b_copy[HALVES];  // on their way from global to shared memory
  alignas(16) half a_frag[T];
  alignas(16) Sum b_frag[T / PRODUCTS];
  alignas(16) Sum acc[T][T / PRODUCTS] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
#pragma unroll
    for (int q = 0; q < HALVES; q += COPY) {
      pack_at<COPY>(a_copy + q) = pack_at<COPY>(a + q);
      pack_at<COPY>(b_copy + q) = pack_at<COPY>(b + q);
    }
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
#pragma unroll
    for (int q = 0; q < HALVES; ++q) {
      if (!NATURAL_A) As[a_col + q][a_row] = a_copy[q];
      if (NATURAL_A && q % COPY == 0)
        pack_at<COPY>(&As[a_row][a_col + q]) = pack_at<COPY>(a_copy + q);
      if (q % COPY == 0) pack_at<COPY>(&Bs[b_row][b_col + q]) = pack_at<COPY>(b_copy + q);
    }
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < T; ++i) {
        if (NATURAL_A) a_frag[i] = As[tile_row + i][k];
        if (!NATURAL_A && i % FRAG == 0)
          pack_at<FRAG>(a_frag + i) = pack_at<FRAG>(&As[k][tile_row + i * STEP]);
      }
#pragma unroll
      for (int j = 0; j < T; j += FRAG)
        pack_at<FRAG>(reinterpret_cast<half*>(b_frag) + j) =
            pack_at<FRAG>(&Bs[k][tile_col + j * STEP]);
#pragma unroll
      for (int i = 0; i < T; ++i)
#pragma unroll
        for (int j = 0; j < T / PRODUCTS; ++j)
          acc[i][j] = multiply_add(a_frag[i], b_frag[j], acc[i][j]);
    }
  }

  half* c = g.c + (blockIdx.y * BM + tile_row) * g.ldc + blockIdx.x * BN + tile_col;
#pragma unroll
  for (int i = 0; i < T; ++i)
#pragma unroll
    for (int j = 0; j < T; j += FRAG)
      store_pack<FRAG>(c + (i / FRAG * FRAG * STEP + i % FRAG) * g.ldc + j * STEP, g.alpha,
                       reinterpret_cast<const half*>(acc[i]) + j, g.beta);
}

template <int T, int COPY, int FRAG, int PAD, bool NATURAL_A = false, typename Sum = half2>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 grid(ceil_div(g.n, SIDE * T), ceil_div(g.m, SIDE * T));
  gemm_kernel<T, COPY, FRAG, PAD, NATURAL_A, Sum><<<grid, THREADS, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int t, int bk, int align, auto launcher) {
    return Variant(name, launcher).tile(SIDE * t, SIDE * t, bk).aligned_ld(align, align, align);
  };
  return {
      add("f16x8_k16", 8, 16, 8, launch<8, 8, 8, 8>).note("128-bit copies, too, so slices of 16"),
      add("f16x8_k16_single", 8, 16, 8, launch<8, 8, 8, 8, false, half>)
          .note("products one at a time in the source"),
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
