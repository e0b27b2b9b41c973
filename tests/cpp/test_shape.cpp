// Which shapes are refused, and which nearest size is named.

#include <gtest/gtest.h>

#include "common/harness/shape.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"

namespace {

Variant tiled() {
  Variant variant = right_variant();
  variant.name = "t8x8";
  return variant.tile(128, 64, 8);
}

std::string refused(const Variant& variant, Shape shape, LeadingDimensions given = {}) {
  return refusal([&] { require_accepted(variant, completed(shape, given, variant)); });
}

const char* const FINE = "(it was not refused)";

TEST(Accept, NeverNamesZeroAsTheNearestSize) {
  EXPECT_EQ(refused(tiled(), {1, 64, 8}),
            "variant t8x8 needs m to be a multiple of 128, not 1; the nearest that works is 128");
}

TEST(Accept, NeverNamesASizeThatOverflows) {
  EXPECT_EQ(
      refused(tiled(), {2147483647, 64, 8}, {}),
      "A would have 17179869176 elements; the kernels index with 32 bits, so at most 2147483647: choose a smaller "
      "size");
  Variant one_column = right_variant().tile(128, 1, 1).flat_grid();
  EXPECT_EQ(refused(one_column, {2147483519, 1, 1}),
            "variant right needs m to be a multiple of 128, not 2147483519; the nearest that works is 2147483520");
}

TEST(Accept, RefusesTilesThatEndBeyond32Bits) {
  const Variant variant = right_variant().any_size(128, 64, 1).flat_grid();
  EXPECT_EQ(refused(variant, {2147483520, 1, 1}), FINE);
  EXPECT_EQ(refused(variant, {2147483521, 1, 1}),
            "variant right takes m up to 2147483520, not 2147483521: whole tiles of 128 are counted in 32 bits");
  EXPECT_EQ(refused(variant, {1, 2147483647, 1}),
            "variant right takes n up to 2147483584, not 2147483647: whole tiles of 64 are counted in 32 bits");
  EXPECT_EQ(refused(variant, {1, 1, 2147483647}), FINE);
}

TEST(Accept, LeavesRoomForTheSlicesThatAPipelineAsksForAhead) {
  const Variant variant = right_variant().any_size(128, 128, 32);
  EXPECT_EQ(refused(variant, {1, 1, 2147483360}), FINE);
  EXPECT_EQ(refused(variant, {1, 1, 2147483361}),
            "variant right takes k up to 2147483360, not 2147483361: slices of 32, and those ahead of the last, are "
            "counted in 32 bits");
}

TEST(Accept, NamesNoLeadingDimensionNarrowerThanTheMatrix) {
  const Variant vectors = right_variant().any_size(128, 128, 8).aligned_ld(8, 8, 8);
  EXPECT_EQ(refused(vectors, {5, 16, 98}, {98, 0, 0}),
            "variant right needs lda to be a multiple of 8, not 98; the nearest that works is 104");
  EXPECT_EQ(refused(vectors, {5, 1, 8}, {0, 1, 0}),
            "variant right needs ldb to be a multiple of 8, not 1; the nearest that works is 8");
}

TEST(Accept, RefusesMatricesThat32BitIndicesCannotReach) {
  EXPECT_EQ(refused(right_variant(), {46341, 46341, 1}).substr(0, 33), "C would have 2147488281 elements;");
  EXPECT_EQ(refused(right_variant(), {1, 65536, 32768}).substr(0, 33), "B would have 2147483648 elements;");
  EXPECT_EQ(refused(right_variant(), {65536, 1, 1}, {32768, 0, 0}).substr(0, 33), "A would have 2147483648 elements;");
  EXPECT_EQ(refused(right_variant(), {1, 1, 2147483647}), FINE);
}

TEST(Accept, RefusesWhatTheMemoryCannotHold) {
  EXPECT_EQ(refusal([] { require_memory(1); }), FINE);
  const std::string words = refusal([] { require_memory(std::size_t{1} << 60); });
  EXPECT_EQ(words.substr(0, 49), "this size needs 1099511627776 MiB of GPU memory, ") << words;
  EXPECT_NE(words.find("MiB are free; choose a smaller size, or --verify sample"), std::string::npos) << words;
}

}  // namespace
