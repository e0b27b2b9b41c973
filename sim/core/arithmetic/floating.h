/// What the floating-point instructions of single and double precision share.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "core/arithmetic/software.h"
#include "core/base/host.h"
#include "core/base/types.h"

namespace sim {

/// A NaN that an operation makes is the one the hardware makes.
inline f32 canonical(f32 x) { return x == x ? x : std::bit_cast<f32>(0x7fffffffu); }
inline f64 canonical(f64 x) { return x == x ? x : std::bit_cast<f64>(0x7fffffffffffffffull); }

/// `.ftz`: a subnormal becomes a zero of its sign.
inline f32 flushed(f32 x) { return std::fabs(x) < std::numeric_limits<f32>::min() ? std::copysign(0.0f, x) : x; }

/// `.sat`: to [0, 1], NaN to 0.
inline f32 saturated(f32 x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

/// A sum whose last bit is set where it is inexact (rounding to odd): rounding it again, to a format of at least two
/// digits less, gives what rounding the exact sum once would have given. `T` must hold the sum's error exactly.
template <class T, class Bits>
[[gnu::always_inline]] inline T sum_to_odd(T a, T b) {
  const T sum = a + b;
  const T b_kept = sum - a;
  const T error = (a - (sum - b_kept)) + (b - b_kept);  // Knuth's exact error
  const auto bits = std::bit_cast<Bits>(sum);
  const bool inexact = (error > 0) | (error < 0);  // false for the NaN that an infinite sum leaves
  const Bits step = (error > 0) == (sum > 0) ? Bits{1} : ~Bits{0};
  return std::bit_cast<T>((inexact & ((bits & 1) == 0)) ? static_cast<Bits>(bits + step) : bits);
}

/// a·b + c, rounded once: the host's own where it has a fused multiply-add.
[[gnu::always_inline]] inline f32 multiply_add(f32 a, f32 b, f32 c) {
#if HOST_HAS_FMA
  return std::fma(a, b, c);
#else
  return static_cast<f32>(sum_to_odd<f64, u64>(f64{a} * f64{b}, f64{c}));  // the product is exact
#endif
}
[[gnu::always_inline]] inline f64 multiply_add(f64 a, f64 b, f64 c) {
#if HOST_HAS_FMA
  return std::fma(a, b, c);
#else
  return software::multiply_add(Round::nearest, a, b, c);
#endif
}

}  // namespace sim
