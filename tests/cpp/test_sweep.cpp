// The sweeps' sizes.

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "common/harness/cli.h"
#include "tests/cpp/refusal.h"

namespace {

using Size = std::tuple<int, int, int>;

std::set<Size> sizes_of(const std::string& name) {
  std::set<Size> sizes;
  for (const Shape& shape : sweep_shapes(name)) sizes.insert({shape.m, shape.n, shape.k});
  return sizes;
}

std::set<Size> products(const std::set<int>& m_and_n, const std::set<int>& ks) {
  std::set<Size> sizes;
  for (int m : m_and_n)
    for (int n : m_and_n)
      for (int k : ks) sizes.insert({m, n, k});
  return sizes;
}

TEST(Sweep, SquareHasFiveSizes) {
  EXPECT_EQ(sweep_shapes("square").size(), 5u);
  EXPECT_EQ(
      sizes_of("square"),
      (std::set<Size>{
          {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, {16384, 16384, 16384}}));
}

TEST(Sweep, SgemmHas27Sizes) {
  EXPECT_EQ(sweep_shapes("sgemm27").size(), 27u);
  EXPECT_EQ(sizes_of("sgemm27"), products({4096, 8192, 16384}, {2048, 4096, 8192}));
}

TEST(Sweep, HgemmHas125SizesAnd27SmallOnes) {
  EXPECT_EQ(sweep_shapes("hgemm125").size(), 125u);
  EXPECT_EQ(sizes_of("hgemm125"), products({1024, 2048, 4096, 8192, 16384}, {512, 1024, 2048, 4096, 8192}));
  EXPECT_EQ(sweep_shapes("hgemm27").size(), 27u);
  EXPECT_EQ(sizes_of("hgemm27"), products({1024, 2048, 4096}, {256, 512, 1024}));
}

TEST(Sweep, EveryNameHasSizesAndNoOtherDoes) {
  EXPECT_EQ(sweep_names(), (std::vector<std::string>{"square", "sgemm27", "hgemm125", "hgemm27"}));
  EXPECT_EQ(refusal([] { sweep_shapes("cube"); }), "no sweep is called cube");
}

}  // namespace
