// The three matrices of one problem.
#pragma once

#include <cstdint>

#include "common/device/gemm.h"
#include "common/harness/matrix.h"
#include "common/harness/shape.h"

/// A, B and C of one problem, in a variant's types and layout.
struct Matrices {
  Matrix a;
  Matrix b;  // k x n, or n x k for a TN variant
  Matrix c;

  /// Allocates them; what they hold is undefined. `shape` is completed.
  Matrices(const Variant& variant, const Shape& shape);

  /// How matrix 0 (A), 1 (B) or 2 (C before the launch) is drawn.
  static Recipe recipe(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed, int matrix);
  /// Fills A and B.
  void draw(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed);

  /// The problem over these matrices, with the shape's scaling.
  Problem problem(const Shape& shape) const;
  std::size_t bytes() const { return a.bytes() + b.bytes() + c.bytes(); }
};
