// Branches and where their paths meet, loops, barriers, shuffles and votes.
#include <bit>

#include "machine.h"

namespace sim::testing::test_control {
namespace {

const std::string prologue = "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\n";
const std::string epilogue = "st.global.u32 [%d2], %r2;\n";

std::vector<uint32_t> lanes_after(const std::string& body, LaunchShape setup = {}) {
  std::vector<uint32_t> out(setup.block.count() * setup.grid.count());
  clean(run(kernel(prologue + body + epilogue), setup, out));
  return out;
}

TEST(Control, BothSidesOfABranchRunAndMeet) {
  const auto out = lanes_after(
      "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra even;\nmov.u32 %r2, 100;\nbra meet;\n"
      "even: mov.u32 %r2, 200;\nmeet: activemask.b32 %r4;\npopc.b32 %r4, %r4;\nadd.u32 %r2, %r2, %r4;\n");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i % 2 ? 100 : 200) + 32u);
}

// Each lane goes round as often as its number says; all are together again after the loop.
TEST(Control, LoopsOfDifferentLength) {
  const auto out = lanes_after(
      "mov.u32 %r2, 0;\nagain: setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra done;\nadd.u32 %r2, %r2, 1;\nbra again;\n"
      "done: activemask.b32 %r4;\npopc.b32 %r4, %r4;\nmad.lo.u32 %r2, %r4, 1000, %r2;\n");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 32000 + i);
}

TEST(Control, CountsBranchesThatSplitTheWarp) {
  std::vector<uint32_t> out(64);
  const Ran ran = run(kernel(prologue +
                             "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra low;\nmov.u32 %r2, 1;\nlow: setp.lt.u32 %p2, %r1, "
                             "32;\n@%p2 bra end;\nend:\n" +
                             epilogue),
                      {.block = {64, 1, 1}}, out);
  EXPECT_EQ(ran.total().divergent, 1u);  // the first warp at the first branch; the second branch splits no warp
}

TEST(Control, GuardsAndEarlyReturns) {
  std::vector<uint32_t> out(32, 9);
  clean(run(
      kernel(prologue +
             "setp.gt.u32 %p1, %r1, 3;\nmov.u32 %r2, 1;\n@!%p1 mov.u32 %r2, 2;\nsetp.gt.u32 %p2, %r1, 7;\n@%p2 ret;\n" +
             epilogue),
      {}, out));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i > 7 ? 9u : i > 3 ? 1u : 2u);
}

TEST(Control, BlocksAreDealtOutToTheMultiprocessors) {
  std::vector<uint32_t> of_block(2 * 140);
  clean(run(kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %ctaid.x;\nmad.wide.u32 %d1, %r1, 8, %d1;\n"
                   "mov.u32 %r2, %smid;\nmov.u32 %r3, %nsmid;\nst.global.v2.u32 [%d1], {%r2, %r3};\n"),
            {.grid = {140, 1, 1}, .block = {1, 1, 1}}, of_block));
  for (uint32_t block = 0; block < 140; ++block) {
    EXPECT_EQ(of_block[2 * block], block % 132);
    EXPECT_EQ(of_block[2 * block + 1], 132u);
  }
}

TEST(Control, ThreadsAndBlocksInThreeDimensions) {
  std::vector<uint32_t> out(2 * 3 * 2 * 4 * 2 * 2);
  clean(run(kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"
                   "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ctaid.y;\nmov.u32 %r6, %ctaid.z;\nmov.u32 %r7, %nctaid.x;\n"
                   "mov.u32 %r8, %nctaid.y;\nmov.u32 %r10, %ntid.x;\nmov.u32 %r11, %ntid.y;\nmov.u32 %r12, %ntid.z;\n"
                   "mad.lo.u32 %r13, %r6, %r8, %r5;\nmad.lo.u32 %r13, %r13, %r7, %r4;\n"
                   "mad.lo.u32 %r13, %r13, %r12, %r3;\nmad.lo.u32 %r13, %r13, %r11, %r2;\n"
                   "mad.lo.u32 %r13, %r13, %r10, %r1;\nmad.wide.u32 %d2, %r13, 4, %d1;\nst.global.u32 [%d2], %r13;\n"),
            {.grid = {2, 3, 2}, .block = {4, 2, 2}}, out));
  for (uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i);
}

