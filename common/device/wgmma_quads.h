// How the operands of step 30 go through registers: of a row of 32 floats in shared memory, a row of B or of C, each
// lane of a warp has a quad, four neighbours, as two pairs: one for each of two instructions of wgmma.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/load_shared.h"

/// The quad of a lane, one of the row's eight chunks of 16 bytes. The four lanes of one chunk have different rows.
__device__ __forceinline__ int quad_of(int lane) { return lane / 8 + lane / 4 % 2 * 4; }

/// Which of its quad's pairs, 0 or 1, the first instruction has in a lane; the second one has the other.
__device__ __forceinline__ int first_pair_of(int lane) { return lane / 8 % 2; }

/// Where in a box of 32 columns that TMA has loaded with the 128-byte swizzle the first instruction's pair of a row
/// lies, in bytes; the second one's lies there ^ 8. Sixteen lanes, whose rows are four neighbours, meet all banks once:
/// the swizzle gives each row other chunks of one half of the row, lanes 4 … 7 have the other half of the row, and
/// lanes 8 … 15 the other halves of the chunks.
__device__ __forceinline__ uint32_t pair_at(int row, int lane) {
  constexpr int ROW_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = 8;
  return row * ROW_BYTES + (quad_of(lane) ^ row % CHUNKS) * CHUNK_BYTES + first_pair_of(lane) * CHUNK_BYTES / 2;
}

/// A lane's rows of C, in the order of its sums, and where a row's pair begins in each instruction's sums: at this
/// register and the one 2 further on.
__device__ __forceinline__ int sum_row(int number, int lane) { return number / 2 * 8 + lane % 4 * 2 + number % 2; }
__host__ __device__ constexpr int sum_register(int number) { return number / 2 * 4 + number % 2; }

/// acc = alpha * acc + beta * C for ROWS rows of C from `first_row` on and the 32 columns of a warp. `box`: these rows
/// of C in shared memory, as TMA has loaded them.
template <int ROWS, int SUMS>
__device__ __forceinline__ void add_old_quads(float (&acc)[2][SUMS], int first_row, uint32_t box, float alpha,
                                              float beta) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int number = 0; number < ROWS / 4; ++number) {
    const uint32_t at = box + pair_at(sum_row(number, lane), lane);
    const int first = first_row / 2 + sum_register(number);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float old[2];
      load_shared_x2(old, at ^ i * 8);
      acc[i][first] = alpha * acc[i][first] + beta * old[0];
      acc[i][first + 2] = alpha * acc[i][first + 2] + beta * old[1];
    }
  }
}

/// The four neighbours of row `number` of the lane's, times alpha.
template <int SUMS>
__device__ __forceinline__ float4 sums_of_quad(const float (&acc)[2][SUMS], int number, float alpha) {
  const int first = sum_register(number);
  const bool turned = first_pair_of(threadIdx.x % 32) != 0;
  const float2 one = make_float2(alpha * acc[0][first], alpha * acc[0][first + 2]);
  const float2 two = make_float2(alpha * acc[1][first], alpha * acc[1][first + 2]);
  return turned ? make_float4(two.x, two.y, one.x, one.y) : make_float4(one.x, one.y, two.x, two.y);
}
