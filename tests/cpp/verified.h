// A variant verified on a shape, in one call.
#pragma once

#include <limits>

#include "common/harness/verify.h"
#include "tests/cpp/host_gemm.h"

inline constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

/// Everything that the harness does before it times a variant.
inline Comparison verified(const Variant& variant, const Shape& shape, VerifyMode mode = VerifyMode::standard) {
  Verifier verifier(variant, shape, mode, 1);
  return verifier.run({}, nullptr);
}

/// One kind of input alone.
inline Comparison checked(const Variant& variant, const Shape& shape, InputKind kind,
                          VerifyMode mode = VerifyMode::standard) {
  Verifier verifier(variant, shape, mode, 1);
  return verifier.check(kind, {}, nullptr);
}

/// A variant that makes this mistake, on a small shape with padded rows.
inline Comparison with_mistake(const Mistake& mistake) {
  return verified(wrong_variant(right_variant(), mistake), narrow(40, 36, 33));
}
