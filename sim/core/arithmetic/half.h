/// The two 16-bit formats, binary16 and bfloat16: their values, and rounding to them once. Bits are held in u16; what
/// arithmetic needs is widened to single or double precision, where it is exact or kept so that one rounding remains.
///
/// Everything here is a few integer and floating-point operations without a branch, so that loops over lanes vectorise.
#pragma once

#include <bit>
#include <cmath>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/software.h"
#include "core/base/types.h"

namespace sim {

/// Rounds `value` to a format of `digits` significant bits whose least normal number is 2^`least_exponent`, and gives
/// its bits. Any rounding; for the conversions that are rare.
template <int digits, int least_exponent>
u16 narrowed(f64 value, Round how) {
  constexpr u32 infinity = 0x8000u - (1u << (digits - 1)), nan = 0x7fff;
  if (value != value) return nan;
  const u32 sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isinf(value)) return static_cast<u16>(sign | infinity);
  const f64 size = std::fabs(value);
  int exponent = least_exponent;
  if (size != 0 && std::ilogb(size) > least_exponent) exponent = std::ilogb(size);
  const f64 units = std::ldexp(size, digits - 1 - exponent);  // of the last place; exact
  const bool away = how == (sign ? Round::down : Round::up);
  const f64 kept = how == Round::nearest ? std::nearbyint(units) : away ? std::ceil(units) : std::floor(units);
  const f64 bits = std::ldexp(static_cast<f64>(exponent - least_exponent), digits - 1) + kept;
  if (bits < infinity) return static_cast<u16>(sign | static_cast<u32>(bits));
  return static_cast<u16>(sign | (how == Round::nearest || away ? infinity : infinity - 1));
}

/// IEEE binary16: PTX's `.f16`.
struct Half {
  static constexpr u16 one = 0x3c00, nan = 0x7fff, least_normal = 0x0400;

  [[gnu::always_inline]] static inline f32 widened(u16 bits) {
    const u32 sign = u32{bits} << 16 & 0x80000000u, rest = u32{bits} << 16 << 1;
    // Normal numbers: the exponent's bias changed by a shift and a product. Subnormal ones: units of 2^-24 beside 1/2.
    const f32 normal = std::bit_cast<f32>((rest >> 4) + (0xe0u << 23)) * 0x1p-112f;
    const f32 subnormal = std::bit_cast<f32>((rest >> 17) | (126u << 23)) - 0.5f;
    return std::bit_cast<f32>(sign | std::bit_cast<u32>(rest < (1u << 27) ? subnormal : normal));
  }

  [[gnu::always_inline]] static inline u16 rounded(f32 value) {
    const u32 bits = std::bit_cast<u32>(value), size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const u32 rebiased = size - (112u << 23);
    const u32 normal = (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;  // carries into infinity by itself
    const u32 subnormal = std::bit_cast<u32>(std::bit_cast<f32>(size) + 0.5f) - (126u << 23);
    const u32 infinite = size > 0x7f800000u ? u32{nan} : 0x7c00u;
    const u32 result = size >= 0x47800000u ? infinite : size < 0x38800000u ? subnormal : normal;
    return static_cast<u16>(size > 0x7f800000u ? u32{nan} : sign | result);
  }

  static u16 rounded(f64 value, Round how) { return narrowed<11, -14>(value, how); }

  /// A product of two is exact in single precision, and so is the error of adding a third.
  [[gnu::always_inline]] static inline u16 fma(u16 a, u16 b, u16 c) {
    return rounded(sum_to_odd<f32, u32>(widened(a) * widened(b), widened(c)));
  }
};

/// bfloat16, the upper half of a single: PTX's `.bf16`.
struct Bfloat {
  static constexpr u16 one = 0x3f80, nan = 0x7fff, least_normal = 0x0080;

  [[gnu::always_inline]] static inline f32 widened(u16 bits) { return std::bit_cast<f32>(u32{bits} << 16); }

  [[gnu::always_inline]] static inline u16 rounded(f32 value) {
    const u32 bits = std::bit_cast<u32>(value);
    const u32 result = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<u16>((bits & 0x7fffffffu) > 0x7f800000u ? u32{nan} : result);
  }

  static u16 rounded(f64 value, Round how) { return narrowed<8, -126>(value, how); }

  /// In double precision, whose exponents no product leaves; then to a single by rounding to odd, then once.
  [[gnu::always_inline]] static inline u16 fma(u16 a, u16 b, u16 c) {
    const f64 exact = sum_to_odd<f64, u64>(f64{widened(a)} * f64{widened(b)}, f64{widened(c)});
    const f32 near = static_cast<f32>(exact);
    const u32 bits = std::bit_cast<u32>(near);
    const f64 size = std::fabs(exact), near_size = std::fabs(f64{near});
    const bool inexact = (size < near_size) | (size > near_size);  // false for NaN
    const u32 step = size > near_size ? 1u : ~0u;
    return rounded(std::bit_cast<f32>((inexact & ((bits & 1) == 0)) ? bits + step : bits));
  }
};

/// Exact enough in single precision: rounding a sum of two twice is rounding it once, since 24 digits are at least
/// twice 11, and two.
template <class F>
u16 sum_of(u16 a, u16 b) {
  return F::rounded(F::widened(a) + F::widened(b));
}

}  // namespace sim
