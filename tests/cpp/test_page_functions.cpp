// The course's own functions for a page (tools/site/wasm/course.cpp), as a page calls them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

extern "C" {
void course_dot(double* to, const char* type, const double* a, const double* b, std::uint32_t count, double c);
double course_fma(double a, double b, double c);
}

namespace {

struct Dot {
  double result, sum, top, kept_bits, of_c, of_products[4];
};

Dot dot(const double (&a)[4], const double (&b)[4], double c) {
  double found[5 + 4];
  course_dot(found, "f16", a, b, 4, c);
  return {found[0], found[1], found[2], found[3], found[4], {found[5], found[6], found[7], found[8]}};
}

TEST(PageFunctions, SumsOfProductsAreExactWhereNothingIsCutOff) {
  const Dot found = dot({1, 2, 3, 4}, {5, 6, 7, 8}, 0.5);
  EXPECT_EQ(found.sum, 70.5);
  EXPECT_EQ(found.result, 70.5);
  EXPECT_EQ(found.of_c, 0.5);
  EXPECT_EQ(found.of_products[3], 32);
}

TEST(PageFunctions, OfEachAddendSoManyBitsBelowTheLargestAreKept) {
  const double small = std::ldexp(1.0, -13), tiny = std::ldexp(1.0, -14);
  const Dot found = dot({1, small, tiny, small}, {1, small, small, tiny}, 0);
  EXPECT_EQ(found.kept_bits, 25);
  EXPECT_EQ(found.of_products[0], 1);
  EXPECT_EQ(found.of_products[1], 0) << "2^-26 beside 1";
  EXPECT_EQ(found.sum, 1);
}

TEST(PageFunctions, ASumIsRoundedTowardZeroOnce) {
  const double ulp = std::ldexp(1.0, -23);
  const Dot found =
      dot({1, std::ldexp(1.0, -12), std::ldexp(1.0, -12), 0}, {1, std::ldexp(1.0, -12), std::ldexp(1.0, -13), 0}, 0);
  EXPECT_EQ(found.sum, 1 + ulp * 0.75);
  EXPECT_EQ(found.result, 1);
  EXPECT_EQ(course_fma(std::ldexp(1.0, -12), std::ldexp(1.0, -12), 1), 1) << "halfway, to even";
}

}  // namespace
