/// What the tensor-core instructions share.
#pragma once

#include <vector>

#include "machine/fragments.h"
#include "machine/warp.h"

namespace sim {

/// True when all 32 lanes execute the instruction, as `.sync.aligned` asks. Otherwise the caller returns: no lane does,
/// others are still to come, or (a report) will never come.
bool whole_warp(Warp& warp);

/// A warp's register as an 8×8 matrix of 16-bit elements.
struct Matrix {
  uint16_t at[8][8];
};

/// Lines to columns. `from` and `to` may be the same.
void transpose(const Matrix& from, Matrix& to);

/// D = A·B + C of m16n8k16 and m16n8k8, on lines as the registers hold them: each product exact, all of them and C
/// added in double precision in the order of k, rounded once.
struct Product {
  static constexpr uint32_t m = 16, n = 8, max_k = 16;
  alignas(64) float a[m][max_k];  ///< rows
  alignas(64) float b[n][max_k];  ///< columns
  alignas(64) double c[m][n];     ///< in and out

  void multiply(uint32_t k);
};

/// 64 elements of an 8×8 matrix to floats, `pitch` floats from line to line.
void widen_f16(const Matrix& from, float* to, uint32_t pitch);
void widen_bf16(const Matrix& from, float* to, uint32_t pitch);
/// 32 elements of an 8×4 matrix; the low 13 bits of a tf32 do not count.
void widen_tf32(const uint32_t* from, float* to, uint32_t pitch);

/// C's 8×8 matrices: of 16 bits in one register, of 32 bits in two.
void read_f16(const Matrix& from, double (*to)[Product::n]);
void write_f16(const double (*from)[Product::n], Matrix& to);
void read_f32(const uint32_t* first, const uint32_t* second, double (*to)[Product::n]);
void write_f32(const double (*from)[Product::n], uint32_t* first, uint32_t* second);

}  // namespace sim
