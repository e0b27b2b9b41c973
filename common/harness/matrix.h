// Matrices on the device (in the simulator, "the device" is host memory that the simulator owns).
#pragma once

#include <cstdint>
#include <vector>

#include "common/harness/inputs.h"
#include "common/harness/memory.h"

/// A row-major rows x cols matrix in device memory; `ld` elements lie between the starts of two rows.
class Matrix {
 public:
  Matrix(DType type, int rows, int cols, int ld);

  /// Draws every element; the padding between cols and ld becomes NaN, so that reading it shows.
  void fill(const Recipe& recipe);
  /// Sets every byte to 0xff: NaN in every type.
  void poison();
  void copy_from(const Matrix& other);
  /// All elements in row-major order without the padding, as doubles. For small matrices.
  std::vector<double> to_host() const;
  /// One element. Slow; for messages.
  double at(int row, int col) const;

  void* data() const { return buffer_.get(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  DType type() const { return type_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int ld() const { return ld_; }

 private:
  DType type_;
  int rows_, cols_, ld_;
  DeviceBuffer buffer_;
};
