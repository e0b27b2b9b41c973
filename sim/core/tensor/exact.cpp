/// Products that need no model of how a tensor core adds: mma and wmma of integers, of single bits and of f64 (PTX ISA
/// 9.7.14).
///
/// Sums of integers are exact. They wrap around, or with .satfinite are cut off at the ends of s32, once for each
/// instruction. Of single bits it is counted how many differ (.xor) or are both set (.and). A sum of f64 begins with c,
/// and is rounded after each product, in the order of k: as it was recorded on an H200.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <type_traits>
#include <vector>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/rounding.h"
#include "core/machine/block.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

constexpr uint32_t most_lines = 32, most_depth = 64;

/// What A or B is made of.
struct Element {
  uint8_t bits;
  bool is_signed;
};

struct ExactProduct {
  uint32_t d, a, b, c;  ///< registers, in Program::operand_lists
  MmaShape shape;
  Element of_a, of_b;
  uint8_t sum_bits;
  bool saturates, wmma;
  bool differ;     ///< single bits are counted that differ, not those that are both set
  Round rounding;  ///< of f64
};

/// Single bits come from the registers 32 at a time, as the words that lie there.
constexpr uint32_t word = 32;
template <class Value>
constexpr uint32_t places(uint32_t depth) {
  return std::is_same_v<Value, u32> ? depth / word : depth;
}

/// The rows of A, the columns of B (both along k), the rows of C.
template <class Value, uint32_t length>
using Lines = Value[most_lines][length];

/// A or B from its registers.
template <class Value>
void read_factor(Warp& warp, const ExactProduct& product, Role role, Lines<Value, most_depth>& to) {
  const uint32_t* const registers = warp.block.program.operand_lists.data() + (role == Role::a ? product.a : product.b);
  const Element element = role == Role::a ? product.of_a : product.of_b;
  const uint32_t bits = std::is_same_v<Value, u32> ? word : element.bits;
  const MmaShape shape{product.shape.m, product.shape.n, static_cast<uint16_t>(places<Value>(product.shape.k))};
  for_elements(shape, role, bits, [&](uint32_t lane, uint32_t number, uint32_t bit, Cell at) {
    Value& value = role == Role::a ? to[at.row][at.col] : to[at.col][at.row];
    if constexpr (!std::is_same_v<Value, s16>) {
      value = warp.lanes<const Value>(registers[number])[lane];
    } else {
      const u32 above = warp.lanes<const u32>(registers[number])[lane] << (32 - element.bits - bit);
      const uint32_t unused = 32 - element.bits;
      value =
          static_cast<Value>(element.is_signed ? static_cast<s32>(above) >> unused : static_cast<s32>(above >> unused));
    }
  });
}

s32 sum_of(const s16* a, const s16* b, s32 c, const ExactProduct& product) {
  s32 sum = 0;
  for (uint32_t k = 0; k < product.shape.k; ++k) sum += a[k] * b[k];
  return accumulated(c, sum, product.saturates);
}

s32 sum_of(const u32* a, const u32* b, s32 c, const ExactProduct& product) {
  s32 sum = 0;
  for (uint32_t k = 0; k < product.shape.k / word; ++k)
    sum += std::popcount(product.differ ? a[k] ^ b[k] : a[k] & b[k]);
  return accumulated(c, sum, false);
}

/// a·b + c. As recorded, a NaN stays the one it is, only quiet: of several that of b, else that of c. What has no value
/// is the negative NaN without a payload.
f64 fused(f64 a, f64 b, f64 c, Round how) {
  constexpr u64 quiet = u64{1} << 51, no_value = 0xfff8000000000000u;
  for (const f64 each : {b, c, a})
    if (std::isnan(each)) return std::bit_cast<f64>(std::bit_cast<u64>(each) | quiet);
  const f64 sum = how == Round::nearest ? multiply_add(a, b, c) : rounding::multiply_add(how, a, b, c);
  return std::isnan(sum) ? std::bit_cast<f64>(no_value) : sum;
}

f64 sum_of(const f64* a, const f64* b, f64 c, const ExactProduct& product) {
  for (uint32_t k = 0; k < product.shape.k; ++k) c = fused(a[k], b[k], c, product.rounding);
  return c;
}

