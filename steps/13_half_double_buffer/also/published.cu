// Step 13, also: the published double-buffered kernels: 8×8 or 16×8 results per thread, slices of 8
// to 32, B's tile through registers or by cp.async.
//
// Every half of A once and A's rows not turned, so that HFMA2 picks a half and runs in one pipe,
// and the stores of A conflict. k16_dbuf_offset pads A's rows by 8 halves, which changes no count:
// a warp stores at k and k + 8, and 8 rows of any multiple of 16 bytes are a multiple of all banks.
// The published kernels take the last slice from buffer 1, which needs an even number of slices;
// here it comes from the buffer in which it is. Fragments one k ahead and the order of the FMAs are
// kernel.cu's.
//
// Source: hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf(_async) and its kin (LeetCUDA).

#include <cuda_fp16.h>

#include <type_traits>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"

namespace {

constexpr int BM = 128, BN = 128;        // rows and columns of C per block
constexpr int TN = 8;                    // columns of C per thread
constexpr int LANES_M = 4, LANES_N = 8;  // threads of a warp

template <int TM>
constexpr int THREADS = BM / TM * (BN / TN);

/// BK: depth of a slice of K. TM: rows of C per thread. PAD: halves added to As's rows. ASYNC: B's
/// tile goes by cp.async.
template <int BK, int TM, int PAD, bool ASYNC>
__global__ void __launch_bounds__(THREADS<TM>, 2) gemm_kernel(Gemm<half> g) {
  constexpr int WM = LANES_M * TM, WN = LANES_N * TN;            // warp tile
  constexpr int COPY = BM * BK >= 8 * THREADS<TM> ? 8 : 4;       // halves that a copy moves
  using Pack = std::conditional_t<COPY == 8, uint4, uint2>;      // that many halves
  constexpr int A_ROWS = THREADS<TM> / (BK / COPY);              // rows of A's tile copied at once
  constexpr int B_ROWS = THREADS<TM> / (BN / COPY);              // rows of B's tile likewise
  constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;  // per thread and slice
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
  static_assert(!ASYNC || COPY == 8, "cp.async moves 16 bytes here");

  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int a_row = tid / (BK / COPY), a_col = tid % (BK / COPY) * COPY;  // A's tile
  const int b_row = tid / (BN / COPY), b_col = tid % (BN / COPY) * COPY;  // B's tile
  // Lanes 2i and 2i + 1 share columns, so a load of 16 bytes takes two wavefronts. A thread's rows
  // come in eights, 8 * LANES_M apart.
  const int tile_row = warp / (BN / WN) * WM + (lane / 16 * 2 + lane % 2) * 8;
  const int tile_col = warp % (BN / WN) * WN + lane / 2 % 8 * 8;

  const half* a = g.a + (block_row + a_row) * g.lda + a_col;
  const half* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) half smem[];
  const auto As = reinterpret_cast<half(*)[BK][BM + PAD]>(smem);  // [buffer][k][row]
  const auto Bs = reinterpret_cast<half(*)[BK][BN]>(As + 2);      // [buffer][k][col]

  alignas(16) half a_copy[A_COPIES][COPY];  // on their way from global to shared memory
  Pack b_copy[B_COPIES];                    // likewise, unless ASYNC
  alignas(16) half a_frag[2][TM];           // [k % 2]
  alignas(16) half2 b_frag[2][TN / 2];
  half2 acc[TM][TN / 2] = {};

  const auto fetch = [&](int buffer) {  // start the next slice's copies
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
      *reinterpret_cast<Pack*>(a_copy[i]) = *reinterpret_cast<const Pack*>(a + i * A_ROWS * g.lda);
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const half* from = b + i * B_ROWS * g.ldb;
      if constexpr (ASYNC)
        cp_async_16(&Bs[buffer][b_row + i * B_ROWS][b_col], from);
      else
        b_copy[i] = *reinterpret_cast<const Pack*>(from);
    }
    cp_async_commit();
    a += BK;
    b += BK * g.ldb;
  };
  const auto store_slice = [&](int buffer) {  // what the copies brought to registers
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
#pragma unroll
      for (int q = 0; q < COPY; ++q) As[buffer][a_col + q][a_row + i * A_ROWS] = a_copy[i][q];
    if constexpr (!ASYNC) {
#pragma unroll
      for (int i = 0; i < B_COPIES; ++i)
        *reinterpret_cast<Pack*>(&Bs[buffer][b_row + i * B_ROWS][b_col]) = b_copy[i];
    }
  };
  const auto load_fragments = [&](int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 8)
      uint4_at(&a_frag[k % 2][i]) = uint4_at(&As[buffer][k][tile_row + i * LANES_M]);
    uint4_at(b_frag[k % 2]) = uint4_at(&Bs[buffer][k][tile_col]);
  };

  fetch(0);
  store_slice(0);
  cp_async_wait<0>();  // this thread's copies of the first slice have landed
  __syncthreads();     // so have everyone's
  load_fragments(0, 0);

  int read = 0;                                       // buffer; the other one is filled
  for (int left = g.k - BK; left >= 0; left -= BK) {  // of K after this slice
    if (left > 0) fetch(read ^ 1);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == BK - 1) {  // its own fragments are in registers already
        if (left > 0) store_slice(read ^ 1);
        cp_async_wait<0>();  // this thread's copies of the next slice have landed
        __syncthreads();     // so have everyone's, and everyone has read the last of this slice
        if (left > 0) read ^= 1;  // else this slice's first fragments once more, unused
      }
      load_fragments(read, (k + 1) % BK);
#pragma unroll
      for (int j = 0; j < TN / 2; ++j)
#pragma unroll
        for (int step = 0; step < TM; ++step) {
          const int i = j % 2 == 0 ? step : TM - 1 - step;  // down one column, up the next
          acc[i][j] = __hfma2(__half2half2(a_frag[k % 2][i]), b_frag[k % 2][j], acc[i][j]);
        }
    }
  }

  half* c = g.c + (block_row + tile_row) * g.ldc + block_col + tile_col;
#pragma unroll
  for (int i = 0; i < TM; ++i)
    store_scaled(c + (i / 8 * 8 * LANES_M + i % 8) * g.ldc, g.alpha,
                 reinterpret_cast<const half*>(acc[i]), g.beta);
}

template <int BK, int TM, int PAD, bool ASYNC>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int smem_bytes = 2 * BK * (BM + PAD + BN) * 2;
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  const auto kernel = gemm_kernel<BK, TM, PAD, ASYNC>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS<TM>, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bk, auto launcher) {
    return Variant(name, launcher).tile(BM, BN, bk).aligned_ld(8, 8, 8);
  };
  return {
      add("t16x8_k32_dbuf_async", 32, launch<32, 16, 0, true>)
          .covers("LeetCUDA hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf_async"),
      add("t16x8_k32_dbuf", 32, launch<32, 16, 0, false>)
          .covers("LeetCUDA hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf"),
      add("k32_dbuf_async", 32, launch<32, 8, 0, true>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async"),
      add("k32_dbuf", 32, launch<32, 8, 0, false>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf"),
      add("k16_dbuf_async", 16, launch<16, 8, 0, true>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async"),
      add("k16_dbuf_offset", 16, launch<16, 8, 8, false>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_offset"),
      add("k16_dbuf", 16, launch<16, 8, 0, false>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf"),
      add("f16x8_pack_bcf_dbuf", 8, launch<8, 8, 0, false>)
          .covers("LeetCUDA hgemm_t_8x8_sliced_k_f16x8_pack_bcf_dbuf"),
  };
}

const Also added(variants);

}  // namespace
