/// The old mma m8n8k4 of f16: four products at once, one for each quad pair, eight lanes of a warp (PTX
/// ISA 9.7.14.5.1).
///
/// Quad pair q has lanes 4q to 4q + 3 and 4q + 16 to 4q + 19. sm_90 has no such instruction: ptxas makes shuffles and
/// ordinary arithmetic of it, which is what is done here.
///   - Where D is f32, the four products are added to zero in the order of k, each by an fma, and the sum to c.
///   - Where D is f16, the sum of the first two products is added to c, then that of the others, all in f32: of each
///     pair one product is rounded, the other added by an fma. The result is rounded once more.
#include <array>
#include <bit>
#include <cmath>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/half.h"
#include "core/machine/block.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

constexpr uint32_t side = 8, depth = 4, quad = 4, pairs = 4;

struct PairProduct {
  uint32_t d, a, b, c;  ///< registers, in Program::operand_lists
  bool a_by_rows, b_by_rows;
  bool wide_c, wide_d;  ///< f32
};

/// One of the four: A by rows, B by columns, and C.
struct Matrices {
  f32 a[side][depth], b[side][depth], c[side][side];
};

/// The lane of a quad pair that is number i of the eight.
constexpr uint32_t lane_of(uint32_t pair, uint32_t i) { return pair * quad + i % quad + i / quad * 16; }

/// Element i of the 16-bit elements that a lane holds.
f32 half_of(Warp& warp, const uint32_t* registers, uint32_t lane, uint32_t i) {
  return Half::widened(static_cast<u16>(warp.lanes<const u32>(registers[i / 2])[lane] >> i % 2 * 16));
}

/// Of a factor with lines of k: a lane holds a line, or one k of four lines.
void read_factor(Warp& warp, const uint32_t* registers, uint32_t pair, bool lines, f32 (&to)[side][depth]) {
  for (uint32_t i = 0; i < side; ++i) {
    for (uint32_t element = 0; element < depth; ++element) {
      const f32 value = half_of(warp, registers, lane_of(pair, i), element);
      if (lines)
        to[i][element] = value;
      else
        to[element + i / quad * quad][i % quad] = value;
    }
  }
}

/// Where element `element` of C or D is that the lane with number i holds. Halves lie in whole rows, f32 two by two.
constexpr Cell sum_cell(uint32_t i, uint32_t element, bool wide) {
  if (!wide) return {static_cast<uint8_t>(i), static_cast<uint8_t>(element)};
  return {static_cast<uint8_t>(i % 2 + (element & 2) + i / quad * quad),
          static_cast<uint8_t>((element & 4) + (i & 2) + element % 2)};
}

f32 sum_of(const f32 (&a)[depth], const f32 (&b)[depth], f32 c, bool wide) {
  if (wide) {
    f32 sum = 0;
    for (uint32_t k = 0; k < depth; ++k) sum = multiply_add(a[k], b[k], sum);
    return c + sum;
  }
  const f32 first = multiply_add(a[1], b[1], a[0] * b[0]), second = multiply_add(a[3], b[3], a[2] * b[2]);
  return (c + first) + second;
}

void read_sums(Warp& warp, const uint32_t* registers, uint32_t pair, bool wide, f32 (&to)[side][side]) {
  for (uint32_t i = 0; i < side; ++i) {
    for (uint32_t element = 0; element < side; ++element) {
      const uint32_t lane = lane_of(pair, i);
      const Cell at = sum_cell(i, element, wide);
      to[at.row][at.col] =
          wide ? warp.lanes<const f32>(registers[element])[lane] : half_of(warp, registers, lane, element);
    }
  }
}

void write_sums(Warp& warp, const uint32_t* registers, uint32_t pair, bool wide, const f32 (&from)[side][side]) {
  for (uint32_t i = 0; i < side; ++i) {
    for (uint32_t element = 0; element < side; ++element) {
      const uint32_t lane = lane_of(pair, i);
      const Cell at = sum_cell(i, element, wide);
      const f32 sum = from[at.row][at.col];
      if (wide) {
        warp.lanes<f32>(registers[element])[lane] = canonical(sum);
        continue;
      }
      u32& both = warp.lanes<u32>(registers[element / 2])[lane];
      const uint32_t shift = element % 2 * 16;
      both = (both & ~(0xffffu << shift)) | u32{Half::rounded(sum)} << shift;
    }
  }
}

void multiply_pairs(Warp& warp, const PairProduct& product) {
  if (!whole_warp(warp)) return;
  const uint32_t* const lists = warp.block.program.operand_lists.data();
  std::array<Matrices, pairs> all;  // registers of D may be those of A, B or C
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    read_factor(warp, lists + product.a, pair, product.a_by_rows, all[pair].a);
    read_factor(warp, lists + product.b, pair, !product.b_by_rows, all[pair].b);
    read_sums(warp, lists + product.c, pair, product.wide_c, all[pair].c);
  }
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    Matrices& each = all[pair];
    for (uint32_t row = 0; row < side; ++row) {
      for (uint32_t col = 0; col < side; ++col)
        each.c[row][col] = sum_of(each.a[row], each.b[col], each.c[row][col], product.wide_d);
    }
    write_sums(warp, lists + product.d, pair, product.wide_d, each.c);
  }
}

/// mma.sync.aligned.m8n8k4.A's layout.B's layout.D.f16.f16.C
void build_pairs(Builder& builder) {
  const std::string& opcode = builder.written().opcode;
  const auto& operands = builder.operands();
  if (operands.size() != 4) builder.refuse("four lists of registers are needed");
  auto& made = builder.made<PairProduct>();
  const std::string layouts = opcode.substr(opcode.find("m8n8k4.") + 7);
  made.a_by_rows = layouts.starts_with("row");
  made.b_by_rows = layouts.substr(4).starts_with("row");
  made.wide_d = layouts.find(".f32.f16") != std::string::npos;
  made.wide_c = opcode.ends_with(".f32");
  made.d = builder.registers(operands[0], made.wide_d ? 8 : 4, true);
  made.a = builder.registers(operands[1], 2, false);
  made.b = builder.registers(operands[2], 2, false);
  made.c = builder.registers(operands[3], made.wide_c ? 8 : 4, false);
}

}  // namespace

[[gnu::cold]] void add_quad_pair_products(Table& table) {
  const Form form{"", Class::tensor, handle_together<every_lane<PairProduct>, multiply_pairs>, build_pairs};
  table.add("mma.sync.aligned.m8n8k4.{row,col}.{row,col}.{f16.f16.f16.f16,f32.f16.f16.f16,f32.f16.f16.f32}", form);
}

}  // namespace sim
