// Mistakes that one order of warps hides: another finds them. So steps are tested under several seeds.
#include "machine.h"

namespace sim::testing::test_schedules {
namespace {

// 64 threads: %r1 the thread, %r2 the address of its word of a tile, %r3 that of the thread 32 away, both written; %d2
// the thread's word of p0, %p1 whether it is in the first warp; an mbarrier that the threads of one warp arrive at.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\n.shared .align 16 .b8 tile[256];\n"
    ".shared .align 8 .b64 full;\nmov.u32 %r4, tile;\nshl.b32 %r2, %r1, 2;\nxor.b32 %r3, %r2, 128;\n"
    "add.u32 %r2, %r2, %r4;\nadd.u32 %r3, %r3, %r4;\nst.shared.u32 [%r2], 0;\nsetp.lt.u32 %p1, %r1, 32;\n"
    "setp.eq.u32 %p2, %r1, 0;\n@%p2 mbarrier.init.shared.b64 [full], 32;\nbar.sync 0;\n";

std::string roles(const std::string& first, const std::string& second) {
  return prologue + "@!%p1 bra second;\n" + first + "bra end;\nsecond:\n" + second + "end:\nbar.sync 0;\n";
}

const std::string look = "mbarrier.test_wait.parity.shared.b64 %p5, [full], 0;\n";  // once
const std::string wait = "again:\n" + look + "@!%p5 bra again;\n";
const std::string read = "ld.shared.u32 %r6, [%r3];\nst.global.u32 [%d2], %r6;\n";

int races(const std::string& body, uint64_t seed) {
  std::vector<uint32_t> data(64, 7);
  const Ran ran = run(kernel(body), {.block = {64, 1, 1}, .seed = seed}, data);
  EXPECT_EQ(ran.reports.size(), static_cast<size_t>(ran.count(Finding::race))) << ran.text();
  return ran.count(Finding::race);
}

// The second warp fills the tile with `fill`; the first looks once whether it is full, and reads it in any case. In
// order, the warp that comes last to the barrier goes on from there: the tile is full by then, and nothing can be seen.
void expect_found_under_another_order(const std::string& fill) {
  const std::string wrong = roles(look + read, fill), right = roles(wait + read, fill);
  EXPECT_EQ(races(wrong, 0), 0);
  int finding = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) finding += races(wrong, seed) > 0;
  EXPECT_GE(finding, 1);
  EXPECT_LT(finding, 5);
  for (uint64_t seed = 0; seed <= 5; ++seed) EXPECT_EQ(races(right, seed), 0) << "seed " << seed;
}

TEST(Schedules, AnMbarrierLookedAtOnceInsteadOfWaitedFor) {
  expect_found_under_another_order("st.shared.u32 [%r2], %r1;\nmbarrier.arrive.shared.b64 %d5, [full];\n");
}

TEST(Schedules, CopiesThatAreLookedForOnce) {
  expect_found_under_another_order(
      "cp.async.ca.shared.global [%r2], [%d2], 4;\ncp.async.wait_all;\nmbarrier.arrive.shared.b64 %d5, [full];\n");
}

}  // namespace
}  // namespace sim::testing::test_schedules
