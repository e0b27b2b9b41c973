// The order in which blocks walk the tiles of C.
#pragma once

#include <cuda_runtime.h>

/// The tile (row, column) of block `index`, where blocks walk bands of `band_rows` tile rows, column after column.
///
/// Blocks that run at the same time then share rows of A and columns of B in the L2 cache: a wave of w blocks covers
/// about band_rows x w / band_rows tiles instead of a strip one tile high. Sizes are in tiles.
__device__ __forceinline__ int2 tile_in_bands(int index, int tile_rows, int tile_cols, int band_rows) {
  const int band = index / (band_rows * tile_cols);
  const int in_band = index % (band_rows * tile_cols);
  const int rows_here = min(band_rows, tile_rows - band * band_rows);  // the last band may be lower
  return make_int2(band * band_rows + in_band % rows_here, in_band / rows_here);
}
