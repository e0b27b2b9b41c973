// Each check finds what it is for, names both places, and leaves right kernels alone.
#include <algorithm>

#include "machine.h"

namespace sim::testing::test_checks {
namespace {

// 64 threads, two warps: %r1 the thread, %r2 its word's address, %r3 that of the thread 32 away.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\nshl.b32 %r2, %r1, 2;\nxor.b32 %r3, "
    "%r2, 128;\n.shared .align 16 .b8 tile[256];\n";
constexpr int prologue_lines = 6;

Ran ran(const std::string& body, LaunchShape setup = {.block = {64, 1, 1}}) {
  std::vector<uint32_t> out(64);
  return run(kernel(prologue + body), setup, out);
}

std::string line(int in_body) { return "kernel.cu:" + std::to_string(prologue_lines + in_body); }

void expect_only(const Ran& result, Finding kind, std::initializer_list<int> lines) {
  EXPECT_EQ(result.reports.size(), 1u) << result.text();
  EXPECT_EQ(result.count(kind), 1) << result.text();
  for (const int each : lines) EXPECT_NE(result.text().find(line(each)), std::string::npos) << result.text();
}

TEST(Checks, ARightKernelIsLeftAlone) {
  clean(
      ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\nbar.sync 0;\nst.shared.u32 [%r2], "
          "%r4;\nst.global.u32 [%d2], %r4;\n",
          {.grid = {3, 1, 1}, .block = {64, 1, 1}}));
}

TEST(Checks, ReadOfAnotherWarpsWriteWithoutABarrier) {
  const Ran result =
      ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r4, [%r3];\n");
  expect_only(result, Finding::race, {3, 4});
  EXPECT_NE(result.text().find("thread ("), std::string::npos);
  EXPECT_NE(result.text().find("shared address 0x"), std::string::npos);
}

TEST(Checks, OverwritingWhatAnotherWarpStillReads) {
  expect_only(ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\nst.shared.u32 [%r2], %r4;\n"),
              Finding::race, {3, 4});
}

TEST(Checks, TwoWarpsWriteTheSameWord) { expect_only(ran("st.shared.u32 [tile], %r1;\n"), Finding::race, {1}); }

TEST(Checks, LanesOfOneWarpNeedASyncwarp) {
  expect_only(ran("st.shared.u32 [%r2], %r1;\nxor.b32 %r4, %r2, 4;\nld.shared.u32 %r5, [%r4];\n"), Finding::race,
              {1, 3});
  EXPECT_TRUE(ran("st.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\nxor.b32 %r4, %r2, 4;\nld.shared.u32 %r5, [%r4];\n")
                  .reports.empty());
}

// One warp: what a lane overwrites, no other lane may have read since they met.
TEST(Checks, LanesOverwriteOnlyWhatTheyAloneHaveRead) {
  const LaunchShape one{.block = {32, 1, 1}};
  const std::string fill = "st.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\nxor.b32 %r4, %r2, 4;\n";
  const std::string other = "ld.shared.u32 %r5, [%r4];\n", own = "ld.shared.u32 %r6, [%r2];\n";
  const std::string store = "st.shared.u32 [%r2], %r5;\n", meet = "bar.warp.sync -1;\n";
  expect_only(ran(fill + other + store, one), Finding::race, {4, 5});
  expect_only(ran(fill + other + own + store, one), Finding::race, {5, 6});  // of two readers the last is named
  expect_only(ran(fill + "ld.shared.u32 %r5, [tile];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 " + store, one), Finding::race,
              {4, 6});
  expect_only(ran(fill + other + "red.shared.add.u32 [%r2], 1;\n", one), Finding::race, {4, 5});
  expect_only(ran(fill + "ld.shared.v2.u32 {%r5, %r6}, [tile];\n" + store, one), Finding::race, {4, 5});
  // In a loop the load may come after the store.
  expect_only(ran(fill + "mov.u32 %r6, 0;\nagain: setp.eq.u32 %p1, %r6, 1;\n@%p1 " + store + "@%p1 bra end;\n" + other +
                      "mov.u32 %r6, 1;\nbra again;\nend:\n",
                  one),
              Finding::race, {6, 8});

  clean(ran(fill + other + meet + store, one));
  clean(ran(fill + other + "bar.sync 0;\n" + store, one));
  clean(ran(fill + own + store + own + store, one));  // what it alone has read
  clean(ran(fill + other + meet + own + store, one));
  // The value has come by a shuffle, or all have voted: the reads are over.
  clean(ran(fill + other + "shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;\n" + store, one));
  clean(ran(fill + other + "vote.sync.any.pred %p1, %p1, -1;\n" + store, one));
  // Bytes of one word, each of its own lane.
  clean(
      ran("add.u32 %r4, %r1, 0;\ncvt.u16.u32 %h1, %r1;\nst.shared.u8 [%r4], %h1;\nld.shared.u8 %h1, [%r4];\n"
          "st.shared.u8 [%r4], %h1;\n",
          one));
  // Places apart from each other, one of which another warp has read in between.
  clean(
      ran("mul.lo.u32 %r4, %r1, 36;\nst.shared.u32 [%r4], %r1;\nld.shared.u32 %r5, [%r4];\nst.shared.u32 [%r4], "
          "%r5;\n",
          {.block = {64, 1, 1}, .dynamic_shared_bytes = 4096}));
}

// A barrier of one pair of warps orders nothing for the others.
TEST(Checks, NamedBarriersOrderOnlyWhoTakesPart) {
  const LaunchShape three{.block = {96, 1, 1}};
  const std::string hand_over =
      "setp.lt.u32 %p1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 64;\n@%p1 st.shared.u32 [%r2], %r1;\n@!%p2 bra "
      "third;\nbar.sync 1, 64;\n";
  const std::string second_reads = "@%p1 bra end;\nld.shared.u32 %r4, [%r3];\nbra end;\n";
  EXPECT_TRUE(run(kernel(prologue + hand_over + second_reads + "third:\nend:\n"), three,
                  *std::make_unique<std::vector<uint32_t>>(96))
                  .reports.empty());
  std::vector<uint32_t> out(96);
  const Ran third_reads =
      run(kernel(prologue + hand_over + "bra end;\nthird: sub.u32 %r5, %r2, 256;\nld.shared.u32 %r4, [%r5];\nend:\n"),
          three, out);
  EXPECT_EQ(third_reads.count(Finding::race), 1) << third_reads.text();
}

// Two of three warps meet, and overwrite what each other has written: the third has never come to a barrier.
TEST(Checks, SomeWarpsMeetAndOverwriteEachOther) {
  const LaunchShape three{.block = {96, 1, 1}};
  const std::string first = "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra third;\nst.shared.u32 [%r2], %r1;\n",
                    meet = "bar.sync 1, 64;\n", end = "bra end;\nthird:\nend:\n";
  clean(ran(first + meet + "st.shared.u32 [%r3], %r1;\n" + end, three));
  clean(ran(first + meet +
                "shr.u32 %r4, %r3, 3;\nshl.b32 %r4, %r4, 3;\nsetp.eq.u32 %p2, %r4, %r3;\n"
                "@%p2 st.shared.v2.u32 [%r4], {%r1, %r1};\n" +
                end,
            three));
  expect_only(ran(first + "st.shared.u32 [%r3], %r1;\n" + end, three), Finding::race, {3, 4});
  expect_only(
      ran(first + meet + "xor.b32 %r4, %r2, 4;\nst.shared.u32 [%r2], %r1;\nst.shared.u32 [%r4], %r1;\n" + end, three),
      Finding::race, {6, 7});
  expect_only(ran(first + meet + "bra end;\nthird: sub.u32 %r5, %r2, 256;\nst.shared.u32 [%r5], %r1;\nend:\n", three),
              Finding::race, {3, 7});
}

// Reads at different times by warps that nothing orders must all be remembered until the write.
TEST(Checks, EarlierReadersAreNotForgotten) {
  const std::string body =
      "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nsetp.lt.u32 %p1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 64;\n"
      "ld.shared.u32 %r4, [tile];\nbar.warp.sync -1;\n"  // all three warps read, each at a time of its own
      "@!%p2 bra third;\nbar.sync 1, 64;\nbra end;\nthird: st.shared.u32 [tile], %r1;\nend:\n";
  std::vector<uint32_t> out(96);
  const Ran result = run(kernel(prologue + body), {.block = {96, 1, 1}, .dynamic_shared_bytes = 512}, out);
  EXPECT_GE(result.count(Finding::race), 1) << result.text();
}

TEST(Checks, HalvesOfAWordAreTwoPlaces) {
  clean(
      ran("shr.u32 %r4, %r1, 5;\nand.b32 %r5, %r1, 31;\nshl.b32 %r6, %r5, 2;\nmad.lo.u32 %r6, %r4, 2, "
          "%r6;\ncvt.u16.u32 %h1, %r1;\nst.shared.u16 [%r6], %h1;\n"));
}

TEST(Checks, ReadOfWhatNothingWrote) {
  expect_only(ran("ld.shared.u32 %r4, [%r2];\n"), Finding::uninitialised, {1});
  expect_only(ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nxor.b32 %r3, %r3, 8;\nld.shared.u32 %r4, [%r3+64];\n",
                  {.grid = {1, 1, 1}, .block = {64, 1, 1}, .dynamic_shared_bytes = 512}),
              Finding::uninitialised, {4});
}

