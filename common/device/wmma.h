// Fragments of the WMMA interface: their types, their loads from shared memory, and the sums' way to C.
#pragma once

#include <mma.h>

#include <cstdint>
#include <type_traits>

#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/wmma_load.h"

namespace wmma = nvcuda::wmma;

/// The fragments of one product of M×16 by 16×N, both row-major: what a warp holds of A, B and the sums, spread over
/// its lanes in an order that no document tells. AB: half or __nv_bfloat16.
template <int M, int N, typename AB, typename Acc>
struct Fragments {
  static constexpr int K = 16;
  using A = wmma::fragment<wmma::matrix_a, M, N, K, AB, wmma::row_major>;
  using B = wmma::fragment<wmma::matrix_b, M, N, K, AB, wmma::row_major>;
  using Sum = wmma::fragment<wmma::accumulator, M, N, K, Acc>;
};

/// A fragment of A or B from shared memory; pitch: elements from row to row, a multiple of 16 bytes.
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& fragment, const half* shared, int pitch) {
  wmma::load_matrix_sync(fragment, shared, pitch);
}
/// BF16 by the instruction itself: load_matrix_sync would read it element by element (ptx/wmma_load.h).
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& fragment, const __nv_bfloat16* shared, int pitch) {
  using Known = Fragments<16, 16, __nv_bfloat16, float>;
  constexpr bool IS_A = std::is_same_v<Fragment, typename Known::A>, IS_B = std::is_same_v<Fragment, typename Known::B>;
  static_assert(IS_A || IS_B, "the instructions are those of 16×16×16, row-major");
  uint32_t (&registers)[4] = reinterpret_cast<uint32_t (&)[4]>(fragment.x);
  if constexpr (IS_A) {
    wmma_load_a_bf16(registers, shared, pitch);
  } else {
    wmma_load_b_bf16(registers, shared, pitch);
  }
}

/// c[0 … CHUNK-1] = alpha * staged + beta * c, the first `count` of them, where CHUNK elements of C are 16 bytes. Both
/// addresses are multiples of 16 bytes.
template <typename Acc, typename Out>
__device__ __forceinline__ void store_chunk(Out* c, float alpha, const Acc* staged, float beta, int count) {
  constexpr int CHUNK = 16 / sizeof(Out), LOADS = CHUNK * sizeof(Acc) / 16;
  alignas(16) Acc sums[CHUNK];
#pragma unroll
  for (int i = 0; i < LOADS; ++i) reinterpret_cast<uint4*>(sums)[i] = reinterpret_cast<const uint4*>(staged)[i];
  if constexpr (sizeof(Out) == 2) {
    store_scaled(c, alpha, sums, beta, count);
  } else if (count >= CHUNK) {
    store_scaled(c, alpha, sums, beta);
  } else {
    store_scaled<1>(c, alpha, sums, beta, count);
  }
}

/// Elements from row to row where a warp's sums are staged. Eight more than the columns, so that the eight rows that a
/// store of a fragment writes begin in different banks.
template <int COLS>
constexpr int staged_pitch = COLS + 8;
/// Elements of Acc that a warp needs in shared memory for its sums on their way out, of fragments of M rows.
template <int M, int COLS>
constexpr int staged_elements = M * staged_pitch<COLS>;

/// A warp's sums, TM×TN fragments of M×N, to C at (row, col): c = alpha * sum + beta * c, rounded once. One row of
/// fragments at a time goes through `shared`, where each of the block's warps has staged_elements<M, TN * N> of its
/// own, so that C is accessed by 16 bytes per lane in whole rows. EDGES: sums outside C are not stored; else there are
/// none. C's rows begin at multiples of 16 bytes.
template <bool EDGES = false, int M, int N, int K, int TM, int TN, typename AB, typename Acc, typename Out>
__device__ __forceinline__ void store_warp_tile(const wmma::fragment<wmma::accumulator, M, N, K, Acc> (&sums)[TM][TN],
                                                void* shared, const Gemm<AB, Acc, Out>& g, int row, int col) {
  constexpr int COLS = TN * N, PITCH = staged_pitch<COLS>, CHUNK = 16 / sizeof(Out);
  constexpr int LANES = COLS / CHUNK, ROWS_AT_ONCE = 32 / LANES;  // lanes per row
  static_assert(LANES * ROWS_AT_ONCE == 32 && M % ROWS_AT_ONCE == 0, "all lanes store as much");
  const int warp = threadIdx.x / 32, lane_row = threadIdx.x % 32 / LANES, lane_col = threadIdx.x % LANES * CHUNK;
  Acc* const staged = static_cast<Acc*>(shared) + warp * staged_elements<M, COLS>;  // [M][PITCH]
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    __syncwarp();  // every lane has read the fragments before these, whose place they take
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::store_matrix_sync(staged + j * N, sums[i][j], PITCH, wmma::mem_row_major);
    __syncwarp();  // every lane's sums have been written before any lane reads them
#pragma unroll
    for (int step = 0; step < M; step += ROWS_AT_ONCE) {
      const int c_row = row + i * M + step + lane_row, c_col = col + lane_col;
      if (EDGES && (c_row >= g.m || c_col >= g.n)) continue;
      store_chunk(g.c + c_row * g.ldc + c_col, g.alpha, staged + (step + lane_row) * PITCH + lane_col, g.beta,
                  EDGES ? g.n - c_col : CHUNK);
    }
  }
}
