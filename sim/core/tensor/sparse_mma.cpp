/// mma.sp and mma.sp::ordered_metadata: products of a sparse A (PTX ISA 9.7.14.6). One stored element of A meets one
/// row of B, so that half of k is multiplied. In the order in which the machine code of sm_90 adds:
///   - A product of f16, bf16 or tf32 is one instruction, whatever its depth.
///   - Of FP8 it is two of f16: of the groups of A with even numbers, from zero, and then of the others on top. C is
///     added last, as by an `add`.
///   - Sums of integers are exact, and wrap around or are cut off at the ends of s32 once.
#include <algorithm>
#include <array>
#include <string>

#include "core/machine/block.h"
#include "core/tensor/sparse.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// Registers are first ones in Program::operand_lists, but for that of the metadata.
struct SparseProduct {
  uint32_t d, a, b, c, metadata;
  Sparsity sparsity;
  MmaShape shape;
  Factor a_type, b_type;  ///< of floating-point numbers
  Sum sum;
  bool signed_a, signed_b, saturates;

  /// Registers of A, and of B: half of A is stored, and it has twice B's lines.
  uint32_t registers() const { return sparsity.depth * sparsity.element_bits / 128u; }
  uint32_t sum_registers() const { return sum == Sum::f16 ? 2 : 4; }
  MmaShape stored_shape() const { return {shape.m, shape.n, static_cast<uint16_t>(sparsity.stored())}; }
};

/// Before the product: reports what is wrong, and writes down who holds what.
bool begins(Warp& warp, const SparseProduct& product, const Metadata& metadata) {
  if (!whole_warp(warp)) return false;
  if (warp.block.launch.options.watch) check_metadata(warp, product.sparsity, metadata);
  if (warp.trace != nullptr) [[unlikely]] {
    trace_fragment(warp, "mma.sp", product.stored_shape(), Role::a, product.sparsity.element_bits);
    trace_fragment(warp, "mma.sp", product.shape, Role::b, product.sparsity.element_bits);
    trace_fragment(warp, "mma.sp", product.shape, Role::c, product.sum == Sum::f16 ? 16 : 32);
  }
  return true;
}

/// A warp's registers, from one of Program::operand_lists on.
struct Registers {
  Matrix& operator[](uint32_t i) const { return *warp.lanes<Matrix>(warp.block.program.operand_lists[first + i]); }
  std::array<Matrix*, 4> sums(Sum type) const {
    if (type == Sum::f16) return {&(*this)[0], &(*this)[1]};
    return {&(*this)[0], &(*this)[1], &(*this)[2], &(*this)[3]};
  }
  Warp& warp;
  uint32_t first;
};

/// All stored elements at once.
void multiply_at_once(const SparseProduct& product, const Registers& a, const Registers& b, const Places& places,
                      TileC& sum) {
  const uint32_t depth = 128u / product.sparsity.element_bits;  // along k, of a register
  TileA tile_a;
  TileB tile_b;
  for (uint32_t i = 0; i < product.registers() / 2; ++i)
    widen(product.a_type, a[2 * i], a[2 * i + 1], tile_a, i * depth);
  for (uint32_t i = 0; i < product.registers(); ++i) widen_columns(product.b_type, b[i], tile_b, i * depth);
  const Adder adder{.k = product.sparsity.stored(), .sum = product.sum};
  multiply_sparse(tile_a, met_rows(places, adder.k), {&tile_b, 1}, adder, sum);
}

/// As two products of f16. Of each four bytes of A the first two belong to the first.
void multiply_fp8(const SparseProduct& product, const Registers& a, const Registers& b, const Places& places,
                  TileC& sum) {
  constexpr uint32_t depth = 16;  // along k, of a register
  constexpr Adder adder{.k = 16, .sum = Sum::f32};
  std::array<TileB, 2> tiles_b;
  Matrix converted[2];
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t half = 0; half < 2; ++half) {
      fp8_to_f16(product.b_type, b[i], half, converted[0]);
      widen_columns(Factor::f16, converted[0], tiles_b[i / 2], i % 2 * depth + half * 8);
    }
  }
  // In its tiles, B has each 16 of k in the order in which they were converted.
  const auto row_of_b = [](uint32_t k) { return k / 16 * 16 + k % 4 / 2 * 8 + k % 16 / 4 * 2 + k % 2; };
  for (uint32_t half = 0; half < 2; ++half) {
    TileA tile_a;
    Met met;
    for (uint32_t i = 0; i < 2; ++i) {
      for (uint32_t part = 0; part < 2; ++part) fp8_to_f16(product.a_type, a[2 * i + part], half, converted[part]);
      widen(Factor::f16, converted[0], converted[1], tile_a, 8 * i);
    }
    for (uint32_t row = 0; row < 16; ++row) {
      for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t stored = i / 2 * 4 + 2 * half + i % 2;
        met.row[row % 8][i][row / 8] = static_cast<uint8_t>(row_of_b(places.k[row][stored]));
      }
    }
    multiply_sparse(tile_a, met, tiles_b, adder, sum);
  }
}

