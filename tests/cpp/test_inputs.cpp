// The inputs: exact ones really exact, random ones really normal, both the same at every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/harness/inputs.h"

namespace {

constexpr int ROWS = 16;  // of A, and columns of B, in the sums below

struct Sums {
  double largest_absolute = 0;  // the most that the sum of |a||b| is
  double largest = 0;           // the most that |sum of a b| is
  double mean_square = 0;
  int products = 0;  // that are not 0, in the first element
};

Sums sums_of(const Recipe& a, const Recipe& b, int k_count) {
  Sums sums;
  for (int row = 0; row < ROWS; ++row)
    for (int col = 0; col < 4; ++col) {
      double absolute = 0, sum = 0;
      for (int k = 0; k < k_count; ++k) {
        const double product =
            double{element_of(a, std::uint64_t(row) * k_count + k)} * element_of(b, std::uint64_t(col) * k_count + k);
        sum += product;
        absolute += std::fabs(product);
        if (row == 0 && col == 0) sums.products += product != 0;
      }
      sums.largest_absolute = std::max(sums.largest_absolute, absolute);
      sums.largest = std::max(sums.largest, std::fabs(sum));
      sums.mean_square += sum * sum / (ROWS * 4);
    }
  return sums;
}

struct Types {
  DType acc, out;
};

class ExactInputs : public testing::TestWithParam<Types> {};

TEST_P(ExactInputs, StayExactInTheAccumulatorWithRoomForAlphaAndBeta) {
  const auto [acc, out] = GetParam();
  for (int k : {1, 7, 64, 1000, 16384}) {
    const Recipe a = recipe_for(InputKind::exact, 3, acc, out, k), b = recipe_for(InputKind::exact, 4, acc, out, k);
    const Sums sums = sums_of(a, b, k);
    // Scaled by halves of at most 2: 4 * sum|a||b| halves, and C's own beside them.
    EXPECT_LE(4 * (sums.largest_absolute + a.largest), exact_integers_of(acc)) << "k " << k;
    EXPECT_GT(sums.products, 0) << "k " << k << ": nothing would be tested";
  }
}

TEST_P(ExactInputs, GiveResultsThatShowEveryDigit) {
  const auto [acc, out] = GetParam();
  for (int k : {1, 64, 16384}) {
    const Recipe recipe = recipe_for(InputKind::exact, 3, acc, out, k);
    const Sums sums = sums_of(recipe, recipe_for(InputKind::exact, 4, acc, out, k), k);
    EXPECT_LE(4 * std::sqrt(sums.mean_square), exact_integers_of(out)) << "k " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ExactInputs,
                         testing::Values(Types{DType::f32, DType::f32}, Types{DType::f16, DType::f16},
                                         Types{DType::f32, DType::f16}, Types{DType::f32, DType::bf16}));

TEST(ExactInput, IsANonzeroIntegerEverywhereInFloat32SoThatEveryLostProductShows) {
  const Recipe recipe = recipe_for(InputKind::exact, 7, DType::f32, DType::f32, 4096);
  EXPECT_EQ(recipe.largest, 8);
  EXPECT_EQ(recipe.density, 1.0);
  std::vector<int> seen(17);
  for (int i = 0; i < 20000; ++i) {
    const float value = element_of(recipe, i);
    ASSERT_EQ(value, std::round(value));
    ASSERT_NE(value, 0.0f);
    ASSERT_LE(std::fabs(value), 8.0f);
    ++seen[static_cast<int>(value) + 8];
  }
  for (int size = 1; size <= 8; ++size) {
    EXPECT_NEAR(seen[8 + size], 20000 / 16, 200) << size;
    EXPECT_NEAR(seen[8 - size], 20000 / 16, 200) << -size;
  }
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

TEST(Input, IsTheSameForTheSameSeedAndAnotherForAnother) {
  for (InputKind kind : {InputKind::exact, InputKind::normal}) {
    int same_seed = 0, other_seed = 0;
    for (int i = 0; i < 1000; ++i) {
      const auto value = [&](int seed) {
        return element_of(recipe_for(kind, seed, DType::f32, DType::f32, 64), static_cast<std::uint64_t>(i));
      };
      same_seed += value(5) == value(5);
      other_seed += value(5) == value(6);
    }
    EXPECT_EQ(same_seed, 1000);
    EXPECT_LT(other_seed, 150);
  }
}

}  // namespace
