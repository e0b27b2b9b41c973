/// 16-bit floating point: arithmetic of one and of two packed in a register (PTX ISA 9.7.4), and comparisons. A NaN
/// that an operation makes is 0x7fff. Subnormals are kept unless the instruction says `.ftz`.
///
/// bfloat16 has no `.ftz` and no `.sat`; its add, sub, mul and comparisons need sm_90.
#include "machine/half.h"

#include <string>

#include "machine/decode.h"
#include "machine/forms.h"
#include "machine/half_finish.h"

namespace sim {
namespace {

template <class F, Finish how>
u16 add(u16 a, u16 b) {
  return finished<F, how>(sum_of<F>(taken<F, how>(a), taken<F, how>(b)));
}
template <class F, Finish how>
u16 subtract(u16 a, u16 b) {
  return finished<F, how>(F::rounded(F::widened(taken<F, how>(a)) - F::widened(taken<F, how>(b))));
}
/// A product of binary16 is exact enough, too; one of bfloat16 may be subnormal as a single, and is rounded by fma.
template <class F, Finish how>
u16 multiply(u16 a, u16 b) {
  a = taken<F, how>(a), b = taken<F, how>(b);
  if constexpr (std::is_same_v<F, Bfloat>) return finished<F, how>(F::fma(a, b, 0x8000));  // −0 changes no product
  return finished<F, how>(F::rounded(F::widened(a) * F::widened(b)));
}
template <class F, Finish how>
u16 multiply_add(u16 a, u16 b, u16 c) {
  return finished<F, how>(F::fma(taken<F, how>(a), taken<F, how>(b), taken<F, how>(c)));
}

template <class F, Finish how>
u16 negated(u16 a) {
  return static_cast<u16>(taken<F, how>(a) ^ 0x8000);
}
template <class F, Finish how>
u16 magnitude(u16 a) {
  return taken<F, how>(a) & 0x7fff;
}

/// A function of 16-bit values, on both halves of registers of 32.
template <auto function>
struct Twice {
  static u32 one(u32 a) { return pair(function(low(a)), function(high(a))); }
  static u32 two(u32 a, u32 b) { return pair(function(low(a), low(b)), function(high(a), high(b))); }
  static u32 three(u32 a, u32 b, u32 c) {
    return pair(function(low(a), low(b), low(c)), function(high(a), high(b), high(c)));
  }
  static u16 low(u32 x) { return static_cast<u16>(x); }
  static u16 high(u32 x) { return static_cast<u16>(x >> 16); }
  static u32 pair(u16 low, u16 high) { return u32{high} << 16 | low; }
};

template <auto function>
void add_unary(Table& table, const std::string& opcode, const std::string& type, Class counted_as) {
  table.lanewise<function>(opcode + "." + type, counted_as);
  table.lanewise<Twice<function>::one>(opcode + "." + type + "x2", counted_as);
}
template <auto function>
void add_binary(Table& table, const std::string& opcode, const std::string& type, Class counted_as) {
  table.lanewise<function>(opcode + "." + type, counted_as);
  table.lanewise<Twice<function>::two>(opcode + "." + type + "x2", counted_as);
}
template <auto function>
void add_ternary(Table& table, const std::string& opcode, const std::string& type, Class counted_as) {
  table.lanewise<function>(opcode + "." + type, counted_as);
  table.lanewise<Twice<function>::three>(opcode + "." + type + "x2", counted_as);
}

// --- the loops that a GEMM in 16 bits spends its time in: a packed register of a warp is 64 values one after the other

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void fma_halves(u16* d, const u16* a, const u16* b, const u16* c, uint32_t count) {
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) d[i] = Half::fma(a[i], b[i], c[i]);
}

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void fma_bfloats(u16* d, const u16* a, const u16* b, const u16* c, uint32_t count) {
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) d[i] = Bfloat::fma(a[i], b[i], c[i]);
}

/// fma.rn without a finish, `packed` values to a register.
template <auto loop, uint32_t packed>
void fma_warp(Warp& warp, const Operands& operands) {
  u16* const d = warp.lanes<u16>(operands.at[0]);
  const u16* const a = warp.lanes<u16>(operands.at[1]);
  const u16* const b = warp.lanes<u16>(operands.at[2]);
  const u16* const c = warp.lanes<u16>(operands.at[3]);
  if (warp.exec == all_lanes) return loop(d, a, b, c, warp_size * packed);
  for_lanes(warp.exec, [=](uint32_t lane) {
    const uint32_t at = lane * packed;
    loop(d + at, a + at, b + at, c + at, packed);
  });
}

template <class F, Finish how>
void add_sums(Table& table, const std::string& finish, const std::string& type) {
  add_binary<add<F, how>>(table, "add{,.rn}" + finish, type, Class::floating);
  add_binary<subtract<F, how>>(table, "sub{,.rn}" + finish, type, Class::floating);
  add_binary<multiply<F, how>>(table, "mul{,.rn}" + finish, type, Class::floating);
}

template <class F, Finish how>
void add_selection(Table& table, const std::string& finish, const std::string& type) {
  add_binary<extreme<F, how, false, false>>(table, "min" + finish, type, Class::floating);
  add_binary<extreme<F, how, true, false>>(table, "max" + finish, type, Class::floating);
  add_binary<extreme<F, how, false, true>>(table, "min" + finish + ".NaN", type, Class::floating);
  add_binary<extreme<F, how, true, true>>(table, "max" + finish + ".NaN", type, Class::floating);
  add_unary<negated<F, how>>(table, "neg" + finish, type, Class::floating);
  add_unary<magnitude<F, how>>(table, "abs" + finish, type, Class::floating);
}

