/// 16-bit floating point: conversions (PTX ISA 9.7.9.21), and the moves that pack parts into a register and take them
/// out.
#include <string>

#include "core/arithmetic/half.h"
#include "core/arithmetic/half_finish.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

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

template <class F, class From>
[[gnu::cold]] void add_narrowing(Table& table, const std::string& types) {
  table.lanewise<narrow<F, Round::nearest, Finish::none, From>>("cvt.rn." + types, Class::convert);
  table.lanewise<narrow<F, Round::zero, Finish::none, From>>("cvt.rz." + types, Class::convert);
  table.lanewise<narrow<F, Round::down, Finish::none, From>>("cvt.rm." + types, Class::convert);
  table.lanewise<narrow<F, Round::up, Finish::none, From>>("cvt.rp." + types, Class::convert);
}

/// To either format. That of a single to bfloat16 has forms of its own.
template <class From>
[[gnu::cold]] void add_to_half(Table& table, const std::string& from) {
  add_narrowing<Half, From>(table, "f16." + from);
  if constexpr (!std::is_same_v<From, f32>) add_narrowing<Bfloat, From>(table, "bf16." + from);
}

template <class F>
[[gnu::cold]] void add_packing(Table& table, const std::string& type) {
  const auto add = [&]<Round how>(const std::string& round) {
    table.lanewise<narrow_two<F, how, Finish::none>>("cvt." + round + "." + type + "x2.f32", Class::convert);
    table.lanewise<narrow_two<F, how, Finish::relu>>("cvt." + round + ".relu." + type + "x2.f32", Class::convert);
    table.lanewise<narrow<F, how, Finish::relu, f32>>("cvt." + round + ".relu." + type + ".f32", Class::convert);
  };
  add.template operator()<Round::nearest>("rn");
  add.template operator()<Round::zero>("rz");
}

/// To a whole number within the integer's range, NaN to 0 (in 64 bits to the smallest).
template <class F, class I, class Register, auto whole>
Register to_integer(u16 bits) {
  const f64 x = whole(f64{F::widened(bits)});
  if (x != x) return static_cast<Register>(sizeof(I) < 8 ? I{0} : static_cast<I>(u64{1} << 63));
  constexpr int digits = 8 * sizeof(I) - std::is_signed_v<I>;
  if (x >= std::ldexp(1.0, digits)) return static_cast<Register>(static_cast<I>(~u64{0} >> (64 - digits)));
  const f64 least = std::is_signed_v<I> ? -std::ldexp(1.0, digits) : 0.0;
  if (x <= least) return static_cast<Register>(static_cast<I>(std::is_signed_v<I> ? u64{1} << (digits % 64) : 0));
  return static_cast<Register>(static_cast<I>(x));
}

template <class F, auto whole>
[[gnu::cold]] void add_to_integers(Table& table, const std::string& round, const std::string& type) {
  const std::string cvt = "cvt." + round + ".";
  table.lanewise<to_integer<F, u8, u16, whole>>(cvt + "u8." + type, Class::convert);
  table.lanewise<to_integer<F, s8, u16, whole>>(cvt + "s8." + type, Class::convert);
  table.lanewise<to_integer<F, u16, u16, whole>>(cvt + "u16." + type, Class::convert);
  table.lanewise<to_integer<F, s16, u16, whole>>(cvt + "s16." + type, Class::convert);
  table.lanewise<to_integer<F, u32, u32, whole>>(cvt + "u32." + type, Class::convert);
  table.lanewise<to_integer<F, s32, u32, whole>>(cvt + "s32." + type, Class::convert);
  table.lanewise<to_integer<F, u64, u64, whole>>(cvt + "u64." + type, Class::convert);
  table.lanewise<to_integer<F, s64, u64, whole>>(cvt + "s64." + type, Class::convert);
  table.lanewise<[](u16 a) { return F::rounded(static_cast<f32>(whole(f64{F::widened(a)}))); }>(cvt + type + "." + type,
                                                                                                Class::convert);
}

template <auto whole>
[[gnu::cold]] void add_whole(Table& table, const std::string& round) {
  add_to_integers<Half, whole>(table, round, "f16");
  add_to_integers<Bfloat, whole>(table, round, "bf16");
}

/// `.rna`: ties go away from zero. Of a single's 23 bits of fraction, ten are left.
f32 rounded_to_tf32(f32 x) {
  if (x != x) return std::bit_cast<f32>(0x7fffffffu);
  return std::bit_cast<f32>((std::bit_cast<u32>(x) + 0x1000u) & ~0x1fffu);
}

[[gnu::cold]] void add_conversions(Table& table) {
  table.lanewise<Half::widened>("cvt.f32.f16", Class::convert);
  table.lanewise<[](u16 a) { return f64{Half::widened(a)}; }>("cvt.f64.f16", Class::convert);
  table.lanewise<Bfloat::widened>("cvt.f32.bf16", Class::convert);
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
  add_whole<[](f64 x) { return std::nearbyint(x); }>(table, "rni");
  add_whole<[](f64 x) { return std::trunc(x); }>(table, "rzi");
  add_whole<[](f64 x) { return std::floor(x); }>(table, "rmi");
  add_whole<[](f64 x) { return std::ceil(x); }>(table, "rpi");
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

[[gnu::cold]] void add_half_convert(Table& table) {
  add_conversions(table);
  // After the moves of one register, which come first where they fit.
  table.add("mov.b32", {"", Class::move, nullptr, build_packing<u32>});
  table.add("mov.b64", {"", Class::move, nullptr, build_packing<u64>});
}

}  // namespace sim
