// A copy of a matrix, rounded to TF32: the pass of its own that published TF32 kernels run before the product.
#pragma once

#include <cuda_runtime.h>
#include <mma.h>

#include "common/device/check.h"
#include "common/device/tiles.h"
#include "common/device/types.h"
#include "common/harness/memory.h"

/// Rounds rows x cols elements to nearest, four neighbours a thread. Nothing between cols and ld is read or written.
static __global__ void round_kernel(const tf32_t* from, tf32_t* to, int rows, int cols, int ld) {
  const int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const size_t first = static_cast<size_t>(row) * ld + col;
#pragma unroll
  for (int q = 0; q < 4; ++q)
    if (col + q < cols) to[first + q].value = nvcuda::wmma::__float_to_tf32(from[first + q].value);
}

/// The matrix rounded into `buffer`, which grows where it is too small: only the first launch of a size allocates.
inline const tf32_t* rounded(DeviceBuffer& buffer, const tf32_t* matrix, int rows, int cols, int ld,
                             cudaStream_t stream) {
  const size_t bytes = static_cast<size_t>(rows) * ld * sizeof(tf32_t);
  if (buffer.bytes() < bytes) buffer = DeviceBuffer(bytes);
  const dim3 block(32, 8), grid(ceil_div(cols, 4 * 32), ceil_div(rows, 8));
  round_kernel<<<grid, block, 0, stream>>>(matrix, buffer.as<tf32_t>(), rows, cols, ld);
  CUDA_CHECK(cudaGetLastError());
  return buffer.as<tf32_t>();
}
