// Matrices on the device: how they are filled, poisoned and fingerprinted.

#include <gtest/gtest.h>

#include <cmath>

#include "common/harness/dispatch.h"
#include "common/harness/matrix.h"
#include "tests/cpp/host_gemm.h"

namespace {

Recipe normal(std::uint64_t seed) { return recipe_for(InputKind::normal, seed, DType::f32, DType::f32, 16); }

// In the simulator device memory is host memory.
template <typename T>
T* stored(const Matrix& matrix) {
  return static_cast<T*>(matrix.data());
}

template <typename T>
class MatrixOf : public testing::Test {};
using Types = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(MatrixOf, Types);

TYPED_TEST(MatrixOf, HasAFingerprintThatEveryElementChanges) {
  Matrix matrix(type_of<TypeParam>, 3, 3, 4);
  matrix.fill(normal(1));
  const std::uint64_t all = fingerprint(matrix, Part::all), padding = fingerprint(matrix, Part::padding);
  for (int at = 0; at < 12; ++at) {
    const bool in_padding = at % 4 == 3;
    const TypeParam kept = stored<TypeParam>(matrix)[at];
    stored<TypeParam>(matrix)[at] = from_double<TypeParam>(in_padding ? 1.0 : to_double(kept) + 1.0);
    EXPECT_NE(fingerprint(matrix, Part::all), all) << at;
    EXPECT_EQ(fingerprint(matrix, Part::padding) != padding, in_padding) << at;
    stored<TypeParam>(matrix)[at] = kept;
  }
  EXPECT_EQ(fingerprint(matrix, Part::all), all);
}

}  // namespace
