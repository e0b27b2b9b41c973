/// Conversions to and from the formats of 8 bits, integers in registers that are wider than they, and bmsk (PTX ISA
/// 9.7.9.21, 9.7.1.20).
#include <bit>
#include <cmath>
#include <string>

#include "core/arithmetic/half.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// Sign, exponent and mantissa in 8 bits.
template <int mantissa_bits, int bias, u8 largest, u8 nan>
struct Tiny {
  static constexpr int least_exponent = 1 - bias;

  /// To nearest, ties to even; what is too large becomes the largest finite number.
  static u8 rounded(f32 x) {
    if (x != x) return nan;
    const u8 sign = std::signbit(x) ? 0x80 : 0;
    const f64 size = std::fabs(static_cast<f64>(x));
    if (size == 0) return sign;
    if (size == static_cast<f64>(INFINITY)) return sign | largest;
    int exponent = 0;
    std::frexp(size, &exponent);  // size is below 2^exponent
    const int unit = (exponent - 1 > least_exponent ? exponent - 1 : least_exponent) - mantissa_bits;
    f64 units = std::floor(std::ldexp(size, -unit));
    const f64 rest = std::ldexp(size, -unit) - units;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(units, 2) == 1)) units += 1;
    // One more unit than the mantissa holds is the next exponent's first number: the encoding goes on in order.
    const s64 code =
        static_cast<s64>(units) + (static_cast<s64>(unit + mantissa_bits - least_exponent) << mantissa_bits);
    return sign | static_cast<u8>(code > largest ? largest : code);
  }

  static f32 value(u8 code) {
    const int exponent = (code & 0x7f) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
    const f32 sign = code & 0x80 ? -1.0f : 1.0f;
    if ((code & 0x7f) > largest) {
      const bool infinite = mantissa_bits == 2 && mantissa == 0;
      return infinite ? sign * INFINITY : std::bit_cast<f32>(0x7fffffffu);
    }
    if (exponent == 0) return sign * std::ldexp(static_cast<f32>(mantissa), least_exponent - mantissa_bits);
    return sign * std::ldexp(static_cast<f32>(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  }
};
using E4m3 = Tiny<3, 7, 0x7e, 0x7f>;
using E5m2 = Tiny<2, 15, 0x7b, 0x7f>;

template <bool relu>
f32 kept(f32 x) {
  return relu && x < 0 ? 0.0f : relu && x == 0 ? 0.0f : x;
}

/// The first operand goes to the upper half.
template <class F, bool relu>
u16 two_of_singles(f32 high, f32 low) {
  return static_cast<u16>(F::rounded(kept<relu>(high)) << 8 | F::rounded(kept<relu>(low)));
}

template <class F, bool relu>
u16 two_of_halves(u32 both) {
  return two_of_singles<F, relu>(Half::widened(static_cast<u16>(both >> 16)), Half::widened(static_cast<u16>(both)));
}

template <class F, bool relu>
u32 two_halves(u16 both) {
  const auto half = [](u8 code) { return u32{Half::rounded(kept<relu>(F::value(code)))}; };
  return half(static_cast<u8>(both >> 8)) << 16 | half(static_cast<u8>(both));
}

template <class F>
[[gnu::cold]] void add_tiny(Table& table, const std::string& type) {
  table.lanewise<two_of_singles<F, false>>("cvt.rn.satfinite." + type + ".f32", Class::convert);
  table.lanewise<two_of_singles<F, true>>("cvt.rn.satfinite.relu." + type + ".f32", Class::convert);
  table.lanewise<two_of_halves<F, false>>("cvt.rn.satfinite." + type + ".f16x2", Class::convert);
  table.lanewise<two_of_halves<F, true>>("cvt.rn.satfinite.relu." + type + ".f16x2", Class::convert);
  table.lanewise<two_halves<F, false>>("cvt.rn.f16x2." + type, Class::convert);
  table.lanewise<two_halves<F, true>>("cvt.rn.relu.f16x2." + type, Class::convert);
}

/// An integer of the source's type is the lower part of a wider register.
template <class From, class Wider>
[[gnu::cold]] void add_from_wider(Table& table, const std::string& from) {
  table.lanewise<[](Wider x) { return static_cast<u64>(static_cast<From>(x)); }>("cvt.{u64,s64}." + from,
                                                                                 Class::convert);
  table.lanewise<[](Wider x) { return static_cast<u32>(static_cast<From>(x)); }>("cvt.{u32,s32}." + from,
                                                                                 Class::convert);
}

u32 masked(u32 first, u32 bits) {
  if (first > 31) return 0;
  return static_cast<u32>(((u64{1} << (bits < 32 ? bits : 32)) - 1) << first);
}

}  // namespace

[[gnu::cold]] void add_small_conversions(Table& table) {
  add_tiny<E4m3>(table, "e4m3x2");
  add_tiny<E5m2>(table, "e5m2x2");
  add_from_wider<u32, u64>(table, "u32");
  add_from_wider<s32, u64>(table, "s32");
  add_from_wider<u16, u32>(table, "u16");
  add_from_wider<s16, u32>(table, "s16");
  table.lanewise<masked>("bmsk.clamp.b32", Class::integer);
  table.lanewise<[](u32 first, u32 bits) { return masked(first & 31, bits & 31); }>("bmsk.wrap.b32", Class::integer);
}

}  // namespace sim
