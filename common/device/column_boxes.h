// A matrix that is loaded in boxes of 32 floats of a row, several of them side by side: by one copy where the matrix is
// of whole boxes, else by a copy for each. Four copies of 4 KB to two blocks made step 30 slower by 2 % than one of 16
// KB, in a trial that was not recorded.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/tensor_map.h"

/// The matrix's map; `at_once`: boxes of a copy.
struct ColumnBoxes {
  static constexpr int COLUMNS = 32, ROW_BYTES = COLUMNS * sizeof(float);
  CUtensorMap map;
  int at_once;
};

/// Of a row-major matrix; BOXES: loaded side by side. ROUNDED: to TF32.
inline ColumnBoxes column_boxes(const void* base, int rows, int columns, int ld, int box_rows, int boxes,
                                bool rounded) {
  const auto type = rounded ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const TensorMapRequest asked = {
      type, base, rows, columns, ld, box_rows, ColumnBoxes::COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B};
  if (columns % ColumnBoxes::COLUMNS != 0) return {make_tensor_map(asked), 1};
  return {make_grouped_tensor_map(asked, boxes), boxes};
}

/// Starts to load BOXES boxes of ROWS rows from (row, column) on into every block whose rank's bit is set in `ranks`,
/// one behind the other, each swizzled in itself. Each byte counts in the barrier's phase.
template <int BOXES, int ROWS>
__device__ __forceinline__ void load_boxes_multicast(char* shared, const ColumnBoxes& matrix, int column, int row,
                                                     Barrier* barrier, uint16_t ranks) {
  if (matrix.at_once == BOXES) {
    tma_load_multicast(shared, matrix.map, 0, row, column / ColumnBoxes::COLUMNS, barrier, ranks);
  } else {
#pragma unroll 1
    for (int box = 0; box < BOXES; ++box)
      tma_load_multicast(shared + box * ROWS * ColumnBoxes::ROW_BYTES, matrix.map, column + box * ColumnBoxes::COLUMNS,
                         row, barrier, ranks);
  }
}
