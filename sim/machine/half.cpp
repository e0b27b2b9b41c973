/// 16-bit floating point: arithmetic of one and of two packed in a register (PTX ISA 9.7.4), comparisons, conversions,
/// and the moves that pack and unpack. A NaN that an operation makes is 0x7fff. Subnormals are kept unless the
/// instruction says `.ftz`.
///
/// The bfloat16 forms are those that sm_80 has: fma, min, max, neg, abs. Its add, sub, mul and comparisons need sm_90.
#include "machine/half.h"

#include <string>

#include "machine/decode.h"
#include "machine/forms.h"

namespace sim {
namespace {

/// What is applied to the result of an operation, and for `.ftz` to its operands.
enum class Finish { none, flush, saturate, flush_saturate, relu, flush_relu };
constexpr bool flushes(Finish how) {
  return how == Finish::flush || how == Finish::flush_saturate || how == Finish::flush_relu;
}

template <class F>
constexpr bool is_nan(u16 x) {
  return (x & 0x7fff) > 0x8000 - F::least_normal;
}

/// `.ftz`: a subnormal becomes a zero of its sign.
template <class F>
constexpr u16 flushed(u16 x) {
  return (x & 0x7fff) < F::least_normal ? x & 0x8000 : x;
}

template <class F, Finish how>
constexpr u16 taken(u16 x) {
  return flushes(how) ? flushed<F>(x) : x;
}

/// `.sat`: to [0, 1], NaN to 0. `.relu`: what is negative to 0, NaN stays.
template <class F, Finish how>
constexpr u16 finished(u16 x) {
  x = taken<F, how>(x);
  const bool negative = x & 0x8000;
  if constexpr (how == Finish::saturate || how == Finish::flush_saturate)
    return negative || is_nan<F>(x) ? 0 : x < F::one ? x : F::one;
  if constexpr (how == Finish::relu || how == Finish::flush_relu) return negative && !is_nan<F>(x) ? 0 : x;
  return x;
}

// A sum and a product of two are exact enough in single precision: rounding them twice is rounding once, since 24
// digits are at least twice 11, and two.
template <class F, Finish how>
u16 add(u16 a, u16 b) {
  return finished<F, how>(F::rounded(F::widened(taken<F, how>(a)) + F::widened(taken<F, how>(b))));
}
template <class F, Finish how>
u16 subtract(u16 a, u16 b) {
  return finished<F, how>(F::rounded(F::widened(taken<F, how>(a)) - F::widened(taken<F, how>(b))));
}
template <class F, Finish how>
u16 multiply(u16 a, u16 b) {
  return finished<F, how>(F::rounded(F::widened(taken<F, how>(a)) * F::widened(taken<F, how>(b))));
}
template <class F, Finish how>
u16 multiply_add(u16 a, u16 b, u16 c) {
  return finished<F, how>(F::fma(taken<F, how>(a), taken<F, how>(b), taken<F, how>(c)));
}

/// The bits of both formats, as numbers that are ordered like their values: −0 before +0.
constexpr s32 rank(u16 x) { return x & 0x8000 ? -1 - (x & 0x7fff) : x; }

/// min and max prefer the number to the NaN, unless told `.NaN`.
template <class F, Finish how, bool largest, bool keeps_nan>
u16 extreme(u16 a, u16 b) {
  a = taken<F, how>(a), b = taken<F, how>(b);
  if (is_nan<F>(a) || is_nan<F>(b)) {
    if (keeps_nan || (is_nan<F>(a) && is_nan<F>(b))) return F::nan;
    return is_nan<F>(a) ? b : a;
  }
  return (rank(a) < rank(b)) != largest ? a : b;
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

template <Finish how>
void add_half_arithmetic(Table& table, const std::string& finish) {
  add_binary<add<Half, how>>(table, "add{,.rn}" + finish, "f16", Class::floating);
  add_binary<subtract<Half, how>>(table, "sub{,.rn}" + finish, "f16", Class::floating);
  add_binary<multiply<Half, how>>(table, "mul{,.rn}" + finish, "f16", Class::floating);
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
  add_half_arithmetic<Finish::none>(table, "");
  add_half_arithmetic<Finish::flush>(table, ".ftz");
  add_half_arithmetic<Finish::saturate>(table, ".sat");
  add_half_arithmetic<Finish::flush_saturate>(table, ".ftz.sat");
  add_selection<Half, Finish::none>(table, "", "f16");
  add_selection<Half, Finish::flush>(table, ".ftz", "f16");
  add_selection<Bfloat, Finish::none>(table, "", "bf16");
}

// --- comparisons

template <auto compare>
bool is(u16 a, u16 b) {
  return compare(Half::widened(a), Half::widened(b));
}
template <auto compare, auto truth>
u16 chosen(u16 a, u16 b) {
  return is<compare>(a, b) ? truth : u16{0};
}

/// setp, and set with a result of 1 or of all ones; each half for itself where two are packed.
template <auto compare>
void add_comparison(Table& table, const std::string& name) {
  table.lanewise<[](u16 a, u16 b) -> bool { return is<compare>(a, b); }>("setp." + name + ".f16", Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return is<compare>(a, b) && p; }>("setp." + name + ".and.f16",
                                                                                      Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return is<compare>(a, b) || p; }>("setp." + name + ".or.f16",
                                                                                      Class::predicate);
  table.lanewise<[](u16 a, u16 b, bool p) -> bool { return is<compare>(a, b) != p; }>("setp." + name + ".xor.f16",
                                                                                      Class::predicate);
  constexpr auto one = chosen<compare, Half::one>;
  constexpr auto ones = chosen<compare, u16{0xffff}>;
  table.lanewise<one>("set." + name + ".f16.f16", Class::predicate);
  table.lanewise<ones>("set." + name + ".{u16,s16}.f16", Class::predicate);
  table.lanewise<[](u16 a, u16 b) -> u32 { return is<compare>(a, b) ? ~0u : 0; }>("set." + name + ".{u32,s32}.f16",
                                                                                  Class::predicate);
  table.lanewise<Twice<one>::two>("set." + name + ".f16x2.f16x2", Class::predicate);
  table.lanewise<Twice<ones>::two>("set." + name + ".{u32,s32}.f16x2", Class::predicate);
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

// --- conversions

/// A number as a double of which rounding to 16 bits is rounding the number: the bits that do not fit leave a trace.
template <class T>
f64 exact_enough(T x) {
  if constexpr (sizeof(T) < 8 || std::is_floating_point_v<T>) {
    return static_cast<f64>(x);
  } else {
    const bool negative = x < T{0};
    const u64 size = negative ? u64{0} - static_cast<u64>(x) : static_cast<u64>(x);
    const f64 high = std::ldexp(static_cast<f64>(size >> 11 | ((size & 0x7ff) != 0)), 11);
    const f64 value = size >> 53 == 0 ? static_cast<f64>(size) : high;
    return negative ? -value : value;
  }
}

template <class F, Round how, Finish finish, class From>
u16 narrow(From x) {
  if constexpr (how == Round::nearest && std::is_same_v<From, f32>) return finished<F, finish>(F::rounded(x));
  return finished<F, finish>(F::rounded(exact_enough(x), how));
}

/// Two at once: the first operand goes to the upper half.
template <class F, Round how, Finish finish>
u32 narrow_two(f32 high, f32 low) {
  return u32{narrow<F, how, finish>(high)} << 16 | narrow<F, how, finish>(low);
}

template <class From>
void add_to_half(Table& table, const std::string& from) {
  table.lanewise<narrow<Half, Round::nearest, Finish::none, From>>("cvt.rn.f16." + from, Class::convert);
  table.lanewise<narrow<Half, Round::zero, Finish::none, From>>("cvt.rz.f16." + from, Class::convert);
  table.lanewise<narrow<Half, Round::down, Finish::none, From>>("cvt.rm.f16." + from, Class::convert);
  table.lanewise<narrow<Half, Round::up, Finish::none, From>>("cvt.rp.f16." + from, Class::convert);
}

template <class F>
void add_packing(Table& table, const std::string& type) {
  const auto add = [&]<Round how>(const std::string& round) {
    table.lanewise<narrow_two<F, how, Finish::none>>("cvt." + round + "." + type + "x2.f32", Class::convert);
    table.lanewise<narrow_two<F, how, Finish::relu>>("cvt." + round + ".relu." + type + "x2.f32", Class::convert);
    table.lanewise<narrow<F, how, Finish::relu, f32>>("cvt." + round + ".relu." + type + ".f32", Class::convert);
  };
  add.template operator()<Round::nearest>("rn");
  add.template operator()<Round::zero>("rz");
}

/// To a whole number within the integer's range, NaN to 0 (in 64 bits to the smallest).
template <class I, class Register, auto whole>
Register to_integer(u16 bits) {
  const f64 x = whole(f64{Half::widened(bits)});
  if (x != x) return static_cast<Register>(sizeof(I) < 8 ? I{0} : static_cast<I>(u64{1} << 63));
  constexpr int digits = 8 * sizeof(I) - std::is_signed_v<I>;
  if (x >= std::ldexp(1.0, digits)) return static_cast<Register>(static_cast<I>(~u64{0} >> (64 - digits)));
  const f64 least = std::is_signed_v<I> ? -std::ldexp(1.0, digits) : 0.0;
  if (x <= least) return static_cast<Register>(static_cast<I>(std::is_signed_v<I> ? u64{1} << (digits % 64) : 0));
  return static_cast<Register>(static_cast<I>(x));
}

template <auto whole>
void add_from_half(Table& table, const std::string& round) {
  const std::string cvt = "cvt." + round + ".";
  table.lanewise<to_integer<u8, u16, whole>>(cvt + "u8.f16", Class::convert);
  table.lanewise<to_integer<s8, u16, whole>>(cvt + "s8.f16", Class::convert);
  table.lanewise<to_integer<u16, u16, whole>>(cvt + "u16.f16", Class::convert);
  table.lanewise<to_integer<s16, u16, whole>>(cvt + "s16.f16", Class::convert);
  table.lanewise<to_integer<u32, u32, whole>>(cvt + "u32.f16", Class::convert);
  table.lanewise<to_integer<s32, u32, whole>>(cvt + "s32.f16", Class::convert);
  table.lanewise<to_integer<u64, u64, whole>>(cvt + "u64.f16", Class::convert);
  table.lanewise<to_integer<s64, u64, whole>>(cvt + "s64.f16", Class::convert);
  table.lanewise<[](u16 a) { return Half::rounded(static_cast<f32>(whole(f64{Half::widened(a)}))); }>(cvt + "f16.f16",
                                                                                                      Class::convert);
}

/// `.rna`: ties go away from zero. Of a single's 23 bits of fraction, ten are left.
f32 rounded_to_tf32(f32 x) {
  if (x != x) return std::bit_cast<f32>(0x7fffffffu);
  return std::bit_cast<f32>((std::bit_cast<u32>(x) + 0x1000u) & ~0x1fffu);
}

void add_conversions(Table& table) {
  table.lanewise<Half::widened>("cvt.f32.f16", Class::convert);
  table.lanewise<[](u16 a) { return f64{Half::widened(a)}; }>("cvt.f64.f16", Class::convert);
  add_to_half<f32>(table, "f32");
  add_to_half<f64>(table, "f64");
  add_to_half<u16>(table, "u16");
  add_to_half<s16>(table, "s16");
  add_to_half<u32>(table, "u32");
  add_to_half<s32>(table, "s32");
  add_to_half<u64>(table, "u64");
  add_to_half<s64>(table, "s64");
  table.lanewise<narrow<Half, Round::nearest, Finish::saturate, f32>>("cvt.rn.sat.f16.f32", Class::convert);
  table.lanewise<narrow<Bfloat, Round::nearest, Finish::none, f32>>("cvt.rn.bf16.f32", Class::convert);
  table.lanewise<narrow<Bfloat, Round::zero, Finish::none, f32>>("cvt.rz.bf16.f32", Class::convert);
  add_packing<Half>(table, "f16");
  add_packing<Bfloat>(table, "bf16");
  add_from_half<[](f64 x) { return std::nearbyint(x); }>(table, "rni");
  add_from_half<[](f64 x) { return std::trunc(x); }>(table, "rzi");
  add_from_half<[](f64 x) { return std::floor(x); }>(table, "rmi");
  add_from_half<[](f64 x) { return std::ceil(x); }>(table, "rpi");
  table.lanewise<rounded_to_tf32>("cvt.rna.tf32.f32", Class::convert);
}

// --- packing

/// mov.b32 d, {a, b} and its like: operand 0 the whole, then the parts from the lowest bits up.
template <class Whole, class Part>
void pack_parts(Warp& warp, const Operands& operands) {
  Whole* const to = warp.lanes<Whole>(operands.at[0]);
  constexpr uint32_t parts = sizeof(Whole) / sizeof(Part);
  for_lanes(warp.exec, [&, to](uint32_t lane) {
    Whole whole = 0;
    for (uint32_t i = 0; i < parts; ++i)
      whole |= Whole{warp.lanes<const Part>(operands.at[1 + i])[lane]} << 8 * sizeof(Part) * i;
    to[lane] = whole;
  });
}

template <class Whole, class Part>
void unpack_parts(Warp& warp, const Operands& operands) {
  const Whole* const from = warp.lanes<Whole>(operands.at[0]);
  for (uint32_t i = 0; i < sizeof(Whole) / sizeof(Part); ++i) {
    Part* const to = warp.lanes<Part>(operands.at[1 + i]);
    for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = static_cast<Part>(from[lane] >> 8 * sizeof(Part) * i); });
  }
}

template <class Whole>
void build_packing(Builder& builder) {
  using Kind = ptx::Operand::Kind;
  const auto& operands = builder.operands();
  if (operands.size() != 2) builder.refuse("two operands are needed");
  const bool packs = operands[1].kind == Kind::vector;
  if (packs == (operands[0].kind == Kind::vector)) builder.refuse("a list of registers on one side is needed");
  const auto& parts = operands[packs ? 1 : 0].parts;
  const size_t bytes = parts.empty() ? 0 : sizeof(Whole) / parts.size();
  if (bytes * parts.size() != sizeof(Whole) || (bytes != 2 && bytes != 4) || parts.size() == 1)
    builder.refuse("the parts do not make up the whole");
  const auto whole = static_cast<ptx::Width>(sizeof(Whole)), part = static_cast<ptx::Width>(bytes);
  Operands& made = builder.made<Operands>();
  made.at[0] = packs ? builder.destination(operands[0], whole) : builder.source(operands[1], whole);
  for (size_t i = 0; i < parts.size(); ++i)
    made.at[1 + i] = packs ? builder.source(parts[i], part) : builder.destination(parts[i], part);
  if (bytes == 2)
    builder.run_by(packs ? handle<pack_parts<Whole, u16>> : handle<unpack_parts<Whole, u16>>);
  else if constexpr (sizeof(Whole) == 8)
    builder.run_by(packs ? handle<pack_parts<Whole, u32>> : handle<unpack_parts<Whole, u32>>);
}

}  // namespace

void add_half(Table& table) {
  add_arithmetic(table);
  add_comparisons(table);
  add_conversions(table);
  // After the moves of one register, which come first where they fit.
  table.add("mov.b32", {"", Class::move, nullptr, build_packing<u32>});
  table.add("mov.b64", {"", Class::move, nullptr, build_packing<u64>});
}

}  // namespace sim
