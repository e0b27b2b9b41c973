// The shapes of problems: which a variant takes, and what is said of the others.
#pragma once

#include <cstddef>

#include "common/device/gemm.h"

/// C = alpha * A * B + beta * C with A m x k, B k x n, C m x n: a problem without its matrices.
struct Shape {
  int m, n, k;
  int lda = 0, ldb = 0, ldc = 0;  // elements between two stored rows; 0 until `completed` fills them in
  float alpha = 1.0f, beta = 0.0f;
};

/// Leading dimensions as the user gave them, in elements; 0: as narrow as the variant takes.
struct LeadingDimensions {
  int a = 0, b = 0, c = 0;
};

/// The shape with its leading dimensions filled in: as wide as the matrix, rounded up to what the variant takes. Throws
/// BadInput where a given one is narrower than its matrix, or where a matrix would have 2^31 elements or more.
Shape completed(Shape shape, const LeadingDimensions& given, const Variant& variant);

/// Throws BadInput, naming the constraint and the nearest size that works, where the variant refuses the shape.
void require_accepted(const Variant& variant, const Shape& shape);

/// Throws BadInput where less memory is free on the device than `needed` bytes.
void require_memory(std::size_t needed);

/// 2 m n k / ms, in TFLOPS.
inline double tflops(const Shape& shape, double ms) { return 2.0 * shape.m * shape.n * shape.k / (ms * 1e9); }
