// What a run has to do: which variants, on which sizes.

#include <gtest/gtest.h>

#include "common/harness/session.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"

namespace {

Session session() {
  Variant first = right_variant().tile(128, 64, 8), second = right_variant().any_size(32, 32, 1);
  first.name = "first";
  second.name = "second";
  return {"07_step", {}, {first, second}};
}

TEST(Plan, TakesTheDefaultVariantAt4096WhereNothingIsAsked) {
  const Session s = session();
  const std::vector<Work> work = planned(s, false);
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(work[0].variant->name, "first");
  EXPECT_EQ(work[0].shape.m, 4096);
  EXPECT_EQ(work[0].shape.n, 4096);
  EXPECT_EQ(work[0].shape.k, 4096);
  EXPECT_TRUE(s.is_default(*work[0].variant));
}

TEST(Plan, TakesEveryVariantOnEverySize) {
  Session s = session();
  s.options.variants = {"all"};
  s.options.shapes = {{128, 64, 8}, {256, 64, 16}};
  s.options.alpha = 2.0f;
  s.options.beta = 0.5f;
  const std::vector<Work> work = planned(s, false);
  ASSERT_EQ(work.size(), 4u);
  EXPECT_EQ(work[3].variant->name, "second");
  EXPECT_EQ(work[3].shape.m, 256);
  EXPECT_EQ(work[3].shape.lda, 16);
  EXPECT_EQ(work[3].shape.alpha, 2.0f);
  EXPECT_EQ(work[3].shape.beta, 0.5f);
}

TEST(Plan, TakesTheVariantForAnySizeWhereTheDefaultRefusesAndNoneWasAskedFor) {
  Session s = session();
  s.options.shapes = {{128, 64, 8}, {1000, 1000, 1000}};
  const std::vector<Work> work = planned(s, false);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].variant->name, "first");
  EXPECT_EQ(work[0].instead_of, "");
  EXPECT_EQ(work[1].variant->name, "second");
  EXPECT_EQ(work[1].instead_of,
            "variant first needs m to be a multiple of 128, not 1000; the nearest that works is 1024: second runs "
            "instead, which takes any size");
  s.options.variants = {"first"};
  EXPECT_EQ(refusal([&] { planned(s, false); }),
            "variant first needs m to be a multiple of 128, not 1000; the nearest that works is 1024")
      << "asked for by name it is refused";
}

// A default that takes 192 KB, one that takes 96, one for any size that takes 192 and one that takes 96.
Session session_of_large_tiles() {
  Session s = session();
  s.gpu.name = "NVIDIA GeForce RTX 4090";
  s.gpu.shared_bytes = 101376;
  Variant stand_in = right_variant().tile(64, 64, 8).shared_memory(98304);
  Variant any_size = right_variant().any_size(64, 64, 8).shared_memory(98304);
  stand_in.name = "stand_in", any_size.name = "any_size";
  for (Variant& variant : s.variants) variant.shared_memory(196608);
  s.variants.insert(s.variants.end(), {stand_in, any_size});
  return s;
}

TEST(Plan, TakesTheStandInWhereTheGpuDoesNotHoldTheDefault) {
  Session s = session_of_large_tiles();
  s.options.shapes = {{128, 64, 8}, {100, 100, 100}};
  const std::vector<Work> work = planned(s, false);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].variant->name, "stand_in");
  EXPECT_TRUE(s.is_default(*work[0].variant)) << "here it is the default";
  EXPECT_FALSE(s.is_default(s.variants[0]));
  EXPECT_EQ(work[0].instead_of,
            "variant first takes 196608 bytes of shared memory per block, and NVIDIA GeForce RTX 4090 has 101376: "
            "stand_in stands in for it");
  EXPECT_EQ(work[1].variant->name, "any_size") << "the one that the GPU holds";
  s.gpu.shared_bytes = 232448;
  EXPECT_EQ(planned(s, false)[0].variant->name, "first");
  EXPECT_EQ(planned(s, false)[0].instead_of, "");
}

Session session_with_bottlenecks() {
  Session s = session();
  const auto add = [&s](const char* name, const char* part) {
    s.variants.push_back(right_variant().tile(128, 64, 8).leaves_out(part));
    s.variants.back().name = name;
  };
  add("without the copy of A", "the copy of A");
  add("without the store of C", "the store of C");
  return s;
}

TEST(Plan, TakesVariantsThatLeaveOutWorkOnlyWhereTheyAreAskedFor) {
  Session s = session_with_bottlenecks();
  const auto names = [&](const char* asked) {
    s.options.variants = {asked};
    std::string all;
    for (const Work& work : planned(s, false)) all += std::string(work.variant->name) + "; ";
    return all;
  };
  EXPECT_EQ(names("all"), "first; second; ");
  EXPECT_EQ(names("bottlenecks"), "without the copy of A; without the store of C; ");
  EXPECT_EQ(names("without the store of C"), "without the store of C; ");
  EXPECT_EQ(names(""), "first; ");
  s.options.variants = {"bottlenecks", "second", "without the copy of A"};
  const std::vector<Work> several = planned(s, false);
  ASSERT_EQ(several.size(), 3u) << "in the table's order, each once";
  EXPECT_EQ(several[0].variant->name, "second");
}

TEST(Plan, RefusesToSimulateWhatLeavesOutWork) {
  Session s = session_with_bottlenecks();
  for (const char* asked : {"bottlenecks", "without the copy of A"}) {
    s.options.variants = {asked};
    EXPECT_EQ(refusal([&] { planned(s, true); }),
              "variant without the copy of A leaves out the copy of A: its result is wrong on purpose, so that it can "
              "only be timed, on a GPU");
  }
  s.options.variants = {"all"};
  EXPECT_EQ(planned(s, true).size(), 2u);
}

TEST(Plan, RefusesBeforeAnythingRunsWhereOneOfManySizesDoesNotFit) {
  Session s = session();
  s.options.variants = {"all"};
  s.options.shapes = {{128, 64, 8}, {128, 64, 9}};
  EXPECT_EQ(refusal([&] { planned(s, false); }),
            "variant first needs k to be a multiple of 8, not 9; the nearest that works is 8");
}

}  // namespace
