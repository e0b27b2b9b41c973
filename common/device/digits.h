// FP32 numbers as digits of 8 bits: a row of A or a column of B becomes integers by a power of two of its own, each
// integer becomes balanced digits in -128 … 127, and digits of equal weight are packed for TMA, k beside k. sm_90 and
// later, since B's columns are split by clusters.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/digit_arithmetic.h"
#include "common/device/ptx/cluster.h"
#include "common/device/tiles.h"

/// Where the digits of A and B lie in a workspace. First the digits of the largest weight, 256^(DIGITS - 1), of all
/// rows of A (columns of B), each of them `pitch` bytes along k, then the next digits. An element is its integer times
/// the scale of its row (column).
template <int DIGITS>
struct PackedDigits {
  static constexpr int PITCH_BYTES = 128;  // rows start at multiples of a line of L2

  int pitch;
  std::size_t a_bytes, b_bytes, bytes;
  int8_t *a, *b;
  double *a_scale, *b_scale;

  PackedDigits(void* workspace, int m, int n, int k)
      : pitch(ceil_div(k, PITCH_BYTES) * PITCH_BYTES),
        a_bytes(DIGITS * static_cast<std::size_t>(pitch) * m),
        b_bytes(DIGITS * static_cast<std::size_t>(pitch) * n),
        bytes(a_bytes + b_bytes + (static_cast<std::size_t>(m) + n) * sizeof(double)),
        a(static_cast<int8_t*>(workspace)),
        b(a + a_bytes),
        a_scale(reinterpret_cast<double*>(b + b_bytes)),
        b_scale(a_scale + m) {}
};

/// The largest size of the four and of `before`.
__device__ __forceinline__ uint32_t largest_of(uint32_t before, float4 x) {
  return max(max(before, size_bits(x.x)), max(max(size_bits(x.y), size_bits(x.z)), size_bits(x.w)));
}

/// Splits a row of A per block. The row is read twice, the second time out of L1 or L2. WIDTH: as load_quad.
template <int DIGITS, int WIDTH>
__global__ void __launch_bounds__(1024)
    split_rows(const float* a, int lda, int k, int8_t* digits, int pitch, double* scale) {
  const float* const row = a + blockIdx.x * static_cast<std::size_t>(lda);
  const int first = threadIdx.x * 4, step = blockDim.x * 4;
  __shared__ uint32_t largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();  // before anyone compares with it

  uint32_t mine = 0;
#pragma unroll 4
  for (int at = first; at < k; at += step) mine = largest_of(mine, load_quad<WIDTH>(row + at, k - at));
  mine = __reduce_max_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicMax(&largest, mine);
  __syncthreads();  // every warp's largest is in

  const int shift = digits_shift<DIGITS>(largest);
  if (threadIdx.x == 0) scale[blockIdx.x] = digits_scale(shift, largest);
#pragma unroll 4
  for (int at = first; at < k; at += step) {
    uint32_t words[DIGITS];
    digits_of(scaled_four(load_quad<WIDTH>(row + at, k - at), shift), words);
#pragma unroll
    for (int digit = 0; digit < DIGITS; ++digit) {
      const std::size_t place = static_cast<std::size_t>(digit) * gridDim.x + blockIdx.x;
      *reinterpret_cast<uint32_t*>(digits + place * pitch + at) = words[digit];
    }
  }
}

