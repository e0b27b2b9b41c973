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
                   Triple<__nv_bfloat16, float, float>, Triple<tf32_t, float, float>>;
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

TEST(Verifier, RecordsHowFarResultsAreFromTheReference) {
  const Comparison found = verified(right_variant(), narrow(64, 64, 512));
  EXPECT_GT(found.error, 1e-8);
  EXPECT_LT(found.error, 1e-6);
  EXPECT_GT(found.worst_of_bound, 0.0);
  EXPECT_LT(found.worst_of_bound, 0.5);
}

}  // namespace
