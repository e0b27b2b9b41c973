// Size, layout and scaling of one problem: what `Gemm` is without the matrices.
#pragma once

/// C = alpha * A * B + beta * C with A m x k, B k x n, C m x n.
struct Shape {
  int m, n, k;
  int lda = 0, ldb = 0, ldc = 0;  // elements between two stored rows; 0 until `completed` fills them in
  float alpha = 1.0f, beta = 0.0f;
};

/// 2 m n k / ms, in TFLOPS.
inline double tflops(const Shape& shape, double ms) { return 2.0 * shape.m * shape.n * shape.k / (ms * 1e9); }
