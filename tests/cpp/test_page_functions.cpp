// The course's own functions for a page (tools/site/wasm/course.cpp), as a page calls them.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "core/asynchronous/tensor_box.h"
#include "tests/cpp/step_20_tile.h"

extern "C" {
void course_dot(double* to, const char* type, const double* a, const double* b, std::uint32_t count, double c);
double course_fma(double a, double b, double c);
int course_swizzled(int row, int chunk, int bits);
int course_times(double* times, const double* ways, int count, int m, int n, int k, int bk, int at_once);
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

TEST(PageFunctions, OfStep27sWaysTheFirstOfTheCheapestIsTaken) {
  const double ways[] = {128, 256, 1, 2, 128, 128, 0.5, 1.5, 128, 128, 0.5, 1.5};
  double times[3];
  // 132 large tiles are one wave of them, and two of the small ones: 10 + 2 against two waves of 5 + 1.5.
  EXPECT_EQ(course_times(times, ways, 3, 128, 256 * 132, 640, 64, 132), 0);
  EXPECT_EQ(times[0], 12);
  EXPECT_EQ(times[1], 13);
  EXPECT_EQ(course_times(times, ways, 3, 128, 128 * 132, 577, 64, 132), 1) << "a slice that is begun is a slice";
  EXPECT_EQ(times[1], 6.5);
  EXPECT_EQ(times[2], 6.5);
}

// Every chunk of a tile of step 20: where the page puts it, and where the kernel's own function does.
template <int ROWS, int COLS>
void expect_as_in_step_20() {
  using Tile = SharedTile<ROWS, COLS, 256>;
  for (int row = 0; row < ROWS; ++row)
    for (int chunk = 0; chunk < Tile::CHUNKS; ++chunk) {
      const int place = course_swizzled(row, chunk, 3);
      EXPECT_EQ(row * Tile::PITCH + place * CHUNK_BYTES, Tile::offset(row, chunk)) << row << ", chunk " << chunk;
    }
}

TEST(PageFunctions, ThreeBitsSwizzleAsStep20Does) {
  expect_as_in_step_20<256, 64>();  // A's tile
  expect_as_in_step_20<64, 256>();  // B's, whose rows are longer than the pattern
}

TEST(PageFunctions, EveryNumberOfBitsSwizzlesAsTmaDoesInRowsOf128Bytes) {
  for (int bits = 0; bits <= 3; ++bits)
    for (int row = 0; row < 64; ++row)
      for (int chunk = 0; chunk < 8; ++chunk) {
        const auto address = static_cast<std::uint32_t>(row * 128 + chunk * 16);
        const auto place = static_cast<std::uint32_t>(row * 128 + course_swizzled(row, chunk, bits) * 16);
        EXPECT_EQ(place, sim::swizzled(address, bits == 0 ? 0u : 16u << bits)) << row << ", chunk " << chunk;
        EXPECT_EQ(course_swizzled(row, chunk + 24, bits), 24 + course_swizzled(row, chunk, bits)) << "in longer rows";
      }
}

}  // namespace