void add_arithmetic(Table& table) {
  table.add("fma.rn.f16", {"Hhhh", Class::fma, handle<fma_warp<fma_halves, 1>>});
  table.add("fma.rn.f16x2", {"Wwww", Class::fma, handle<fma_warp<fma_halves, 2>>});
  table.add("fma.rn.bf16", {"Hhhh", Class::fma, handle<fma_warp<fma_bfloats, 1>>});
  table.add("fma.rn.bf16x2", {"Wwww", Class::fma, handle<fma_warp<fma_bfloats, 2>>});
  add_ternary<multiply_add<Half, Finish::flush>>(table, "fma.rn.ftz", "f16", Class::fma);
  add_ternary<multiply_add<Half, Finish::saturate>>(table, "fma.rn.sat", "f16", Class::fma);
  add_ternary<multiply_add<Half, Finish::flush_saturate>>(table, "fma.rn.ftz.sat", "f16", Class::fma);
  add_ternary<multiply_add<Half, Finish::relu>>(table, "fma.rn.relu", "f16", Class::fma);
  add_ternary<multiply_add<Half, Finish::flush_relu>>(table, "fma.rn.ftz.relu", "f16", Class::fma);
  add_ternary<multiply_add<Bfloat, Finish::relu>>(table, "fma.rn.relu", "bf16", Class::fma);
  add_sums<Half, Finish::none>(table, "", "f16");
  add_sums<Bfloat, Finish::none>(table, "", "bf16");
  add_sums<Half, Finish::flush>(table, ".ftz", "f16");
  add_sums<Half, Finish::saturate>(table, ".sat", "f16");
  add_sums<Half, Finish::flush_saturate>(table, ".ftz.sat", "f16");
  add_selection<Half, Finish::none>(table, "", "f16");
  add_selection<Half, Finish::flush>(table, ".ftz", "f16");
  add_selection<Bfloat, Finish::none>(table, "", "bf16");
}

// --- comparisons

template <class F, auto compare, bool flush>
bool is(u16 a, u16 b) {
  if constexpr (flush) return compare(F::widened(flushed<F>(a)), F::widened(flushed<F>(b)));
  return compare(F::widened(a), F::widened(b));
}
template <class F, auto compare, bool flush, auto truth>
u16 chosen(u16 a, u16 b) {
  return is<F, compare, flush>(a, b) ? truth : u16{0};
}

/// setp, and set with a result of 1 or of all ones; each half for itself where two are packed.
template <class F, auto compare, bool flush>
void add_comparison_of(Table& table, const std::string& name, const std::string& ftz, const std::string& type) {
  constexpr auto holds = is<F, compare, flush>;
  const std::string tail = ftz + "." + type;
  table.lanewise<[](u16 a, u16 b) -> bool { return holds(a, b); }>("setp." + name + tail, Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return holds(a, b) && p; }>("setp." + name + ".and" + tail,
                                                                                Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return holds(a, b) || p; }>("setp." + name + ".or" + tail,
                                                                                Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return holds(a, b) != p; }>("setp." + name + ".xor" + tail,
                                                                                Class::predicate);
  constexpr auto one = chosen<F, compare, flush, F::one>;
  constexpr auto ones = chosen<F, compare, flush, u16{0xffff}>;
  const std::string set = "set." + name + ftz + ".";
  table.lanewise<one>(set + type + "." + type, Class::predicate);
  table.lanewise<ones>(set + "{u16,s16}." + type, Class::predicate);
  table.lanewise<[](u16 a, u16 b) -> u32 { return holds(a, b) ? ~0u : 0; }>(set + "{u32,s32}." + type,
                                                                            Class::predicate);
  table.lanewise<Twice<one>::two>(set + type + "x2." + type + "x2", Class::predicate);
  table.lanewise<Twice<ones>::two>(set + "{u32,s32}." + type + "x2", Class::predicate);
}

template <auto compare>
void add_comparison(Table& table, const std::string& name) {
  add_comparison_of<Half, compare, false>(table, name, "", "f16");
  add_comparison_of<Half, compare, true>(table, name, ".ftz", "f16");
  add_comparison_of<Bfloat, compare, false>(table, name, "", "bf16");
}

void add_comparisons(Table& table) {
  add_comparison<[](f32 a, f32 b) { return a == b; }>(table, "eq");
  add_comparison<[](f32 a, f32 b) { return (a < b || a > b); }>(table, "ne");
  add_comparison<[](f32 a, f32 b) { return a < b; }>(table, "lt");
  add_comparison<[](f32 a, f32 b) { return a <= b; }>(table, "le");
  add_comparison<[](f32 a, f32 b) { return (a > b); }>(table, "gt");
  add_comparison<[](f32 a, f32 b) { return a >= b; }>(table, "ge");
  add_comparison<[](f32 a, f32 b) { return !(a < b || (a > b)); }>(table, "equ");
  add_comparison<[](f32 a, f32 b) { return a != b; }>(table, "neu");
  add_comparison<[](f32 a, f32 b) { return !(a >= b); }>(table, "ltu");
  add_comparison<[](f32 a, f32 b) { return !((a > b)); }>(table, "leu");
  add_comparison<[](f32 a, f32 b) { return !(a <= b); }>(table, "gtu");
  add_comparison<[](f32 a, f32 b) { return !(a < b); }>(table, "geu");
  add_comparison<[](f32 a, f32 b) { return a == a && b == b; }>(table, "num");
  add_comparison<[](f32 a, f32 b) { return a != a || b != b; }>(table, "nan");
}

}  // namespace

void add_half(Table& table) {
  add_arithmetic(table);
  add_comparisons(table);
}

}  // namespace sim