// Shared memory of the block before is not this block's.
TEST(Checks, BlocksDoNotInheritSharedMemory) {
  const std::string body =
      "mov.u32 %r4, %ctaid.x;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 "
      "%r5, [%r2];\n";
  expect_only(ran(body, {.grid = {2, 1, 1}, .block = {64, 1, 1}}), Finding::uninitialised, {5});
}

TEST(Checks, OutOfBounds) {
  expect_only(ran("st.global.u32 [%d2+4], %r1;\n"), Finding::out_of_bounds, {1});
  EXPECT_NE(ran("st.global.u32 [%d2+4], %r1;\n").text().find("0 bytes past the end of the 256 bytes"),
            std::string::npos);
  expect_only(ran("ld.global.u32 %r4, [%d2+-4];\n"), Finding::out_of_bounds, {1});
  expect_only(ran("mov.u64 %d3, 0;\nld.global.u32 %r4, [%d3];\n"), Finding::out_of_bounds, {2});
  expect_only(ran("st.shared.u32 [%r2+4], %r1;\n"), Finding::out_of_bounds, {1});
  expect_only(ran("st.shared.u32 [%r2+-4], %r1;\n"), Finding::out_of_bounds, {1});
  expect_only(ran(".local .align 4 .b8 frame[8];\nmov.u64 %d3, frame;\nst.local.u32 [%d3+16], %r1;\n"),
              Finding::out_of_bounds, {3});
}