/// `Factor`: what holds all elements of A and B; `Value`: C's elements.
template <class Factor, class Value>
void multiply(Warp& warp, const ExactProduct& product) {
  if (!whole_warp(warp)) return;
  const MmaShape shape = product.shape;
  if (warp.trace != nullptr) [[unlikely]] {
    const char* const family = product.wmma ? "wmma" : "mma";
    trace_fragment(warp, family, shape, Role::a, product.of_a.bits);
    trace_fragment(warp, family, shape, Role::b, product.of_b.bits);
    trace_fragment(warp, family, shape, Role::c, product.sum_bits);
  }
  Lines<Factor, most_depth> a, b;
  read_factor(warp, product, Role::a, a);
  read_factor(warp, product, Role::b, b);
  // Each element of C goes to where D has it: a register of C is read before D's of the same number is written.
  const uint32_t* const lists = warp.block.program.operand_lists.data();
  std::vector<Value> sums;
  for_elements(shape, Role::c, product.sum_bits, [&](uint32_t lane, uint32_t number, uint32_t, Cell at) {
    const Value c = warp.lanes<const Value>(lists[product.c + number])[lane];
    sums.push_back(sum_of(a[at.row], b[at.col], c, product));
  });
  size_t next = 0;
  for_elements(shape, Role::c, product.sum_bits, [&](uint32_t lane, uint32_t number, uint32_t, Cell) {
    warp.lanes<Value>(lists[product.d + number])[lane] = sums[next++];
  });
}

/// "m16n8k32"; none for any other modifier.
std::optional<MmaShape> shape_named(std::string_view part) {
  const size_t n = part.find('n'), k = part.find('k');
  if (part[0] != 'm' || n == std::string_view::npos || k == std::string_view::npos) return std::nullopt;
  const auto number = [&](size_t after) {
    return static_cast<uint16_t>(std::stoul(std::string(part.substr(after + 1))));
  };
  return MmaShape{static_cast<uint8_t>(number(0)), static_cast<uint8_t>(number(n)), number(k)};
}

/// The types end the opcode: …A.B.C, and what says how to add behind them or before.
void build(Builder& builder) {
  static const std::set<std::string_view> ways = {"satfinite", "rn", "rz", "rm", "rp", "xor", "and", "popc"};
  std::vector<std::string_view> parts = builder.parts();
  std::erase_if(parts, [](std::string_view part) { return ways.contains(part); });
  const auto element = [](std::string_view name) {
    return Element{static_cast<uint8_t>(std::stoul(std::string(name.substr(1)))), name[0] == 's'};
  };
  const auto& operands = builder.operands();
  if (operands.size() != 4) builder.refuse("four lists of registers are needed");
  auto& made = builder.made<ExactProduct>();
  made.wmma = parts[0] == "wmma";
  for (const std::string_view part : parts) {
    if (const auto shape = shape_named(part)) made.shape = *shape;
  }
  made.of_a = element(parts[parts.size() - 3]);
  made.of_b = element(parts[parts.size() - 2]);
  made.sum_bits = element(parts.back()).bits;
  made.saturates = builder.has("satfinite");
  made.differ = builder.has("xor");
  made.rounding = builder.has("rz")   ? Round::zero
                  : builder.has("rm") ? Round::down
                  : builder.has("rp") ? Round::up
                                      : Round::nearest;
  const auto registers = [&](size_t operand, Role role, uint32_t bits) {
    const uint32_t count = HeldElements(made.shape, role, bits).count() * std::min(bits, 32u) / 32;
    return builder.registers(operands[operand], count, operand == 0, bits == 64 ? ptx::Width::b64 : ptx::Width::b32);
  };
  made.d = registers(0, Role::c, made.sum_bits);
  made.a = registers(1, Role::a, made.of_a.bits);
  made.b = registers(2, Role::b, made.of_b.bits);
  made.c = registers(3, Role::c, made.sum_bits);
}

}  // namespace

[[gnu::cold]] void add_exact_products(Table& table) {
  const Form integers{"", Class::tensor, handle_together<every_lane<ExactProduct>, multiply<s16, s32>>, build};
  const Form bits{"", Class::tensor, handle_together<every_lane<ExactProduct>, multiply<u32, s32>>, build};
  const Form doubles{"", Class::tensor, handle_together<every_lane<ExactProduct>, multiply<f64, f64>>, build};
  const std::string mma = "mma.sync.aligned.", wmma = "wmma.mma.sync.aligned.{row,col}.{row,col}.";
  table.add(mma + "{m8n8k16,m16n8k16,m16n8k32}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", integers);
  table.add(mma + "{m8n8k32,m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", integers);
  table.add(mma + "{m8n8k128,m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.{xor,and}.popc", bits);
  table.add(mma + "{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64", doubles);
  table.add(wmma + "{m16n16k16,m32n8k16,m8n32k16}.s32.{s8.s8,u8.u8}.s32{,.satfinite}", integers);
  table.add("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{s4.s4,u4.u4}.s32{,.satfinite}", integers);
  table.add("wmma.mma.{xor,and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", bits);
  table.add(wmma + "m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64", doubles);
  table.add(wmma + "m8n8k4.f64.f64.f64.f64.{rn,rz,rm,rp}", doubles);
}

}  // namespace sim
