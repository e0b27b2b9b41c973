// How far a result may be from the reference, what is looked at, and the memory that it needs.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/cpp/verified.h"

namespace {

constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

TEST(Tolerance, IsTheBoundOfTheDesign) {
  const Tolerance f32 = tolerance_for(InputKind::normal, DType::f32, DType::f32, DType::f32);
  EXPECT_FALSE(f32.exact);
  EXPECT_EQ(f32.per_magnitude, 10 * 0x1p-24);
  EXPECT_EQ(f32.per_value, 0x1p-24);
  const Tolerance mixed = tolerance_for(InputKind::normal, DType::f16, DType::f32, DType::bf16);
  EXPECT_EQ(mixed.per_magnitude, 2 * 0x1p-11 + 8 * 0x1p-24);
  EXPECT_EQ(mixed.per_value, 0x1p-8);
  EXPECT_TRUE(tolerance_for(InputKind::exact, DType::f16, DType::f32, DType::f16).exact);
}

TEST(Tolerance, LetsNothingPassThatIsTwiceAsFar) {
  const Shape shape = narrow(4, 4, 64);
  const Variant off = wrong_variant(right_variant(), [](const Problem& p) {
    const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
    double magnitude = 0;
    for (int k = 0; k < p.k; ++k) magnitude += std::fabs(double{a[k]} * b[k * p.ldb]);
    c_of(p, 0, 0) += static_cast<float>(2 * 11 * 0x1p-24 * magnitude);
  });
  const Comparison found = checked(off, shape, InputKind::normal);
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_NE(found.message().find("1 wrong element, the first at row 0, column 0: got "), std::string::npos);
  EXPECT_NE(found.message().find(" within "), std::string::npos);
}

TEST(Sample, CrossesEveryBlockTileOf32By32) {
  const Shape shape = narrow(200, 170, 5);
  for (int tile_row = 0; tile_row < 200; tile_row += 32)
    for (int tile_col = 0; tile_col < 170; tile_col += 32) {
      const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
        for (int i = tile_row; i < std::min(tile_row + 32, p.m); ++i)
          for (int j = tile_col; j < std::min(tile_col + 32, p.n); ++j) c_of(p, i, j) += 1.0f;
      });
      EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << tile_row << ", " << tile_col;
    }
}

TEST(Sample, SeesOneWrongRowOrColumnAnywhere) {
  const Shape shape = narrow(100, 90, 5);
  for (int row = 0; row < 100; ++row) {
    const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
      for (int j = 0; j < p.n; ++j) c_of(p, row, j) += 1.0f;
    });
    EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << "row " << row;
  }
  for (int col = 0; col < 90; ++col) {
    const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
      for (int i = 0; i < p.m; ++i) c_of(p, i, col) += 1.0f;
    });
    EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << "column " << col;
  }
}

TEST(Sample, PassesWhatIsRight) {
  EXPECT_TRUE(verified(right_variant(), narrow(200, 170, 33), VerifyMode::sample).passed);
}

TEST(Off, ChecksNothing) {
  const Variant wrong = wrong_variant(right_variant(), [](const Problem& p) { c_of(p, 0, 0) = NOT_A_NUMBER; });
  EXPECT_TRUE(verified(wrong, narrow(8, 8, 8), VerifyMode::off).passed);
  EXPECT_TRUE(checked(wrong, narrow(8, 8, 8), InputKind::normal, VerifyMode::off).passed);
}

TEST(VerificationBytes, CountMatricesAndReferences) {
  const Variant half = right_variant<__half, float, float>();
  const Shape shape = narrow(100, 200, 300);
  const std::size_t matrices = 2 * (100 * 300 + 300 * 200) + 4 * 2 * 100 * 200;
  EXPECT_EQ(verification_bytes(half, shape, VerifyMode::off), matrices);
  EXPECT_EQ(verification_bytes(half, shape, VerifyMode::full), matrices + 2 * 2 * 8 * 100 * 200);
  EXPECT_LT(verification_bytes(half, shape, VerifyMode::sample), verification_bytes(half, shape, VerifyMode::full));
}

TEST(VerificationBytes, DoNotOverflowAtTheLargestMatrices) {
  const Shape shape = narrow(46340, 46340, 46340);
  const std::size_t elements = std::size_t{46340} * 46340;
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::off), 4 * 4 * elements);
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::full), (4 * 4 + 32) * elements);
  EXPECT_LT(verification_bytes(right_variant(), shape, VerifyMode::standard), 7 * 4 * elements)
      << "beyond 4096: samples";
}

}  // namespace
