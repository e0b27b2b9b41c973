// The verifier passes what is right, in every type.

#include <gtest/gtest.h>

#include "tests/cpp/verified.h"

namespace {

void expect_right(const Variant& variant, const Shape& shape) {
  const Comparison found = verified(variant, shape);
  EXPECT_TRUE(found.passed) << found.message();
  EXPECT_EQ(found.wrong, 0u);
  EXPECT_GE(found.worst_of_bound, 0.0);
  EXPECT_LE(found.worst_of_bound, 1.0);
}

template <typename Types>
class RightIn : public testing::Test {};
template <typename AB, typename Acc, typename Out>
struct Triple {
  static Variant nn() { return right_variant<AB, Acc, Out>(); }
  static Variant tn() { return right_tn_variant<AB, Acc, Out>(); }
};
using EveryTriple =
    testing::Types<Triple<float, float, float>, Triple<__half, __half, __half>, Triple<__half, float, __half>,
                   Triple<__half, float, float>, Triple<__nv_bfloat16, float, __nv_bfloat16>,
                   Triple<__nv_bfloat16, float, float>, Triple<tf32_t, float, float>, Triple<std::int8_t, int, int>,
                   Triple<__nv_fp8_e4m3, float, __nv_bfloat16>, Triple<__nv_fp8_e5m2, float, __nv_bfloat16>>;
TYPED_TEST_SUITE(RightIn, EveryTriple);

TYPED_TEST(RightIn, SquareRectangularAndSingleElement) {
  expect_right(TypeParam::nn(), narrow(32, 32, 32));
  expect_right(TypeParam::nn(), narrow(17, 50, 129));
  expect_right(TypeParam::tn(), narrow_tn(50, 17, 64));
  expect_right(TypeParam::nn(), narrow(1, 1, 1));
}

TYPED_TEST(RightIn, LongSums) { expect_right(TypeParam::nn(), narrow(6, 5, 5000)); }

TYPED_TEST(RightIn, AlphaAndBeta) {
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 2.0f, -1.0f));
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 0.3f, 1.7f));
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 0.0f, 1.0f));
  expect_right(TypeParam::tn(), narrow_tn(20, 21, 22, -1.5f, 0.5f));
  expect_right(TypeParam::nn(), narrow(40, 41, 1000, 1.5f, 0.5f));  // BF16 has to round some of these exact results
}

TYPED_TEST(RightIn, WideLeadingDimensions) {
  expect_right(TypeParam::nn(), {9, 10, 11, 16, 13, 12, 1.0f, 0.0f});
  expect_right(TypeParam::tn(), {9, 10, 11, 16, 13, 12, 2.0f, 1.0f});
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
  expect_right(scaled, narrow_tn(130, 140, 300));
  expect_right(scaled, narrow_tn(17, 129, 128, -1.5f, 0.5f));
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
