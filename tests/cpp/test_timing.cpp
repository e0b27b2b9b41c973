// Percentiles, and how calls are grouped between events.

#include <gtest/gtest.h>

#include <map>

#include "common/harness/timing.h"

// The simulator has no clock: here one that the calls under test move on, and a millisecond at each event.
namespace {
std::map<cudaEvent_t, float> seen_at;
float now_ms = 0;
}  // namespace
extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  seen_at[event] = now_ms++;
  return cudaSuccess;
}
extern "C" cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = seen_at[end] - seen_at[start];
  return cudaSuccess;
}

namespace {

TEST(Spread, InterpolatesBetweenOrderStatistics) {
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.p20, 1.8);
  EXPECT_DOUBLE_EQ(spread.p80, 4.2);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).median, 1.5);
}

TimingPlan plan(double seconds, int sets = 1) {
  TimingPlan made;
  made.min_seconds = seconds;
  made.input_sets = sets;
  return made;
}

TEST(Batching, GroupsShortCallsIntoAMillisecondAndReplaysThemFromAGraph) {
  const Batching batching = batching_for(plan(0.1), 0.01);
  EXPECT_EQ(batching.calls, 100);
  EXPECT_EQ(batching.batches, 100);
  EXPECT_TRUE(batching.graph);
  EXPECT_TRUE(batching_for(plan(0.1), 0.0599).graph);
  EXPECT_FALSE(batching_for(plan(0.1), 0.0601).graph);
}

TEST(Batching, LetsAGraphWalkThroughEveryInputSet) {
  const Batching batching = batching_for(plan(0.1, 1024), 0.01);
  EXPECT_EQ(batching.calls, 1024);
  EXPECT_EQ(batching.batches, 10);
  EXPECT_EQ(batching_for(plan(0.1, 1024), 2.0).calls, 1) << "without a graph each call takes the next set anyway";
}

TEST(Batching, LastsAtLeastAsLongAsThePlanAsks) {
  for (double ms : {0.0, 0.0005, 0.013, 0.07, 0.9, 4.0, 700.0}) {
    const Batching batching = batching_for(plan(0.25), ms);
    EXPECT_GE(batching.calls * batching.batches * std::max(ms, 1e-4), 250 - 1e-9) << ms;
    EXPECT_GE(batching.calls * std::max(ms, 1e-4), 1 - 1e-9) << ms;
  }
  EXPECT_EQ(batching_for(plan(0), 5.0).batches, 1);
}

TEST(TimingInTurn, LetsTheKernelAndEveryRivalTakeTurnsInEveryRound) {
  std::string order;
  const auto side = [&](char letter) {
    return [&order, letter](int, cudaStream_t) {
      if (order.empty() || order.back() != letter) order += letter;
    };
  };
  TimingPlan three_rounds = plan(0);
  three_rounds.warmup = 0;
  const Timing timing =
      time_in_turn(three_rounds, side('k'), {{"cublas", side('b')}, {"cutlass", side('l'), false, "128x128"}}, nullptr);
  EXPECT_EQ(order, "kblkblkblkbl") << "calibration, then three rounds";
  ASSERT_EQ(timing.against.size(), 2u);
  EXPECT_EQ(timing.against[0].name, "cublas");
  EXPECT_EQ(timing.against[1].name, "cutlass");
  EXPECT_EQ(timing.against[1].kernel, "128x128");
  EXPECT_EQ(timing.against[1].ratio.median, 1);
}

TEST(TimingInTurn, FindsTheFastestByItsMedian) {
  const auto side = [](std::vector<float> milliseconds) {
    return Rival{"", [=](int call, cudaStream_t) { now_ms += milliseconds[call % milliseconds.size()]; }};
  };
  EXPECT_EQ(fastest_of(plan(0.1), {side({30}), side({20}), side({25})}, nullptr), 1u);
  EXPECT_EQ(fastest_of(plan(0.1), {side({30}), side({20}), side({1, 90, 90, 90})}, nullptr), 1u)
      << "on most inputs, not on one";
  EXPECT_EQ(fastest_of(plan(0.1), {side({7})}, nullptr), 0u);
}

Rival rival(float milliseconds, bool may_be_best = true) {
  return {"", [=](int, cudaStream_t) { now_ms += milliseconds; }, may_be_best};
}

TEST(TimingInTurn, FindsTheBestLibraryCallAmongThoseThatMayBeIt) {
  const auto best = [](const std::vector<Rival>& rivals) {
    return time_in_turn(plan(0.1), rival(40).enqueue, rivals, nullptr).best;
  };
  EXPECT_EQ(best({rival(30), rival(20), rival(25)}), 1u);
  EXPECT_EQ(best({rival(30), rival(20), rival(10, false)}), 1u) << "sums of a narrower type do not count";
  EXPECT_EQ(best({rival(20), rival(10, false)}), std::nullopt) << "one is not chosen from";
  EXPECT_EQ(best({}), std::nullopt);
}

}  // namespace
