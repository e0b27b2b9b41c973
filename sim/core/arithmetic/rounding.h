/// The host's arithmetic in a rounding mode other than to nearest.
#pragma once

#include <cfenv>

namespace sim {

/// The host's rounding mode for as long as this lives.
class RoundingMode {
 public:
  explicit RoundingMode(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};

/// A value that the compiler knows nothing about: what is computed of it is computed between the changes of the mode.
template <class T>
T opaque(T x) {
  volatile T kept = x;
  return kept;
}

/// Calls function(a…) in a rounding mode: FE_DOWNWARD or its like.
template <int mode, auto function, class... Ts>
auto rounded(Ts... a) {
  const RoundingMode guard(mode);
  return opaque(function(opaque(a)...));
}

}  // namespace sim