TEST(Control, BarriersOfAllAndOfSome) {
  // Warp 0 hands a value to warp 1 over named barrier 1, while warp 2 takes no part.
  const auto out = lanes_after(
      ".shared .align 4 .b8 tile[128];\nshr.u32 %r3, %r1, 5;\nand.b32 %r4, %r1, 31;\nshl.b32 %r5, %r4, 2;\nmov.u32 "
      "%r2, 0;\nsetp.eq.u32 %p1, %r3, 0;\nsetp.eq.u32 %p2, %r3, 1;\n"
      "@!%p1 bra skip;\nst.shared.u32 [%r5], %r4;\nbar.arrive 1, 64;\nskip: @!%p2 bra end;\nbar.sync 1, "
      "64;\nld.shared.u32 %r2, [%r5];\nend: bar.sync 0;\n",
      {.block = {96, 1, 1}});
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], i / 32 == 1 ? i % 32 : 0);
}

TEST(Control, Shuffles) {
  const auto shuffled = [](const std::string& mode, int b, int c) {
    return lanes_after("shfl.sync." + mode + ".b32 %r2|%p1, %r1, " + std::to_string(b) + ", " + std::to_string(c) +
                       ", -1;\n@!%p1 add.u32 %r2, %r2, 1000;\n");
  };
  const auto bfly = shuffled("bfly", 5, 31), up = shuffled("up", 3, 0), down = shuffled("down", 3, 31),
             idx = shuffled("idx", 9, 31), quarter = shuffled("down", 1, 31 | 24 << 8);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(bfly[i], i ^ 5);
    EXPECT_EQ(up[i], i >= 3 ? i - 3 : 1000 + i);
    EXPECT_EQ(down[i], i + 3 < 32 ? i + 3 : 1000 + i);
    EXPECT_EQ(idx[i], 9u);
    EXPECT_EQ(quarter[i], i % 8 < 7 ? i + 1 : 1000 + i);  // within eight lanes
  }
}

TEST(Control, VotesAndReductions) {
  EXPECT_EQ(lanes_after("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r2, %p1, -1;\n")[31], 31u);
  EXPECT_EQ(lanes_after("setp.lt.u32 %p1, %r1, 5;\nvote.sync.any.pred %p2, %p1, -1;\nselp.u32 %r2, 1, 0, %p2;\n")[31],
            1u);
  EXPECT_EQ(lanes_after("setp.lt.u32 %p1, %r1, 5;\nvote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r2, 1, 0, %p2;\n")[0],
            0u);
  EXPECT_EQ(lanes_after("setp.lt.u32 %p1, %r1, 99;\nvote.sync.uni.pred %p2, !%p1, -1;\nselp.u32 %r2, 1, 0, %p2;\n")[0],
            1u);
  const auto reduced = [](const std::string& what) {
    return lanes_after("sub.u32 %r3, %r1, 4;\nredux.sync." + what + " %r2, %r3, -1;\n")[17];
  };
  EXPECT_EQ(reduced("add.u32"), 496u - 128);
  EXPECT_EQ(reduced("add.s32"), 496u - 128);
  EXPECT_EQ(reduced("min.s32"), static_cast<uint32_t>(-4));
  EXPECT_EQ(reduced("max.s32"), 27u);
  EXPECT_EQ(reduced("min.u32"), 0u);
  EXPECT_EQ(reduced("max.u32"), static_cast<uint32_t>(-1));
  EXPECT_EQ(reduced("and.b32"), 0u);
  EXPECT_EQ(reduced("or.b32"), ~0u);
  EXPECT_EQ(reduced("xor.b32"), [] {
    uint32_t x = 0;
    for (uint32_t i = 0; i < 32; ++i) x ^= i - 4;
    return x;
  }());
}

}  // namespace
}  // namespace sim::testing::test_control
