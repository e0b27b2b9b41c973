/// Arithmetic in a rounding mode other than to nearest: the host's where it has modes, else in integers.
#pragma once

#include <cfenv>
#include <cmath>
#include <type_traits>

#include "core/arithmetic/software.h"

#if defined(FE_DOWNWARD) && defined(FE_UPWARD) && defined(FE_TOWARDZERO)
#define HOST_HAS_ROUNDING_MODES 1
#else
#define HOST_HAS_ROUNDING_MODES 0
#endif

namespace sim {

#if HOST_HAS_ROUNDING_MODES
/// The host's rounding mode for as long as this lives.
class RoundingMode {
 public:
  explicit RoundingMode(Round mode) : before_(std::fegetround()) { std::fesetround(of_host(mode)); }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  static int of_host(Round mode) {
    switch (mode) {
      case Round::zero: return FE_TOWARDZERO;
      case Round::down: return FE_DOWNWARD;
      case Round::up: return FE_UPWARD;
      default: return FE_TONEAREST;
    }
  }

  int before_;
};

namespace hardware {

/// A value that the compiler knows nothing about: what is computed of it is computed between the changes of the mode.
template <class T>
T opaque(T x) {
  volatile T kept = x;
  return kept;
}

template <class T>
T sum(Round how, T a, T b) {
  const RoundingMode guard(how);
  return opaque(opaque(a) + opaque(b));
}
template <class T>
T difference(Round how, T a, T b) {
  const RoundingMode guard(how);
  return opaque(opaque(a) - opaque(b));
}
template <class T>
T product(Round how, T a, T b) {
  const RoundingMode guard(how);
  return opaque(opaque(a) * opaque(b));
}
template <class T>
T quotient(Round how, T a, T b) {
  const RoundingMode guard(how);
  return opaque(opaque(a) / opaque(b));
}
template <class T>
T inverse(Round how, T a) {
  return quotient(how, T{1}, a);
}
template <class T>
T root(Round how, T a) {
  const RoundingMode guard(how);
  return opaque(std::sqrt(opaque(a)));
}
template <class T>
T multiply_add(Round how, T a, T b, T c) {
  const RoundingMode guard(how);
  return opaque(std::fma(opaque(a), opaque(b), opaque(c)));
}
template <class To, class From>
To converted(Round how, From x) {
  // clang converts a u64 as a difference of two parts, and 0 − 0 is −0 where sums are rounded down.
  if constexpr (std::is_integral_v<From>)
    if (x == 0) return To{0};
  const RoundingMode guard(how);
  return opaque(static_cast<To>(opaque(x)));
}

}  // namespace hardware

namespace rounding = hardware;
#else
namespace rounding = software;
#endif

}  // namespace sim
