#include "common/device/tensor_map.h"

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "common/harness/errors.h"

namespace {

using std::to_string;

constexpr int CHUNK_BYTES = 16, MOST_OF_A_SIDE = 256;
constexpr unsigned SINCE_CUDA = 12000;  // the version whose interface PFN_cuTensorMapEncodeTiled_v12000 has

// Asked for once: it takes the driver a moment, and a launch makes up to three maps.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const PFN_cuTensorMapEncodeTiled_v12000 found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, SINCE_CUDA, cudaEnableDefault, &result);
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || function == nullptr)
      throw CudaError("the driver has no cuTensorMapEncodeTiled, which TMA needs; update it to 580 or newer");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return found;
}

int element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return 4;
    default: throw std::invalid_argument("make_tensor_map knows no elements of type " + to_string(type));
  }
}

std::string hexadecimal(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

// Bytes of a box's row that the swizzle rearranges among themselves; 0: as many as there are.
int pattern_bytes(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE: return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B: return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 64;
    default: return 128;
  }
}

// TMA's own limits, sides of 2^32 elements and rows 2^40 bytes apart, are beyond what an int can ask for.
void require_matrix(const TensorMapRequest& asked) {
  const std::string size = to_string(asked.rows) + " x " + to_string(asked.columns);
  if (asked.rows < 1 || asked.columns < 1) throw BadInput("TMA takes no matrix of " + size + " elements");
  if (reinterpret_cast<std::uintptr_t>(asked.base) % CHUNK_BYTES != 0)
    throw BadInput("TMA needs a matrix that starts at a multiple of 16 bytes, not at " + hexadecimal(asked.base));
  if (asked.ld < asked.columns)
    throw BadInput("a leading dimension of " + to_string(asked.ld) + " is narrower than the matrix of " + size);
  const int bytes = element_bytes(asked.type);
  if (asked.ld * static_cast<long long>(bytes) % CHUNK_BYTES != 0)
    throw BadInput("TMA needs a leading dimension that is a multiple of " + to_string(CHUNK_BYTES / bytes) +
                   " elements (16 bytes), not " + to_string(asked.ld));
}

void require_box(const TensorMapRequest& asked) {
  const std::string box = "a box of " + to_string(asked.box_rows) + " x " + to_string(asked.box_columns) + " elements";
  const int row_bytes = asked.box_columns * element_bytes(asked.type), pattern = pattern_bytes(asked.swizzle);
  for (const int side : {asked.box_rows, asked.box_columns})
    if (side < 1 || side > MOST_OF_A_SIDE) throw std::invalid_argument("TMA takes sides from 1 to 256, not " + box);
  if (row_bytes % CHUNK_BYTES != 0)
    throw std::invalid_argument("TMA needs rows that are multiples of 16 bytes, not " + box);
  if (pattern != 0 && row_bytes > pattern)
    throw std::invalid_argument("the swizzle's pattern is " + to_string(pattern) + " bytes wide, less than a row of " +
                                box);
}

// The map of `rank` dimensions; sizes, box: in the order of the coordinates; strides: of all but the first, in bytes.
CUtensorMap encoded(const TensorMapRequest& asked, int rank, const cuuint64_t* sizes, const cuuint64_t* strides,
                    const cuuint32_t* box) {
  const cuuint32_t every_element[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status = encoder()(&map, asked.type, rank, const_cast<void*>(asked.base), sizes, strides, box,
                                    every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, asked.swizzle,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw CudaError("cuTensorMapEncodeTiled refuses " + to_string(asked.rows) + " x " + to_string(asked.columns) +
                    " elements at " + hexadecimal(asked.base) + ", leading dimension " + to_string(asked.ld) +
                    ", box " + to_string(asked.box_rows) + " x " + to_string(asked.box_columns) + ": driver error " +
                    to_string(static_cast<int>(status)));
  return map;
}

}  // namespace

CUtensorMap make_tensor_map(const TensorMapRequest& asked) {
  require_matrix(asked);
  require_box(asked);
  // In the order of the coordinates: along a row first. The distance of two elements of a row is not said: it is one.
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(asked.columns), static_cast<cuuint64_t>(asked.rows)};
  const cuuint64_t row_bytes = static_cast<cuuint64_t>(asked.ld) * element_bytes(asked.type);
  const cuuint32_t box[] = {static_cast<cuuint32_t>(asked.box_columns), static_cast<cuuint32_t>(asked.box_rows)};
  return encoded(asked, 2, sizes, &row_bytes, box);
}

CUtensorMap make_grouped_tensor_map(const TensorMapRequest& asked, int boxes) {
  require_matrix(asked);
  require_box(asked);
  if (asked.columns % asked.box_columns != 0)
    throw std::invalid_argument("boxes in groups need a matrix of whole boxes, not of " + to_string(asked.columns) +
                                " columns");
  const int bytes = element_bytes(asked.type);
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(asked.box_columns), static_cast<cuuint64_t>(asked.rows),
                              static_cast<cuuint64_t>(asked.columns / asked.box_columns)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(asked.ld) * bytes,
                                static_cast<cuuint64_t>(asked.box_columns) * bytes};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(asked.box_columns), static_cast<cuuint32_t>(asked.box_rows),
                            static_cast<cuuint32_t>(boxes)};
  return encoded(asked, 3, sizes, strides, box);
}
