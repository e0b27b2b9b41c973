// A variant verified on a shape, in one call.
#pragma once

#include "common/harness/verify.h"
#include "tests/cpp/host_gemm.h"

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
