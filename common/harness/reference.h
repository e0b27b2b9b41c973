// The FP64 reference: what C should be, and how large the sums behind each element are.
#pragma once

#include <vector>

#include "common/harness/matrix.h"

/// Operands of one check. `c` holds C before the launch; it is read only where beta != 0.
struct Operands {
  const Matrix& a;
  const Matrix& b;  // k x n, or n x k where b_transposed
  const Matrix& c;
  bool b_transposed;
  float alpha, beta;
  int k;
};

/// The elements of C at the crossings of some rows and some columns, computed in FP64.
///
/// value:     alpha * sum(a * b) + beta * c
/// magnitude: |alpha| * sum(|a| * |b|) + |beta * c|, what rounding errors are proportional to
/// Both are rows.size() x cols.size(), row-major, in device memory.
class Reference {
 public:
  Reference(const Operands& operands, std::vector<int> rows, std::vector<int> cols);

  const std::vector<int>& rows() const { return rows_; }
  const std::vector<int>& cols() const { return cols_; }
  const int* device_rows() const { return device_rows_.as<int>(); }
  const int* device_cols() const { return device_cols_.as<int>(); }
  const double* value() const { return value_.as<double>(); }
  const double* magnitude() const { return magnitude_.as<double>(); }
  std::size_t count() const { return rows_.size() * cols_.size(); }
  /// Device memory that it holds.
  std::size_t bytes() const {
    return device_rows_.bytes() + device_cols_.bytes() + value_.bytes() + magnitude_.bytes();
  }

 private:
  std::vector<int> rows_, cols_;
  DeviceBuffer device_rows_, device_cols_, value_, magnitude_;
};
