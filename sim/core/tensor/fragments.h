/// Who holds what: the layouts of a warp's fragments (PTX ISA 9.7.14.5, warp-level matrix multiply-accumulate).
///
/// One picture lies behind all of them. A register of a warp is 8 lines of 16 bytes: lane l holds the 4 bytes l % 4 of
/// line l / 4. So one register holds an 8×8 matrix of 16-bit elements, or an 8×4 matrix of 32-bit ones; an accumulator
/// of 32 bits takes two registers for its 8×8 matrix. A fragment is a list of such matrices, each with its place in the
/// operand. In A and C the lines are rows; in B, which the hardware wants by columns, they are columns.
///
/// PTX leaves the layouts of wmma open. Here they are those that ptxas gives them on sm_80 to sm_90, where wmma becomes
/// ldmatrix and two mma instructions. A fragment of f16 has twice the registers it needs there, or four times: the rest
/// are copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace sim {

/// An element's place in its matrix.
struct Cell {
  uint8_t row = 0, col = 0;
  constexpr bool operator==(const Cell&) const = default;
};

enum class Role : uint8_t { a, b, c };  ///< A (m×k), B (k×n), C and D (m×n)

struct MmaShape {
  uint8_t m, n;
  uint16_t k;
  constexpr bool operator==(const MmaShape&) const = default;
};

struct Fragment {
  uint8_t rows = 0, cols = 0;
  uint8_t element_bytes = 2;
  bool lines_are_rows = true;
  uint8_t per_matrix = 2;           ///< elements of one matrix that a lane holds
  uint8_t matrices = 0;             ///< different ones
  std::array<Cell, 8> origin = {};  ///< of each matrix

  constexpr uint32_t elements() const { return uint32_t{matrices} * per_matrix; }  ///< of a lane
  constexpr uint32_t registers() const { return elements() * element_bytes / 4; }  ///< without copies

  /// Which element of the operand a lane's element is. The lane's registers hold its elements in order, the lower half
  /// of a register before the upper.
  constexpr Cell cell(uint32_t lane, uint32_t element) const {
    const Cell from = origin[element / per_matrix];
    const uint32_t line = lane / 4, along = lane % 4 * per_matrix + element % per_matrix;
    return {static_cast<uint8_t>(from.row + (lines_are_rows ? line : along)),
            static_cast<uint8_t>(from.col + (lines_are_rows ? along : line))};
  }
};

/// The fragment of an operand. `element_bytes`: 1 for FP8 and 8-bit integers, 2 for f16 and bf16, 4 for tf32, f32 and
/// s32, 8 for f64.
constexpr Fragment fragment(MmaShape shape, Role role, uint8_t element_bytes) {
  if (shape.m == 8 && shape.n > 8) {  // computed as its transpose: Cᵀ = Bᵀ·Aᵀ
    const Role other = role == Role::a ? Role::b : role == Role::b ? Role::a : Role::c;
    Fragment result = fragment({shape.n, shape.m, shape.k}, other, element_bytes);
    for (Cell& origin : result.origin) origin = {origin.col, origin.row};
    result.lines_are_rows = !result.lines_are_rows;
    const uint8_t rows = result.rows;
    result.rows = result.cols, result.cols = rows;
    return result;
  }
  Fragment result{.element_bytes = element_bytes};
  const auto add = [&](uint32_t row, uint32_t col) {
    result.origin[result.matrices++] = {static_cast<uint8_t>(row), static_cast<uint8_t>(col)};
  };
  // Elements of a line of 16 bytes, along k. Those of f64 lie as those of 32 bits, in registers of twice the size.
  const uint32_t depth = element_bytes == 8 ? 4 : 16u / element_bytes;
  switch (role) {
    case Role::a:
      result.rows = shape.m, result.cols = static_cast<uint8_t>(shape.k);
      for (uint32_t m = 0; m < shape.m; m += 16) {
        for (uint32_t k = 0; k < shape.k; k += depth) {
          add(m, k);
          if (shape.m > 8) add(m + 8, k);
        }
      }
      break;
    case Role::b:
      result.rows = static_cast<uint8_t>(shape.k), result.cols = shape.n;
      result.lines_are_rows = false;
      for (uint32_t n = 0; n < shape.n; n += 8) {
        for (uint32_t k = 0; k < shape.k; k += depth) add(k, n);
      }
      break;
    case Role::c:
      result.rows = shape.m, result.cols = shape.n;
      for (uint32_t n = 0; n < shape.n; n += 8) {
        for (uint32_t m = 0; m < shape.m; m += 8) add(m, n);
      }
      break;
  }
  result.per_matrix = static_cast<uint8_t>(role == Role::c ? 2 : depth / 4);
  return result;
}

/// What the lanes hold of an operand, by the size of its elements. Those of 4 bits lie two by two along k where a
/// fragment of half the depth has bytes; single bits lie eight by eight.
class HeldElements {
 public:
  constexpr HeldElements(MmaShape shape, Role role, uint32_t element_bits)
      : along_k_(static_cast<uint8_t>(element_bits < 8 ? 8 / element_bits : 1)),
        role_(role),
        fragment_(fragment({shape.m, shape.n, static_cast<uint16_t>(shape.k / along_k_)}, role,
                           static_cast<uint8_t>(element_bits < 8 ? 1 : element_bits / 8))) {}

  constexpr uint32_t rows() const { return fragment_.rows * (role_ == Role::b ? along_k_ : 1u); }
  constexpr uint32_t cols() const { return fragment_.cols * (role_ == Role::a ? along_k_ : 1u); }
  constexpr uint32_t count() const { return fragment_.elements() * along_k_; }  ///< of a lane
  constexpr Cell cell(uint32_t lane, uint32_t element) const {
    Cell at = fragment_.cell(lane, element / along_k_);
    uint8_t& k = role_ == Role::a ? at.col : at.row;
    if (along_k_ > 1) k = static_cast<uint8_t>(along_k_ * k + element % along_k_);
    return at;
  }

 private:
  uint8_t along_k_;  ///< elements in one place of the fragment
  Role role_;
  Fragment fragment_;
};

/// Calls body(lane, register, bit within it, cell) for each element of an operand that the lanes hold.
template <class Body>
void for_elements(MmaShape shape, Role role, uint32_t bits, Body body) {
  const HeldElements held(shape, role, bits);
  const uint32_t per_register = std::max(1u, 32 / bits);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < held.count(); ++i)
      body(lane, i / per_register, i % per_register * bits, held.cell(lane, i));
  }
}

/// ldmatrix and movmatrix: which element of its 8×8 matrix of 16-bit elements a lane's element 0 or 1 is.
constexpr Cell matrix_cell(uint32_t lane, uint32_t element, bool transposed) {
  const auto line = static_cast<uint8_t>(lane / 4), along = static_cast<uint8_t>(lane % 4 * 2 + element);
  return transposed ? Cell{along, line} : Cell{line, along};
}

}  // namespace sim