void multiply_floating(Warp& warp, const SparseProduct& product) {
  const Metadata metadata = metadata_of(warp, product.metadata);
  if (!begins(warp, product, metadata)) return;
  const Places where = places(product.sparsity, metadata);
  const Registers a{warp, product.a}, b{warp, product.b};
  TileC addend, sum = {};
  read_sums(product.sum, Registers{warp, product.c}.sums(product.sum).data(), addend);
  if (product.sparsity.element_bits == 8) {
    multiply_fp8(product, a, b, where, sum);
    add_rounded(addend, product.sum, sum);
  } else {
    sum = addend;
    multiply_at_once(product, a, b, where, sum);
  }
  write_sums(product.sum, sum, Registers{warp, product.d}.sums(product.sum).data());
}

void multiply_integers(Warp& warp, const SparseProduct& product) {
  const Metadata metadata = metadata_of(warp, product.metadata);
  if (!begins(warp, product, metadata)) return;
  const Places where = places(product.sparsity, metadata);
  const uint32_t bits = product.sparsity.element_bits;
  const uint32_t* const lists = warp.block.program.operand_lists.data();
  const auto element = [&](uint32_t first, uint32_t lane, uint32_t number, uint32_t bit, bool is_signed) {
    const u32 above = warp.lanes<const u32>(lists[first + number])[lane] << (32 - bits - bit);
    return static_cast<s16>(is_signed ? static_cast<s32>(above) >> (32 - bits)
                                      : static_cast<s32>(above >> (32 - bits)));
  };
  // A with its zeros.
  s16 rows[16][128] = {}, columns[8][128];
  for_elements(product.stored_shape(), Role::a, bits, [&](uint32_t lane, uint32_t number, uint32_t bit, Cell at) {
    rows[at.row][where.k[at.row][at.col]] = element(product.a, lane, number, bit, product.signed_a);
  });
  for_elements(product.shape, Role::b, bits, [&](uint32_t lane, uint32_t number, uint32_t bit, Cell at) {
    columns[at.col][at.row] = element(product.b, lane, number, bit, product.signed_b);
  });
  std::array<std::array<s32, warp_size>, 4> sums;  // by register: D may have those of C in another order
  for_elements(product.shape, Role::c, 32, [&](uint32_t lane, uint32_t number, uint32_t, Cell at) {
    s32 sum = 0;
    for (uint32_t k = 0; k < product.shape.k; ++k) sum += rows[at.row][k] * columns[at.col][k];
    sums[number][lane] = accumulated(warp.lanes<const s32>(lists[product.c + number])[lane], sum, product.saturates);
  });
  for (uint32_t i = 0; i < sums.size(); ++i)
    std::copy(sums[i].begin(), sums[i].end(), warp.lanes<s32>(lists[product.d + i]));
}

/// mma.sp.sync.aligned.SHAPE.row.col[.satfinite].D.A.B.C, with D, A, B, C, the metadata and their selector.
void build_sparse(Builder& builder) {
  const std::vector<std::string_view> parts = builder.parts();
  const auto& operands = builder.operands();
  if (operands.size() != 6) builder.refuse("6 operands are needed");
  auto& made = builder.made<SparseProduct>();
  const std::string_view a_type = parts[parts.size() - 3], b_type = parts[parts.size() - 2], sum = parts.back();
  made.shape = {16, 8, static_cast<uint16_t>(std::stoul(std::string(parts[4].substr(parts[4].find('k') + 1))))};
  made.sum = sum == "f16" ? Sum::f16 : sum == "f32" ? Sum::f32 : Sum::s32;
  made.sparsity = {
      .depth = static_cast<uint8_t>(made.shape.k), .element_bits = 0, .ordered = builder.has("sp::ordered_metadata")};
  if (made.sum == Sum::s32) {
    made.sparsity.element_bits = a_type.back() == '4' ? 4 : 8;
    made.signed_a = a_type.front() == 's';
    made.signed_b = b_type.front() == 's';
    made.saturates = builder.has("satfinite");
  } else {
    made.a_type = factor_named(a_type);
    made.b_type = factor_named(b_type);
    made.sparsity.element_bits = static_cast<uint8_t>(8 * bytes_of(made.a_type));
  }
  made.d = builder.registers(operands[0], made.sum_registers(), true);
  made.a = builder.registers(operands[1], made.registers(), false);
  made.b = builder.registers(operands[2], made.registers(), false);
  made.c = builder.registers(operands[3], made.sum_registers(), false);
  made.metadata = builder.source(operands[4], ptx::Width::b32);
  made.sparsity.selector = selector_operand(builder, 5, made.sparsity);
}

}  // namespace

[[gnu::cold]] void add_sparse_products(Table& table) {
  const Form floating{"", Class::tensor, handle_together<every_lane<SparseProduct>, multiply_floating>, build_sparse};
  const Form integers{"", Class::tensor, handle_together<every_lane<SparseProduct>, multiply_integers>, build_sparse};
  const std::string mma = "mma.sp{,::ordered_metadata}.sync.aligned.";
  table.add(mma + "{m16n8k16,m16n8k32}.row.col.{f16.f16.f16.f16,f32.f16.f16.f32,f32.bf16.bf16.f32}", floating);
  table.add(mma + "{m16n8k8,m16n8k16}.row.col.f32.tf32.tf32.f32", floating);
  table.add(mma + "m16n8k64.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32", floating);
  table.add(mma + "{m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", integers);
  table.add(mma + "{m16n8k64,m16n8k128}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", integers);
}

}  // namespace sim
