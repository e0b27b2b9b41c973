/// atom and red: what threads do to memory in one step (PTX ISA 9.7.13.5, 9.7.13.6).
#include <algorithm>

#include "core/arithmetic/half.h"
#include "core/memory/lanes.h"
#include "core/memory/update.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// atom and red: operand 0 the old value (none for red), 1 the operand, 2 that of cas. One lane after the other.
template <class T, auto combine>
void atomic(Warp& warp, const Access& instruction) {
  access<Touch::update>(warp, instruction, [&](const Lanes& lanes, const Bytes& bytes) {
    T* const old = warp.lanes<T>(instruction.registers[0]);
    const T* const b = warp.lanes<T>(instruction.registers[1]);
    const T* const c = warp.lanes<T>(instruction.registers[2]);
    for_lanes(lanes.mask,
              [&](uint32_t lane) { old[lane] = update<T, combine>(bytes.at(lanes, lane), b[lane], c[lane]); });
  });
}

void build_atomic(Builder& builder) {
  const bool reduces = builder.written().opcode.starts_with("red");
  const size_t first = reduces ? 0 : 1;
  const auto& operands = builder.operands();
  const bool swaps = builder.has("cas");
  if (operands.size() != first + (swaps ? 3 : 2)) builder.refuse("a wrong number of operands");
  auto& made = builder.made<Access>();
  made.address = address_operand(builder, operands[first]);
  made.order = std::max(order_of(builder, made.address.place), Order::relaxed);  // as it is where none is given
  made.scope = scope_of(builder, made.order);
  made.swaps = swaps;
  made.memo = builder.memo();
  made.count = 1;
  made.bytes = memory_type(builder.written().opcode).bytes;
  const auto width = static_cast<ptx::Width>(made.bytes);
  note_granule(builder, made.address.place, made.bytes);
  made.registers[0] =
      builder.destination(reduces ? ptx::Operand{.kind = ptx::Operand::Kind::sink} : operands[0], width);
  made.registers[1] = builder.source(operands[first + 1], width);
  made.registers[2] = swaps ? builder.source(operands[first + 2], width) : made.registers[1];
}

template <class T, auto combine>
[[gnu::cold]] void add_atomic(Table& table, const std::string& operation_and_type) {
  const std::string space = "global,.shared,.shared::cta,.shared::cluster}";
  const std::string rest = "{,.cta,.cluster,.gpu,.sys}{,." + space + "." + operation_and_type;
  const std::string scope_last = "{." + space + "{.cta,.cluster,.gpu,.sys}." + operation_and_type;
  const Form form{"", Class::atomic, handle<atomic<T, combine>>, build_atomic};
  table.add("atom{,.relaxed,.acquire,.release,.acq_rel}" + rest, form);
  table.add("red{,.relaxed,.release}" + rest, form);
  table.add("{atom,red}" + scope_last, form);  // as CUDA's headers write it
}

/// Of two 16-bit numbers in a register each.
template <class F>
u32 sums_of_two(u32 a, u32 b) {
  const u32 upper = sum_of<F>(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16));
  return upper << 16 | sum_of<F>(static_cast<u16>(a), static_cast<u16>(b));
}

}  // namespace

[[gnu::cold]] void add_atomics(Table& table) {
  add_atomic<u32, [](u32 a, u32 b, u32) { return a + b; }>(table, "add.{u32,s32}");
  add_atomic<u64, [](u64 a, u64 b, u64) { return a + b; }>(table, "add.{u64,s64}");
  add_atomic<f32, [](f32 a, f32 b, f32) { return a + b; }>(table, "add.f32");
  add_atomic<f64, [](f64 a, f64 b, f64) { return a + b; }>(table, "add.f64");
  add_atomic<u32, [](u32 a, u32 b, u32) { return std::min(a, b); }>(table, "min.u32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return std::max(a, b); }>(table, "max.u32");
  add_atomic<s32, [](s32 a, s32 b, s32) { return std::min(a, b); }>(table, "min.s32");
  add_atomic<s32, [](s32 a, s32 b, s32) { return std::max(a, b); }>(table, "max.s32");
  add_atomic<u64, [](u64 a, u64 b, u64) { return std::min(a, b); }>(table, "min.u64");
  add_atomic<u64, [](u64 a, u64 b, u64) { return std::max(a, b); }>(table, "max.u64");
  add_atomic<s64, [](s64 a, s64 b, s64) { return std::min(a, b); }>(table, "min.s64");
  add_atomic<s64, [](s64 a, s64 b, s64) { return std::max(a, b); }>(table, "max.s64");
  add_atomic<u64, [](u64 a, u64 b, u64) { return a & b; }>(table, "and.b64");
  add_atomic<u64, [](u64 a, u64 b, u64) { return a | b; }>(table, "or.b64");
  add_atomic<u64, [](u64 a, u64 b, u64) { return a ^ b; }>(table, "xor.b64");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a & b; }>(table, "and.b32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a | b; }>(table, "or.b32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a ^ b; }>(table, "xor.b32");
  add_atomic<u32, [](u32, u32 b, u32) { return b; }>(table, "exch.b32");
  add_atomic<u64, [](u64, u64 b, u64) { return b; }>(table, "exch.b64");
  add_atomic<u32, [](u32 a, u32 b, u32 c) { return a == b ? c : a; }>(table, "cas.b32");
  add_atomic<u64, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }>(table, "cas.b64");
  add_atomic<u16, [](u16 a, u16 b, u16 c) { return a == b ? c : a; }>(table, "cas.b16");
  add_atomic<u16, [](u16 a, u16 b, u16) { return sum_of<Half>(a, b); }>(table, "add.noftz.f16");
  add_atomic<u16, [](u16 a, u16 b, u16) { return sum_of<Bfloat>(a, b); }>(table, "add.noftz.bf16");
  add_atomic<u32, [](u32 a, u32 b, u32) { return sums_of_two<Half>(a, b); }>(table, "add.noftz.f16x2");
  add_atomic<u32, [](u32 a, u32 b, u32) { return sums_of_two<Bfloat>(a, b); }>(table, "add.noftz.bf16x2");
  add_atomic<u32, [](u32 a, u32 b, u32) { return increased(a, b); }>(table, "inc.u32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return decreased(a, b); }>(table, "dec.u32");
}

}  // namespace sim
