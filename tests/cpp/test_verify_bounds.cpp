// How far a result may be from the reference, what is looked at, and the memory that it needs.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/cpp/verified.h"

namespace {

TEST(Tolerance, IsTheBoundOfTheDesign) {
  const Tolerance f32 = tolerance_for(InputKind::normal, right_variant());
  EXPECT_FALSE(f32.exact);
  EXPECT_EQ(f32.per_magnitude, 10 * 0x1p-24);
  EXPECT_EQ(f32.per_value, 0x1p-24);
  const Variant mixed_types = right_variant<__half, float, __nv_bfloat16>();
  const Tolerance mixed = tolerance_for(InputKind::normal, mixed_types);
  EXPECT_EQ(mixed.per_magnitude, 2 * 0x1p-11 + 8 * 0x1p-24);
  EXPECT_EQ(mixed.per_value, 0x1p-8);
  EXPECT_EQ(tolerance_for(InputKind::exact, mixed_types).bound(1, 1), 0);
  Variant cut = right_variant<tf32_t, float, float>();
  const Tolerance rounded = tolerance_for(InputKind::normal, cut);
  EXPECT_EQ(tolerance_for(InputKind::normal, cut.cuts_operands()).per_magnitude, rounded.per_magnitude + 2 * 0x1p-11);
}

TEST(Tolerance, IsNeverLessThanWhatRoundingMovesTheSmallestNumbers) {
  const Tolerance half = tolerance_for(InputKind::normal, right_variant<__half>(), -0.5f);
  EXPECT_EQ(half.bound(0, 0), 0x1p-25 + 0.5 * 0x1p-25) << "C rounded to a subnormal number, and the sum before";
  EXPECT_EQ(half.bound(1, 0), 0x1p-11 + 0.5 * 0x1p-25);
  EXPECT_EQ(tolerance_for(InputKind::normal, right_variant<__half, float, __half>()).bound(0, 0), 0x1p-25 + 0x1p-150);
}

TEST(Tolerance, TakesProductsThatAreSubnormal) {  // as 12_half_pack naive_f16 at m 768 n 384 k 1, reported on an H200
  for (const float alpha : {1.0f, -0.75f})
    EXPECT_TRUE(checked(right_variant<__half>(), narrow(768, 384, 1, alpha), InputKind::normal).passed) << alpha;
}

TEST(Overflow, IsRightWhereTheReferenceIsBeyondTheType) {
  for (const Variant& variant : {right_variant(), right_variant<__nv_bfloat16, float, float>()})
    EXPECT_TRUE(verified(variant, narrow(16, 16, 64, 1e38f)).passed);
  EXPECT_TRUE(verified(right_variant<__half, float, __half>(), narrow(16, 16, 64, 2e4f)).passed);
  EXPECT_TRUE(verified(right_variant(), narrow(16, 16, 64, 1e38f, -1e38f)).passed);
  EXPECT_TRUE(verified(right_variant(), narrow(16, 16, 64, 3e38f, 3e38f)).passed);
}

TEST(Overflow, IsWrongWhereTheReferenceIsNotOrHasTheOtherSign) {
  const auto with = [](float value) {
    return wrong_variant(right_variant(), [value](const Problem& p) { c_of(p, 3, 3) = value; });
  };
  EXPECT_FALSE(checked(with(INFINITY), narrow(8, 8, 64), InputKind::normal).passed);
  const Shape huge = narrow(8, 8, 64, 1e38f);
  double seen = 0;
  const Variant look = wrong_variant(right_variant(), [&seen](const Problem& p) { seen = c_of(p, 3, 3); });
  EXPECT_TRUE(checked(look, huge, InputKind::normal).passed);
  ASSERT_TRUE(std::isinf(seen)) << "choose another element";
  EXPECT_TRUE(checked(with(static_cast<float>(seen)), huge, InputKind::normal).passed);
  EXPECT_FALSE(checked(with(static_cast<float>(-seen)), huge, InputKind::normal).passed);
  EXPECT_FALSE(checked(with(NOT_A_NUMBER), huge, InputKind::normal).passed);
  EXPECT_FALSE(checked(with(3e38f), huge, InputKind::normal).passed) << "saturated";
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

TEST(VerificationBytes, DoNotOverflowAtTheLargestMatrices) {
  const Shape shape = narrow(46340, 46340, 46340);
  const std::size_t elements = std::size_t{46340} * 46340;
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::off), 4 * 4 * elements);
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::full), (4 * 4 + 32) * elements);
  EXPECT_LT(verification_bytes(right_variant(), shape, VerifyMode::standard), 7 * 4 * elements)
      << "beyond 4096: samples";
}

// What host_gemm makes of it, times the factors of BlockScales.
void scaled_gemm(const Gemm<__nv_fp8_e4m3, float, float>& g, const LaunchOptions& options, cudaStream_t) {
  constexpr int BLOCK = BlockScales::BLOCK;
  for (int row = 0; row < g.m; ++row)
    for (int col = 0; col < g.n; ++col) {
      double sum = 0;
      for (int k = 0; k < g.k; ++k) {
        const float of_a = options.scales.of_a[k / BLOCK * BlockScales::ld_of_a(g.m) + row];
        const float of_b = options.scales.of_b[k / BLOCK * ((g.n + BLOCK - 1) / BLOCK) + col / BLOCK];
        sum += to_double(g.a[row * g.lda + k]) * of_a * to_double(g.b[col * g.ldb + k]) * of_b;
      }
      g.c[row * g.ldc + col] =
          static_cast<float>(g.alpha * sum + (g.beta == 0.0f ? 0.0f : g.beta * g.c[row * g.ldc + col]));
    }
}

TEST(Verifier, KnowsTheFactorsOfBlocks) {
  const Variant scaled = Variant("scaled", scaled_gemm).tn().block_scaled();
  EXPECT_TRUE(verified(scaled, narrow_tn(130, 140, 300)).passed);
  EXPECT_TRUE(verified(scaled, narrow_tn(17, 129, 128, -1.5f, 0.5f)).passed);
  Variant unscaled = right_tn_variant<__nv_fp8_e4m3, float, float>().block_scaled();
  EXPECT_FALSE(verified(unscaled, narrow_tn(130, 140, 300)).passed);
}

TEST(Verifier, SumsOfBytesAreExactOrWrong) {
  const Variant one_more =
      wrong_variant(right_variant<std::int8_t, int, int>(), [](const Problem& p) { ++static_cast<int*>(p.c)[p.ldc]; });
  EXPECT_FALSE(verified(one_more, narrow(20, 30, 4000)).passed);
}

TEST(Verifier, RecordsHowFarResultsAreFromTheReference) {
  const Comparison found = verified(right_variant(), narrow(64, 64, 512));
  EXPECT_GT(found.error, 1e-8);
  EXPECT_LT(found.error, 1e-6);
  EXPECT_GT(found.worst_of_bound, 0.0);
  EXPECT_LT(found.worst_of_bound, 0.5);
}

}  // namespace
