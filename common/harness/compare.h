// One output matrix held against a reference, element by element.
#pragma once

#include <string>

#include "common/harness/reference.h"

/// How far an element may be from the reference.
///   exact:  it must equal the reference rounded once to C's type.
///   else:   |out - ref| <= (2 * u_in + 8 * u_acc) * magnitude + u_out * |ref|, u = unit roundoff of the type.
struct Tolerance {
  bool exact;
  double per_magnitude;  // 2 * u_in + 8 * u_acc
  double per_value;      // u_out
};

/// The tolerance for a kernel with these types.
Tolerance tolerance_for(InputKind kind, DType ab, DType acc, DType out);

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

/// Compares the selection's elements of `c` with the reference. NaN never passes.
Comparison compare(const Reference& reference, const Matrix& c, const Tolerance& tolerance);