// Lanes inside go on; the one outside is left out.
TEST(Checks, OnlyTheLanesOutsideAreStopped) {
  std::vector<uint32_t> out(40);
  const Ran result = run(kernel(prologue + "st.global.u32 [%d2], 5;\n"), {.block = {64, 1, 1}}, out);
  EXPECT_EQ(result.count(Finding::out_of_bounds), 1);
  for (const uint32_t each : out) EXPECT_EQ(each, 5u);
}

TEST(Checks, Misaligned) {
  expect_only(ran("add.u64 %d3, %d1, 2;\nld.global.u32 %r4, [%d3];\n"), Finding::misaligned, {2});
  expect_only(ran("st.shared.u32 [tile+2], %r1;\n"), Finding::misaligned, {1});
  expect_only(ran("shl.b32 %r4, %r1, 1;\nand.b32 %r4, %r4, 12;\nst.shared.v4.u32 [%r4+4], {%r1, %r1, %r1, %r1};\n",
                  {.block = {1, 1, 1}}),
              Finding::misaligned, {3});
}

TEST(Checks, AssertionsAndTraps) {
  const Ran trapped = ran("setp.eq.u32 %p1, %r1, 40;\n@%p1 trap;\n");
  expect_only(trapped, Finding::trap, {2});
  EXPECT_NE(trapped.text().find("thread (40,0,0)"), std::string::npos);
  EXPECT_TRUE(trapped.given_up);
  // As this_grid().sync() does in a launch that is not cooperative.
  const Ran grid = ran("mov.u32 %r4, %envreg1;\nsetp.ne.u32 %p1, %r4, 0;\n@!%p1 trap;\n");
  EXPECT_NE(grid.text().find("cudaLaunchCooperativeKernel"), std::string::npos) << grid.text();
}

// --- barriers ---

TEST(Checks, BarrierOfHalfAWarp) {
  const Ran result =
      ran("and.b32 %r4, %r1, 1;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra even;\nbar.sync 0;\nbra end;\neven: bar.sync "
          "1;\nend:\n");
  EXPECT_EQ(result.count(Finding::divergent_barrier), 1) << result.text();
  EXPECT_TRUE(result.given_up);
}

TEST(Checks, BarrierAfterSomeThreadsHaveEnded) {
  expect_only(ran("setp.gt.u32 %p1, %r1, 40;\n@%p1 ret;\nbar.sync 0;\n"), Finding::divergent_barrier, {3});
  expect_only(ran("setp.gt.u32 %p1, %r1, 31;\n@%p1 ret;\nbar.sync 0;\n"), Finding::divergent_barrier, {3});
}

// Lanes that take a detour through later code come back to the barrier: that is no divergence.
TEST(Checks, ADetourBeforeTheBarrierIsAllowed) {
  clean(
      ran("setp.gt.u32 %p1, %r1, 7;\n@%p1 bra detour;\nback: bar.sync 0;\nbra end;\ndetour: add.u32 %r4, %r1, 1;\nbra "
          "back;\nend:\n"));
}

TEST(Checks, Deadlock) {
  const Ran result =
      ran("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra first;\nbar.sync 1, 64;\nbra end;\nfirst: bar.sync 2, 64;\nend:\n");
  EXPECT_EQ(result.count(Finding::deadlock), 1) << result.text();
  EXPECT_NE(result.text().find("warp 0 waits at " + line(5)), std::string::npos) << result.text();
  EXPECT_NE(result.text().find("warp 1 waits at " + line(3)), std::string::npos) << result.text();
}

