/// What the tensor-core instructions share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/checks/pattern.h"
#include "core/tensor/fragments.h"
#include "core/warp/warp.h"

namespace sim {

/// True when all 32 lanes execute the instruction, as `.sync.aligned` asks. Otherwise some will never come: a report.
bool whole_warp(Warp& warp);

/// As PTX names it: "m16n8k16".
std::string name(MmaShape shape);

/// For a warp that is traced: writes down who holds what of an operand of the instruction being executed. `family`: mma
/// or wmma. C and D are laid out alike, as Role::c.
void trace_fragment(Warp& warp, const char* family, MmaShape shape, Role role, uint32_t element_bits);
/// The same for the 8×8 matrices of ldmatrix, one register each.
void trace_matrix(Warp& warp, bool transposed);

/// A warp's register as an 8×8 matrix of 16-bit elements.
struct Matrix {
  uint16_t at[8][8];
};

/// Lines to columns. `from` and `to` may be the same.
void transpose(const Matrix& from, Matrix& to);

/// Loads the rows of 16 bytes that `lanes` names in shared memory, checked and counted, into `count` registers: row i
/// of matrix j is at lane 8·j + i.
void load_rows(Warp& warp, uint32_t memo, Lanes& lanes, uint32_t count, const uint32_t* registers, bool transposed);

/// What a tensor core multiplies, and what it adds in.
enum class Factor : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, b1 };
enum class Sum : uint8_t { f16, f32, s32 };
/// Of an element; of single bits, of eight.
constexpr uint32_t bytes_of(Factor factor) {
  return factor == Factor::tf32 ? 4 : factor == Factor::f16 || factor == Factor::bf16 ? 2 : 1;
}

/// By its name in PTX.
Factor factor_named(std::string_view name);

/// c + products of integers: wrapped around, or at the end of s32 that it would pass.
inline s32 accumulated(s32 c, s32 products, bool saturates) {
  const s64 sum = s64{c} + products;
  return static_cast<s32>(saturates ? std::clamp<s64>(sum, INT32_MIN, INT32_MAX) : sum);
}

/// The tiles of an m16n8 product, of at most 32 columns of A. f32 holds all that a tensor core multiplies. Each factor
/// has its exponent: of a subnormal number the least one of its format, of a zero `no_exponent`.
///
/// They lie as the product wants them: a vector has the results of rows r and r + 8 in turns, for eight columns. So A
/// has the two rows side by side, B has each factor twice; and exponents come two columns of A at a time.
struct TileA {
  alignas(64) f32 value[8][32][2];        ///< row % 8, column, row / 8
  alignas(64) s16 exponent[8][16][2][2];  ///< row % 8, column / 2, row / 8, column % 2
  bool wild = false;  ///< some are infinite, not a number, or so large or small that f32 does not hold their products
};
struct TileB {
  alignas(64) f32 value[32][8][2];        ///< row, column, twice
  alignas(64) s16 exponent[16][8][2][2];  ///< row / 2, column, twice, row % 2
  bool wild = false;
};
struct TileC {
  alignas(64) f32 at[8][8][2];  ///< row % 8, column, row / 8; of s32 the bits
};
/// Sums before they are rounded.
struct Sums {
  alignas(64) f64 at[8][8][2];
};
inline constexpr s16 no_exponent = -2000;

/// Widens factors, but no integers, into a tile. What is read are registers, or as many bytes of memory: 8 lines of 16
/// bytes. Of A: `upper` has rows 0 to 7, `lower` rows 8 to 15, both from this column on. The low 13 bits of a tf32 do
/// not count.
void widen(Factor factor, const Matrix& upper, const Matrix& lower, TileA& to, uint32_t column);
/// Of B: the lines are rows, from this one on; of 16-bit factors only.
void widen(Factor factor, const Matrix& from, TileB& to, uint32_t row);
/// Of B: the lines are columns, from this row on.
void widen_columns(Factor factor, const Matrix& from, TileB& to, uint32_t row);

/// How a tensor core adds: over so many columns of A at once.
struct Adder {
  uint32_t k;  ///< 4, 8 or 16; 32 for the FP8 products of wgmma
  Sum sum;     ///< C's type
};

/// Fraction bits that are kept of each addend, beside the largest of them.
constexpr s32 kept_fraction(uint32_t k) { return k == 32 ? 13 : 25; }

/// c += a·b, as one instruction of the tensor core adds them: exact but for what is cut off each addend (see
/// product.cpp), and rounded once, as round_sums does.
void multiply(const TileA& a, const TileB& b, const Adder& adder, TileC& c);

/// c + a·b as it stands before it is rounded.
Sums exact_sums(const TileA& a, const TileB& b, const TileC& c, const Adder& adder);

/// Which row of B each stored element of a sparse A meets. The places are those of its elements in TileA.
struct Met {
  uint8_t row[8][32][2];  ///< row % 8, column, row / 8
};

/// The same with a sparse A, of which `a` has the stored elements: adder.k of them are added at once. B's rows are in
/// tiles of 32.
void multiply_sparse(const TileA& a, const Met& met, std::span<const TileB> b, const Adder& adder, TileC& c);

/// The sums as the instruction gives them: rounded toward zero to f32, or to f32 with only 13 fraction bits, or to
/// nearest even to f16.
void round_sums(const Sums& exact, const Adder& adder, TileC& to);
/// sums += c, each rounded to the nearest number of the type: add.f32, or add.f16.
void add_rounded(const TileC& c, Sum type, TileC& sums);

void round_to_f16(TileC& sums);

/// C from registers, and D to them: 16-bit elements in two, 32-bit elements in four. What is written as f16 has to be
/// rounded to it; a NaN becomes the hardware's own.
void read_sums(Sum type, const Matrix* const* registers, TileC& to);
void write_sums(Sum type, const TileC& from, Matrix* const* registers);

/// Of a register of FP8, the bytes 2·half and 2·half + 1 of each lane, as f16.
void fp8_to_f16(Factor factor, const Matrix& from, uint32_t half, Matrix& to);

}  // namespace sim
