// What a run has to do: which variants, on which sizes.

#include <gtest/gtest.h>

#include "common/session.h"
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
  s.options.variant = "all";
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

TEST(Plan, RefusesAnUnknownVariantAndNamesTheOthers) {
  Session s = session();
  s.options.variant = "third";
  EXPECT_EQ(refusal([&] { planned(s, false); }), "no variant is called third; this step has: first second");
}

TEST(Plan, RefusesBeforeAnythingRunsWhereOneOfManySizesDoesNotFit) {
  Session s = session();
  s.options.variant = "all";
  s.options.shapes = {{128, 64, 8}, {128, 64, 9}};
  EXPECT_EQ(refusal([&] { planned(s, false); }),
            "variant first needs k to be a multiple of 8, not 9; the nearest that works is 8");
}

TEST(Plan, TakesASmallSizeInTheSimulatorThatRunsEveryPartOfAKernel) {
  Session s = session();
  s.options.variant = "all";
  const std::vector<Work> work = planned(s, true);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].shape.m, 256);
  EXPECT_EQ(work[0].shape.n, 128);
  EXPECT_EQ(work[0].shape.k, 64);
  EXPECT_EQ(work[1].shape.m, 64);
  EXPECT_EQ(work[1].shape.k, 64);
}

TEST(Plan, TakesASimulatedSizeThatTheVariantAccepts) {
  for (const Variant& variant : {right_variant().tile(96, 160, 24).at_least_k(100), right_variant().tile(1, 1, 7),
                                 right_variant().any_size(128, 256, 16).at_least_k(64)}) {
    const Shape shape = completed(simulated_size(variant), {}, variant);
    EXPECT_EQ(refusal([&] { require_accepted(variant, shape); }), "(it was not refused)");
    EXPECT_GE(shape.m, 2 * variant.block_m);
    EXPECT_GE(shape.n, 2 * variant.block_n);
    EXPECT_GE(shape.k, 3 * variant.block_k);
  }
}

}  // namespace