/// Splits 32 columns of B per cluster. Its blocks share k, find the largest sizes together, and read their part again
/// out of L1 or L2, 128 of k at a time. A lane has a column; through shared memory what lies along k comes to lie
/// together, so that a warp writes whole lines.
template <int DIGITS, int CLUSTER, int THREADS>
__global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    split_columns(const float* b, int ldb, int k, int n, int8_t* digits, int pitch, double* scale) {
  constexpr int COLUMNS = 32, CHUNK = 128, WARPS = THREADS / 32, OWN = CHUNK / WARPS, WORDS = OWN / 4;  // OWN: a warp's
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_col = blockIdx.x / CLUSTER * COLUMNS, col = first_col + lane, rank = cluster_rank();
  const int rows = ceil_div(k, CLUSTER * CHUNK) * CHUNK;  // of B, per block
  const int first = rank * rows, end = min(k, first + rows);
  const auto four = [&](int row) {  // of the column; zeros outside of B
    const float* const at = b + row * static_cast<std::size_t>(ldb) + col;
    const auto element = [&](int i) { return row + i < k && col < n ? at[i * static_cast<std::size_t>(ldb)] : 0.0f; };
    return make_float4(element(0), element(1), element(2), element(3));
  };
  __shared__ uint32_t largest[COLUMNS];
  __shared__ uint32_t turned[DIGITS][COLUMNS][CHUNK / 4 + 1];  // one more word: lanes write down a column of words
  if (warp == 0) largest[lane] = 0;
  __syncthreads();  // before anyone compares with it

  uint32_t mine = 0;
  for (int row = first + warp * OWN; row < end; row += CHUNK) {
#pragma unroll
    for (int word = 0; word < WORDS; ++word) mine = largest_of(mine, four(row + word * 4));
  }
  atomicMax(&largest[lane], mine);
  cluster_sync();  // the largest of every block are in
  for (int other = 0; other < CLUSTER; ++other) mine = max(mine, load_word_of(&largest[lane], other));
  cluster_arrive();  // this block has read them

  const int shift = digits_shift<DIGITS>(mine);
  if (rank == 0 && warp == 0 && col < n) scale[col] = digits_scale(shift, mine);
  for (int chunk = first; chunk < end; chunk += CHUNK) {
    float4 x[WORDS];
#pragma unroll
    for (int word = 0; word < WORDS; ++word) x[word] = four(chunk + warp * OWN + word * 4);
    __syncthreads();  // the chunk before has been written
#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
      uint32_t words[DIGITS];
      digits_of(scaled_four(x[word], shift), words);
#pragma unroll
      for (int digit = 0; digit < DIGITS; ++digit) turned[digit][lane][warp * WORDS + word] = words[digit];
    }
    __syncthreads();  // the chunk is complete
#pragma unroll
    for (int line = warp; line < DIGITS * COLUMNS; line += WARPS) {
      const int digit = line / COLUMNS, column = line % COLUMNS;
      const std::size_t place = static_cast<std::size_t>(digit) * n + first_col + column;
      if (first_col + column < n)
        *reinterpret_cast<uint32_t*>(digits + place * pitch + chunk + lane * 4) = turned[digit][column][lane];
    }
  }
  cluster_wait();  // the others have read what this block found: it may end
}

/// Splits A (m × k) and B (k × n), both row-major, on the stream: two launches.
template <int DIGITS>
void split_operands(const PackedDigits<DIGITS>& to, const float* a, int lda, const float* b, int ldb, int m, int n,
                    int k, cudaStream_t stream) {
  constexpr int COLUMN_THREADS = 512, CLUSTER = 8, LONG_ROW = 8192;
  const bool quads = (k | lda) % 4 == 0 && reinterpret_cast<std::uintptr_t>(a) % 16 == 0;
  const auto rows = quads ? split_rows<DIGITS, 4> : split_rows<DIGITS, 1>;
  const int row_threads = k > LONG_ROW ? 1024 : 256;  // of long rows fewer at a time, so that L2 holds them all
  rows<<<m, row_threads, 0, stream>>>(a, lda, k, to.a, to.pitch, to.a_scale);
  CUDA_CHECK(cudaGetLastError());
  launch_in_clusters(split_columns<DIGITS, CLUSTER, COLUMN_THREADS>, CLUSTER, ceil_div(n, 32) * CLUSTER, COLUMN_THREADS,
                     0, stream, b, ldb, k, n, to.b, to.pitch, to.b_scale);
}
