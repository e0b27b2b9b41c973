// The FP64 reference: what C should be, and how large the sums behind each element are; and a C held against it.
#pragma once

#include <string>
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
  BlockScales scales{};
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
  void compute(const Operands& operands);

  std::vector<int> rows_, cols_;
  DeviceBuffer device_rows_, device_cols_, value_, magnitude_;
};

/// How far an element may be from the reference.
///   exact:  it must equal the reference rounded once to C's type.
///   else:   |out - ref| <= (2 u_in + 8 u_acc) * magnitude + max(u_out |ref|, least_out) + |alpha| least_acc
///   else, in digits of 8 bits, for normal inputs, of size 8 at most, whose rows and columns are all scaled alike:
///           |out - ref| <= |alpha| 256^(1 - digits) sqrt(k) + max(u_out |ref|, least_out)
/// u: unit roundoff of the type, u_in twice that where a variant cuts its operands; least: half the spacing of its
/// subnormal numbers, below which no rounding error is relative any more. An infinite result is right where the
/// reference is beyond C's type, or so near its largest number that the bound reaches it; with beta != 0 any that is
/// not finite is right where the sum may overflow in float before beta * c is added.
struct Tolerance {
  bool exact;
  double per_magnitude;  // 2 u_in + 8 u_acc
  double per_value;      // u_out
  double least;          // of u_out |ref|
  double of_sum;         // |alpha| least_acc; in digits, |alpha| 256^(1 - digits) sqrt(k)
  double largest;        // finite number of C's type
  double overflow;       // magnitudes beyond this may be infinite on the way

  __host__ __device__ double bound(double want, double magnitude) const;
};

/// The tolerance for a kernel of these types with this scaling and depth.
///
/// In digits: elements of at most 8 become integers by a power of two u of at most 16 * 256^-digits. The rounding to
/// integers (0.41 u per product) and the products that are left out (at most 2.3 u) have no sign, so that they add up
/// as sqrt(k); the bound is 6 to 12 deviations, 16 u sqrt(k). A rounding on the way that has a sign exceeds it.
Tolerance tolerance_for(InputKind kind, const Variant& variant, float alpha = 1.0f, float beta = 0.0f, int k = 1);

/// What a comparison found. `row`, `col`, `got`, `want`, `bound` describe the first wrong element, if any.
struct Comparison {
  bool passed = true;
  std::string damage;  // what was written that had to be left alone; usually empty
  unsigned long long wrong = 0;
  int row = -1, col = -1;
  double got = 0, want = 0, bound = 0;
  double worst_of_bound = 0;  // largest |out - ref| / bound of the right ones; 0 for exact comparisons
  double error = 0;           // ||out - ref|| / ||ref||

  /// Adds what another selection of the same matrix showed.
  void merge(const Comparison& other);
  /// One line: where, what, and what was expected.
  std::string message() const;
};

/// Compares the selection's elements of `c` with the reference. NaN never passes where sums cannot overflow.
Comparison compare(const Reference& reference, const Matrix& c, const Tolerance& tolerance);
