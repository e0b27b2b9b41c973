// Element types: sizes, roundoffs, conversions that round once; and random inputs. That exact inputs are exact, and
// show a lost product, every step's run and the mutants show.

#include <gtest/gtest.h>

#include <cmath>

#include "common/harness/dispatch.h"
#include "common/harness/inputs.h"

namespace {

constexpr DType EVERY[] = {DType::f32,  DType::tf32, DType::f16, DType::bf16, DType::e4m3,
                           DType::e5m2, DType::s8,   DType::f22, DType::s32};

TEST(Types, HaveTheSizeThatTheyAreStoredIn) {
  for (DType type : EVERY)
    EXPECT_EQ(dispatch(type, [](auto tag) { return sizeof(typename decltype(tag)::type); }), bytes_of(type))
        << name_of(type);
}

template <typename T>
void expect_roundoff() {
  const double u = roundoff_of(type_of<T>);
  const auto rounded = [](double value) { return to_double(from_double<T>(value)); };
  EXPECT_EQ(rounded(1 + 2 * u), 1 + 2 * u) << "the next number after 1";
  EXPECT_EQ(rounded(1 + u), 1) << "half way: to even";
  EXPECT_EQ(rounded(1 + 1.5 * u), 1 + 2 * u);
  const double last = exact_integers_of(type_of<T>);
  EXPECT_EQ(rounded(last), last);
  EXPECT_EQ(rounded(last - 1), last - 1);
  EXPECT_EQ(rounded(last + 1), last) << "the first integer that is not representable";
  const double half_a_step = least_rounding_of(type_of<T>), largest = largest_of(type_of<T>);
  EXPECT_EQ(rounded(2 * half_a_step), 2 * half_a_step) << "the smallest number";
  EXPECT_EQ(rounded(half_a_step), 0) << "half way: to even";
  EXPECT_EQ(rounded(largest), largest);
}

TEST(Types, HaveTheRoundoffOfTheirFormat) {
  expect_roundoff<float>();
  expect_roundoff<__half>();
  expect_roundoff<__nv_bfloat16>();
  expect_roundoff<__nv_fp8_e4m3>();
  expect_roundoff<__nv_fp8_e5m2>();
}

TEST(Types, IntegersAreTheNearestWithinTheirRange) {
  EXPECT_EQ(from_double<std::int8_t>(2.5), 2);
  EXPECT_EQ(from_double<std::int8_t>(-3.5), -4);
  EXPECT_EQ(from_double<std::int8_t>(1e9), 127);
  EXPECT_EQ(from_double<std::int8_t>(-1e9), -128);
  EXPECT_EQ(from_double<int>(16777217.0), 16777217);
  EXPECT_EQ(to_double(16777217), 16777217.0);
  EXPECT_EQ(from_double<int>(3e9), 2147483647);
  EXPECT_EQ(from_double<int>(-3e9), -2147483647 - 1);
}

TEST(Types, AreRoundedOnceFromDouble) {
  // Through float this would round twice: first down to a half-way case, then to even.
  const double value = 1 + 0x1p-11 + 0x1p-30;
  EXPECT_EQ(to_double(from_double<__half>(value)), 1 + 0x1p-10);
  EXPECT_EQ(to_double(from_double<__nv_bfloat16>(1 + 0x1p-8 + 0x1p-30)), 1 + 0x1p-7);
}

TEST(NormalInput, HasMeanZeroDeviationOneAndNoZeros) {
  const Recipe recipe = recipe_for(InputKind::normal, 1, DType::f32, DType::f32, 4096);
  constexpr int COUNT = 100000;
  double sum = 0, square = 0;
  int beyond_two = 0;
  for (int i = 0; i < COUNT; ++i) {
    const double value = element_of(recipe, i);
    ASSERT_NE(value, 0.0);
    sum += value;
    square += value * value;
    beyond_two += std::fabs(value) > 2;
  }
  EXPECT_NEAR(sum / COUNT, 0.0, 0.015);
  EXPECT_NEAR(square / COUNT, 1.0, 0.02);
  EXPECT_NEAR(static_cast<double>(beyond_two) / COUNT, 0.0455, 0.005);
}

}  // namespace
