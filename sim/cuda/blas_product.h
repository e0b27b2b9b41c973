/// Matrix products of cuBLAS's two interfaces, on the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim::blas {

enum Status { success = 0, not_initialised = 1, invalid_value = 7, execution_failed = 13, not_supported = 15 };
enum Operation { plain = 0, transposed = 1, conjugated = 2 };
enum Type { f32 = 0, f64 = 1, f16 = 2, s8 = 3, s32 = 10, bf16 = 14, e4m3 = 28, e5m2 = 29 };
enum Compute {
  compute_f16 = 64,
  compute_f16_pedantic = 65,
  compute_f32 = 68,
  compute_f64 = 70,
  compute_f64_pedantic = 71,
  compute_s32 = 72,
  compute_s32_pedantic = 73
};

/// A matrix in columns, as BLAS has them.
struct Matrix {
  const void* data;
  int type, leading;
  int64_t stride = 0;  ///< to the next of a batch, in elements
};

/// D = alpha·op(A)·op(B) + beta·C
struct Product {
  const char* function;
  int op_a, op_b, m, n, k;
  double alpha, beta;
  Matrix a, b, c, d;
  int compute;
};

size_t bytes_of(int type);
double number(const void* from, int type, size_t at);
/// The type of alpha and beta.
int scalar_type(int compute);
Status multiply(const Product& product, int batches = 1);
/// Refuses a function.
Status by_name(const char* name);

}  // namespace sim::blas