TEST(Checks, EndlessLoop) {
  const Ran result = ran("again: add.u32 %r4, %r4, 1;\nbra again;\n", {.block = {32, 1, 1}, .max_instructions = 1000});
  EXPECT_EQ(result.count(Finding::endless), 1) << result.text();
  EXPECT_NE(result.text().find("PTXSIM_MAX_INSTRUCTIONS"), std::string::npos);
}

// 4096 blocks of a loop that takes some milliseconds each.
TEST(Checks, LaunchThatWouldTakeTooLong) {
  const std::string slow =
      "mov.u32 %r4, 0;\nagain: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 20000;\n@%p1 bra again;\n";
  const LaunchShape shape{.grid = {4096, 64, 64}, .block = {32, 1, 1}, .max_seconds = 1};
  const Ran result = ran(slow, shape);
  ASSERT_EQ(result.count(Finding::too_long), 1) << result.text();
  EXPECT_TRUE(result.given_up);
  const std::string text = result.text();
  EXPECT_NE(text.find("of 16777216 blocks would take about "), std::string::npos) << text;
  EXPECT_NE(text.find("times the rows and columns, about a minute"), std::string::npos) << text;
  EXPECT_NE(text.find("PTXSIM_MAX_SECONDS (now 1)"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(Checks, LaunchThatIsSoonDoneIsNotTooLong) {
  EXPECT_TRUE(ran("mov.u32 %r4, 0;\n", {.grid = {64, 1, 1}, .block = {32, 1, 1}, .max_seconds = 1}).reports.empty());
}

TEST(Checks, ShuffleThatNamesLanesWhichDoNotCome) {
  const Ran result =
      ran("setp.gt.u32 %p1, %r1, 3;\n@%p1 ret;\nshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n", {.block = {32, 1, 1}});
  EXPECT_EQ(result.count(Finding::divergent_barrier), 1) << result.text();
}

// What a lane that does not take part holds is nobody's number; kernels that drop it are no error.
TEST(Checks, ShuffleFromALaneThatDoesNotTakePart) {
  std::vector<uint32_t> out(64);
  const Ran result =
      run(kernel(prologue + "mov.u32 %r4, 7;\nsetp.gt.u32 %p1, %r1, 15;\n@%p1 bra done;\n"
                            "shfl.sync.down.b32 %r4, %r1, 8, 31, 65535;\ndone:\nst.global.u32 [%d2], %r4;\n"),
          {.block = {32, 1, 1}}, out);
  EXPECT_TRUE(result.reports.empty()) << result.text();
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].message.find("takes the value of thread (16,0,0)"), std::string::npos);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 8 ? i + 8 : i < 16 ? ~0u : 7);
}

// --- copies ---

const std::string start_copy = "cp.async.ca.shared.global [%r2], [%d2], 4;\n";

TEST(Checks, CopyReadBeforeItsWait) {
  expect_only(ran(start_copy + "bar.sync 0;\nld.shared.u32 %r4, [%r2];\n"), Finding::unwaited, {1, 3});
  expect_only(ran(start_copy + "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\n"), Finding::unwaited,
              {1, 4});  // never committed
  EXPECT_TRUE(ran(start_copy + "cp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\n").reports.empty());
}

// A wait is this thread's own: the others need the barrier too.
TEST(Checks, CopyWaitedForButWithoutABarrier) {
  const Ran result = ran(start_copy + "cp.async.wait_all;\nld.shared.u32 %r4, [%r3];\n");
  EXPECT_GE(result.reports.size(), 1u);
  EXPECT_EQ(result.reports.size(), static_cast<size_t>(result.count(Finding::race) + result.count(Finding::unwaited) +
                                                       result.count(Finding::uninitialised)))
      << result.text();
}

TEST(Checks, CopyIntoWhatIsStillRead) {
  expect_only(
      ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\n" + start_copy + "cp.async.wait_all;\n"),
      Finding::race, {3, 4});
}

// The same where the copy comes first: its wait is not what is missing, though the warps have met before.
TEST(Checks, CopyThatIsAheadOfAReader) {
  const Ran result =
      ran("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nsetp.gt.u32 %p1, %r1, 31;\n@!%p1 cp.async.ca.shared.global [%r3], "
          "[%d2], 4;\n@%p1 ld.shared.u32 %r4, [%r2];\ncp.async.wait_all;\n");
  expect_only(result, Finding::race, {4, 5});
  EXPECT_NE(result.text().find("with no barrier between"), std::string::npos) << result.text();
}

TEST(Checks, StoreIntoACopysDestination) {
  expect_only(ran(start_copy + "st.shared.u32 [%r2], %r1;\ncp.async.wait_all;\n"), Finding::unwaited, {1, 2});
}

}  // namespace
}  // namespace sim::testing::test_checks
