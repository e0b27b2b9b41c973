/// What the tensor-core instructions share.
#pragma once

#include <vector>

#include "machine/fragments.h"
#include "machine/warp.h"

namespace sim {

/// True when all 32 lanes execute the instruction, as `.sync.aligned` asks. Otherwise some will never come: a report.
bool whole_warp(Warp& warp);

/// For a warp that is traced: writes down who holds what of an operand of the instruction being executed. `family`: mma
/// or wmma. C and D are laid out alike, as Role::c.
void trace_fragment(Warp& warp, const char* family, MmaShape shape, Role role, uint8_t element_bytes);
/// The same for the 8×8 matrices of ldmatrix, one register each.
void trace_matrix(Warp& warp, bool transposed);

/// A warp's register as an 8×8 matrix of 16-bit elements.
struct Matrix {
  uint16_t at[8][8];
};

/// Lines to columns. `from` and `to` may be the same.
void transpose(const Matrix& from, Matrix& to);

/// The tiles of an m16n8 product, in double precision: every number that a tensor core takes is exact there.
struct TileA {
  static constexpr uint32_t pitch = 16;
  alignas(64) double at[16][pitch];
};
struct TileB {
  static constexpr uint32_t pitch = 8;
  alignas(64) double at[16][pitch];
};
struct TileC {
  alignas(64) double at[16][8];
};

/// c += a·b over k columns of `a`: products one by one in the order of k, each exact, each sum rounded to double.
void multiply(const TileA& a, const TileB& b, TileC& c, uint32_t k);

/// An 8×8 matrix of 16 bits, or an 8×4 matrix of 32 bits, to doubles, `pitch` from line to line. The low 13 bits of a
/// tf32 do not count.
void widen_f16(const Matrix& from, double* to, uint32_t pitch);
void widen_bf16(const Matrix& from, double* to, uint32_t pitch);
void widen_tf32(const uint32_t* from, double* to, uint32_t pitch);
/// The same with lines as columns.
void widen_tf32_turned(const uint32_t* from, double* to, uint32_t pitch);

/// C's 8×8 matrices: of 16 bits in one register, of 32 bits in two. Writing rounds to nearest even, once.
void read_f32(const uint32_t* first, const uint32_t* second, double (*to)[8]);
void write_f16(const double (*from)[8], Matrix& to);
void write_f32(const double (*from)[8], uint32_t* first, uint32_t* second);

}  // namespace sim
