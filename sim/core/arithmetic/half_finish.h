/// What 16-bit instructions may do to their operands and results: `.ftz`, `.sat`, `.relu`; and minimum and maximum.
#pragma once

#include "core/arithmetic/half.h"

namespace sim {

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

}  // namespace sim
