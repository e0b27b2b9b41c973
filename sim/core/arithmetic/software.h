/// Arithmetic of f32 and f64 in integers, rounded once in any direction: for targets without rounding modes or without
/// a fused multiply-add, such as WebAssembly. Equal to the hardware's to the bit but for which NaN it is
/// (tests/test_software.cpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/types.h"

namespace sim {

/// How a result is rounded: to nearest even, towards zero, down, up.
enum class Round { nearest, zero, down, up };

namespace software {

using Wide = unsigned __int128;

/// A finite number that is not zero: ± size · 2^exponent. Where it is `inexact`, the size is a little larger, and has
/// more digits than any format.
struct Number {
  bool negative = false;
  Wide size = 0;
  int exponent = 0;
  bool inexact = false;
};

inline int bits_of(Wide size) {
  const auto upper = static_cast<u64>(size >> 64);
  return upper != 0 ? 128 - std::countl_zero(upper) : 64 - std::countl_zero(static_cast<u64>(size));
}

template <class T>
struct Format {
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr int least_exponent = std::numeric_limits<T>::min_exponent - digits;  ///< of a subnormal's last bit
  static constexpr int most_exponent = std::numeric_limits<T>::max_exponent - digits;
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
};

template <class T>
Number taken_apart(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  const auto bits = std::bit_cast<Bits>(x);
  const int power = static_cast<int>(bits >> (F::digits - 1)) & (2 * std::numeric_limits<T>::max_exponent - 1);
  const Bits fraction = bits & ((Bits{1} << (F::digits - 1)) - 1);
  return {std::signbit(x), power != 0 ? fraction | Bits{1} << (F::digits - 1) : fraction,
          F::least_exponent + (power > 1 ? power - 1 : 0)};
}

inline bool goes_away_from_zero(Round how, bool negative) { return how == (negative ? Round::down : Round::up); }

/// Cuts off the last `bits` of a size; whether they were not all zero.
inline bool cut(Wide& size, int bits) {
  if (bits <= 0) return false;
  const bool rest = bits >= 128 ? size != 0 : (size & ((Wide{1} << bits) - 1)) != 0;
  size = bits >= 128 ? 0 : size >> bits;
  return rest;
}

/// The number of the format that is next to this one in the direction.
template <class T>
T rounded(Round how, Number number) {
  using F = Format<T>;
  const bool away = goes_away_from_zero(how, number.negative);
  Wide size = number.size;
  int exponent = number.exponent;
  const int surplus = std::max(bits_of(size) - F::digits, F::least_exponent - exponent);
  if (surplus > 0) {
    const bool below = cut(size, surplus - 1) || number.inexact, half = (size & 1) != 0;
    size >>= 1;
    exponent += surplus;
    const bool up = how == Round::nearest ? half && (below || (size & 1) != 0) : away && (half || below);
    size += up;
  }
  if (bits_of(size) > F::digits) size >>= 1, ++exponent;  // a carry: the bit cut off is 0
  T result;
  if (bits_of(size) + exponent > F::digits + F::most_exponent) {
    result = how == Round::nearest || away ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  } else {
    result = static_cast<T>(static_cast<u64>(size));
    if (result != 0) result = std::ldexp(result, exponent);
  }
  return number.negative ? -result : result;
}

/// The sign of a sum that is zero.
template <class T>
T zero_sum(Round how, bool a_is_negative, bool b_is_negative) {
  const bool negative = a_is_negative == b_is_negative ? a_is_negative : how == Round::down;
  return negative ? -T{0} : T{0};
}

/// The sum of two numbers that are not zero.
template <class T>
T sum_of(Round how, Number a, Number b) {
  constexpr int room = 125;  // bits that both are moved up to, so that what is cut off lies far behind the result
  const auto raise = [](Number& each) {
    const int up = room - bits_of(each.size);
    each.size <<= up;
    each.exponent -= up;
  };
  raise(a);
  raise(b);
  if (a.exponent < b.exponent) std::swap(a, b);
  const bool rest = cut(b.size, a.exponent - b.exponent);
  Number sum{a.negative, 0, a.exponent, rest};
  if (a.negative == b.negative) {
    sum.size = a.size + b.size;
  } else if (a.size >= b.size + rest) {
    sum.size = a.size - b.size - rest;  // what was cut off is taken away: one less, and a little more
  } else {
    sum.size = b.size - a.size;  // then nothing was cut off: they lie at the same exponent
    sum.negative = b.negative;
  }
  if (sum.size == 0) return zero_sum<T>(how, a.negative, b.negative);
  return rounded<T>(how, sum);
}

template <class T>
T sum(Round how, T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a + b;
  if (a == 0 && b == 0) return zero_sum<T>(how, std::signbit(a), std::signbit(b));
  if (a == 0) return b;
  if (b == 0) return a;
  return sum_of<T>(how, taken_apart(a), taken_apart(b));
}

template <class T>
T difference(Round how, T a, T b) {
  return sum(how, a, -b);
}

inline Number product_of(const Number& a, const Number& b) {
  return {a.negative != b.negative, a.size * b.size, a.exponent + b.exponent};
}

template <class T>
T product(Round how, T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a * b;
  return rounded<T>(how, product_of(taken_apart(a), taken_apart(b)));
}

template <class T>
T multiply_add(Round how, T a, T b, T c) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a * b + c;
  if (!std::isfinite(c)) return c + c;
  if (a == 0 || b == 0) return sum(how, a * b, c);
  const Number exact = product_of(taken_apart(a), taken_apart(b));
  return c == 0 ? rounded<T>(how, exact) : sum_of<T>(how, exact, taken_apart(c));
}

template <class T>
T quotient(Round how, T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a / b;
  Number over = taken_apart(a), under = taken_apart(b);
  const int up = 127 - bits_of(over.size);  // at least 127 − 53 digits of quotient: more than are kept
  over.size <<= up;
  return rounded<T>(how, {over.negative != under.negative, over.size / under.size, over.exponent - up - under.exponent,
                          over.size % under.size != 0});
}

template <class T>
T inverse(Round how, T a) {
  return quotient(how, T{1}, a);
}

template <class T>
T root(Round how, T a) {
  if (!(a > 0) || std::isinf(a)) return std::sqrt(a);
  Number square = taken_apart(a);
  int up = 126 - bits_of(square.size);
  up -= (square.exponent - up) & 1;
  square.size <<= up;
  square.exponent -= up;
  Wide root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Wide next = root | Wide{1} << bit;
    if (next * next <= square.size) root = next;
  }
  return rounded<T>(how, {false, root, square.exponent / 2, root * root != square.size});
}

/// From an integer or a wider number.
template <class To, class From>
To converted(Round how, From x) {
  if constexpr (std::is_integral_v<From>) {
    const bool negative = x < 0;
    const Wide size = negative ? -static_cast<Wide>(x) : static_cast<Wide>(x);
    return size == 0 ? To{0} : rounded<To>(how, {negative, size, 0});
  } else {
    if (!std::isfinite(x) || x == 0) return static_cast<To>(x);
    return rounded<To>(how, taken_apart(x));
  }
}

}  // namespace software
}  // namespace sim
