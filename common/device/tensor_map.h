// Tensor maps: what TMA is told of a matrix in global memory, once, before the launch.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/device/types.h"

/// A row-major matrix, as make_tensor_map is told of it. Sizes are in elements.
struct TensorMapRequest {
  CUtensorMapDataType type;
  const void* base;
  int rows, columns;
  int ld;                     // elements between the starts of two neighbouring rows
  int box_rows, box_columns;  // of the box that one copy moves
  CUtensorMapSwizzle swizzle;
};

/// The tensor map of a matrix. Nothing is linked with the driver's library: the runtime is asked for the function.
///
/// Where a box reaches beyond the matrix, a load fills in zeros and a store leaves out what lies outside. L2 reads 256
/// bytes where one of them is asked for.
///
/// Throws BadInput where TMA cannot take the matrix: `base` and the bytes of a row have to be multiples of 16.
/// Throws std::invalid_argument where it cannot take the box: a side of more than 256 elements, a row of it that is no
/// multiple of 16 bytes or wider than the swizzle's pattern (128 bytes by default). Throws CudaError where the driver
/// has no tensor maps, or refuses this one. Each says which pointer, leading dimension or side it is.
CUtensorMap make_tensor_map(const TensorMapRequest& request);

/// The same with `boxes` boxes, side by side in the matrix, in one copy; they come to lie one behind the other. The
/// element at (row, column) has three coordinates: (column % box_columns, row, column / box_columns). The matrix's
/// columns are a multiple of the box's; std::invalid_argument otherwise.
CUtensorMap make_grouped_tensor_map(const TensorMapRequest& request, int boxes);

/// The same by the type of the elements; TMA knows no FP8, which are bytes for it, and rounds TF32 to nearest, ties to
/// even, as it loads them. The element at (row, column) is
/// `base[row * ld + column]`; a copy names where its box starts as (column, row). The box lies in shared memory row by
/// row; with the 128-byte swizzle, chunk c of 16 bytes of row r, of which there are 8, is the row's chunk c ^ (r % 8),
/// where the box starts at a multiple of 1024 bytes.
template <class T>
CUtensorMap make_tensor_map(const T* base, int rows, int columns, int ld, int box_rows, int box_columns,
                            CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B);

template <>
inline CUtensorMap make_tensor_map(const __half* base, int rows, int columns, int ld, int box_rows, int box_columns,
                                   CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_FLOAT16, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const __nv_bfloat16* base, int rows, int columns, int ld, int box_rows,
                                   int box_columns, CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const std::int8_t* base, int rows, int columns, int ld, int box_rows,
                                   int box_columns, CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const __nv_fp8_e4m3* base, int rows, int columns, int ld, int box_rows,
                                   int box_columns, CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const __nv_fp8_e5m2* base, int rows, int columns, int ld, int box_rows,
                                   int box_columns, CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const int* base, int rows, int columns, int ld, int box_rows, int box_columns,
                                   CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_INT32, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const float* base, int rows, int columns, int ld, int box_rows, int box_columns,
                                   CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_FLOAT32, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
template <>
inline CUtensorMap make_tensor_map(const tf32_t* base, int rows, int columns, int ld, int box_rows, int box_columns,
                                   CUtensorMapSwizzle swizzle) {
  return make_tensor_map({CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, base, rows, columns, ld, box_rows, box_columns, swizzle});
}
