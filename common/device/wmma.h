// Fragments of the WMMA interface: their types, their loads from shared memory, and the sums' way to C.
#pragma once

#include <mma.h>

#include <cstdint>
#include <type_traits>

#include "common/device/epilogue.h"
#include "common/device/ptx/wmma_load.h"
#include "common/device/types.h"

namespace wmma = nvcuda::wmma;

/// The fragments of one product of M×K by K×N, both row-major: what a warp holds of A, B and the sums, spread over its
/// lanes in an order that is the hardware's business. AB: half, __nv_bfloat16 (K = 16) or tf32_t (K = 8).
template <int M, int N, typename AB, typename Acc>
struct Fragments {
  static constexpr bool IS_TF32 = std::is_same_v<AB, tf32_t>;
  static constexpr int K = IS_TF32 ? 8 : 16;
  using Element = std::conditional_t<IS_TF32, wmma::precision::tf32, AB>;
  using A = wmma::fragment<wmma::matrix_a, M, N, K, Element, wmma::row_major>;
  using B = wmma::fragment<wmma::matrix_b, M, N, K, Element, wmma::row_major>;
  using Sum = wmma::fragment<wmma::accumulator, M, N, K, Acc>;
};

/// A fragment of A or B from shared memory; pitch: elements from row to row, a multiple of 16 bytes.
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& fragment, const half* shared, int pitch) {
  wmma::load_matrix_sync(fragment, shared, pitch);
}
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& fragment, const tf32_t* shared, int pitch) {
  uint32_t (&registers)[4] = reinterpret_cast<uint32_t (&)[4]>(fragment.x);
  if constexpr (std::is_same_v<Fragment, typename Fragments<16, 16, tf32_t, float>::A>) {
    wmma_load_a_tf32(registers, shared, pitch);
  } else {
    wmma_load_b_tf32(registers, shared, pitch);
  }
}
template <class Fragment>
__device__ __forceinline__ void load_fragment(Fragment& fragment, const __nv_bfloat16* shared, int pitch) {
  uint32_t (&registers)[4] = reinterpret_cast<uint32_t (&)[4]>(fragment.x);
  if constexpr (std::is_same_v<Fragment, typename Fragments<16, 16, __nv_bfloat16, float>::A>) {
    wmma_load_a_bf16(registers, shared, pitch);
  } else {
    wmma_load_b_bf16(registers, shared, pitch);
  }
}

/// Rounds a fragment's floats to the nearest TF32; the tensor core by itself would cut off their low 13 bits.
template <class Fragment>
__device__ __forceinline__ void round_to_tf32(Fragment& fragment) {
#pragma unroll
  for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
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

/// What a warp needs in shared memory for store_warp_tile: elements of Acc from row to row, and of all rows. Eight more
/// than the columns, so that the eight rows a store of sums goes to begin in different banks.
template <int COLS>
constexpr int staged_pitch = COLS + 8;
template <int ROWS, int COLS>
constexpr int staged_elements = ROWS * staged_pitch<COLS>;

/// A warp's sums, TM×TN fragments of M×N, to C: c = alpha * sum + beta * c, rounded once. One row of fragments at a
/// time goes through `staged` (staged_elements<M, TN * N>, the warp's own), so that C is accessed by 16 bytes a lane in
/// whole rows. rows, cols: how many of the tile lie inside C. c and ldc are multiples of 16 bytes.
template <int M, int N, int TM, int TN, class Sum, typename Acc, typename Out>
__device__ __forceinline__ void store_warp_tile(const Sum (&sum)[TM][TN], Acc* staged, Out* c, int ldc, int rows,
                                                int cols, float alpha, float beta) {
  constexpr int COLS = TN * N, PITCH = staged_pitch<COLS>, CHUNK = 16 / sizeof(Out);
  constexpr int LANES = COLS / CHUNK, ROWS_AT_ONCE = 32 / LANES;  // lanes a row
  static_assert(LANES * ROWS_AT_ONCE == 32 && M % ROWS_AT_ONCE == 0, "all lanes store as much");
  const int lane = threadIdx.x % 32, lane_row = lane / LANES, col = lane % LANES * CHUNK;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    __syncwarp();  // the fragments before these have been read
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::store_matrix_sync(staged + j * N, sum[i][j], PITCH, wmma::mem_row_major);
    __syncwarp();  // every lane's sums are there
#pragma unroll
    for (int in_fragment = 0; in_fragment < M; in_fragment += ROWS_AT_ONCE) {
      const int row = in_fragment + lane_row;
      if (i * M + row < rows && col < cols)
        store_chunk(c + static_cast<size_t>(i * M + row) * ldc + col, alpha, staged + row * PITCH + col, beta,
                    cols - col);
    }
  }
}
