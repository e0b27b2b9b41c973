// What orders one warp's accesses before another's: barriers, flags, fences. And that every warp gets its turn.
#include "machine.h"

namespace sim::testing::test_synchronisation {
namespace {

// 64 threads, two warps: %r1 the thread, %r2 its word's address, %r3 that of the thread 32 away; %d2 its word of p0.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\nshl.b32 %r2, %r1, 2;\nxor.b32 %r3, "
    "%r2, 128;\n.shared .align 16 .b8 tile[512];\nsetp.lt.u32 %p1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 64;\n";

// The first warp does one thing, the second another, a third (where there is one) nothing.
std::string roles(const std::string& first, const std::string& second) {
  return prologue + "@!%p2 bra end;\n@!%p1 bra second;\n" + first + "bra end;\nsecond:\n" + second + "end:\n";
}

Result ran(const std::string& body, LaunchShape shape = {.block = {64, 1, 1}}) {
  std::vector<uint32_t> out(shape.block.count() * shape.grid.count());
  Ran found = run(kernel(body), shape, out);
  return {std::move(found), std::move(out)};
}

// A barrier at the start, so that shared memory has been written: words 0 to 63 the threads' numbers, then zeros.
const std::string filled = "st.shared.u32 [%r2], %r1;\nst.shared.u32 [%r2+256], 0;\nbar.sync 0;\n";
std::string filled_roles(const std::string& first, const std::string& second) {
  std::string text = roles(first, second);
  return text.insert(prologue.size(), filled);
}

// --- barriers ---

// Warp 0 arrives at 1, writes, and arrives at 2; warp 1, which waited at 1 only, may not read what was written.
TEST(Synchronisation, ALaterArrivalElsewhereDoesNotHideARace) {
  const std::string write = "bar.arrive 1, 64;\nst.shared.u32 [%r2], 7;\nbar.arrive 2, 64;\n";
  const std::string read = "ld.shared.u32 %r4, [%r3];\n";
  const std::string early = "bar.sync 1, 64;\n" + read + "bar.sync 2, 64;\n";
  const std::string late = "bar.sync 1, 64;\nbar.sync 2, 64;\n" + read;
  // Whichever of the two warps runs first.
  for (const auto& wrong : {filled_roles(write, early), filled_roles(early, write)}) {
    const Result result = ran(wrong);
    EXPECT_EQ(result.count(Finding::race), 1) << result.text();
    EXPECT_EQ(result.reports.size(), 1u) << result.text();
  }
  for (const auto& right : {filled_roles(write, late), filled_roles(late, write)})
    EXPECT_TRUE(ran(right).reports.empty()) << ran(right).text();
}

// A ring of two slots, full and empty barriers: each pair of barriers guards one slot.
TEST(Synchronisation, ProducerAndConsumerWarpsWithNamedBarriers) {
  const std::string produce =
      "mov.u32 %r5, 0;\nagain:\nst.shared.u32 [%r2], %r5;\nbar.arrive 1, 64;\nst.shared.u32 [%r2+256], "
      "%r5;\nbar.arrive "
      "2, 64;\nbar.sync 3, 64;\nbar.sync 4, 64;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 3;\n@%p3 bra again;\n";
  const auto consume = [](const std::string& first_slot, const std::string& second_slot) {
    return "mov.u32 %r5, 0;\nmore:\nbar.sync 1, 64;\n" + first_slot + "bar.arrive 3, 64;\nbar.sync 2, 64;\n" +
           second_slot +
           "bar.arrive 4, 64;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 3;\n@%p3 bra more;\nst.global.u32 [%d2], "
           "%r6;\n";
  };
  const std::string first = "ld.shared.u32 %r6, [%r3];\n", second = "ld.shared.u32 %r7, [%r3+256];\n";
  const std::string right = consume(first, second), wrong = consume(first + second, "");  // both as soon as one is full
  const Result result = clean(ran(roles(produce, right)));
  EXPECT_EQ(result.out[40], 2u);
  EXPECT_TRUE(ran(roles(right, produce)).reports.empty());
  EXPECT_EQ(ran(filled_roles(produce, wrong)).count(Finding::race), 1);
  EXPECT_EQ(ran(filled_roles(wrong, produce)).count(Finding::race), 1);
}

TEST(Synchronisation, WarpsThatDisagreeAboutABarriersThreads) {
  const Result result = ran(roles("bar.sync 1, 96;\n", "bar.sync 1, 64;\n"), {.block = {96, 1, 1}});
  EXPECT_EQ(result.count(Finding::divergent_barrier), 1) << result.text();
  EXPECT_NE(result.text().find("counts 96"), std::string::npos) << result.text();
  EXPECT_NE(result.text().find("counts 64"), std::string::npos) << result.text();
  EXPECT_TRUE(result.given_up);
}

TEST(Synchronisation, AWarpThatArrivesTwiceCountsTwice) {
  const std::string twice = "st.shared.u32 [%r2], %r1;\nbar.arrive 1, 96;\nbar.arrive 1, 96;\n";
  const Result result =
      clean(ran(roles(twice, "bar.sync 1, 96;\nld.shared.u32 %r4, [%r3];\nst.global.u32 [%d2], %r4;\n")));
  for (uint32_t i = 32; i < 64; ++i) EXPECT_EQ(result.out[i], i - 32);
}

// --- flags ---

const std::string wait_for_flag = "setp.eq.u32 %p3, %r4, 0;\n@%p3 bra again;\n";

// The first warp writes its words, then sets the flag at tile + 256; the second waits for the flag and reads them.
std::string hand_over(const std::string& set, const std::string& get) {
  return filled_roles("add.u32 %r4, %r1, 100;\nst.shared.u32 [%r2], %r4;\nbar.warp.sync -1;\nmov.u32 %r5, 1;\n" + set,
                      "again:\n" + get + wait_for_flag + "ld.shared.u32 %r6, [%r3];\nst.global.u32 [%d2], %r6;\n");
}

void expect_handed_over(const std::string& body) {
  const Result result = ran(body);
  EXPECT_TRUE(result.reports.empty()) << result.text() << body;
  for (uint32_t i = 32; i < 64; ++i) EXPECT_EQ(result.out[i], 100 + i - 32);
}

TEST(Synchronisation, ReleaseAndAcquireHandSharedMemoryOver) {
  const std::string plain_set = "st.relaxed.cta.shared.u32 [tile+256], %r5;\n";
  const std::string plain_get = "ld.relaxed.cta.shared.u32 %r4, [tile+256];\n";
  const std::string set = "st.release.cta.shared.u32 [tile+256], %r5;\n";
  const std::string get = "ld.acquire.cta.shared.u32 %r4, [tile+256];\n";
  const std::string fence = "fence.acq_rel.cta;\n";
  expect_handed_over(hand_over(set, get));
  expect_handed_over(hand_over(fence + plain_set, get));
  expect_handed_over(hand_over("atom.release.cta.shared.add.u32 %r7, [tile+256], %r5;\n",
                               "atom.acquire.cta.shared.add.u32 %r4, [tile+256], 0;\n"));
  expect_handed_over(hand_over("membar.cta;\nst.volatile.shared.u32 [tile+256], %r5;\n",
                               "ld.volatile.shared.u32 %r4, [tile+256];\nmembar.cta;\n"));
  // An atomic of another order hands on what was released before it.
  expect_handed_over(hand_over(set + "red.relaxed.cta.shared.add.u32 [tile+256], 1;\n", get));
  // The flag in global memory, and the flag by a generic address.
  expect_handed_over(hand_over("st.release.gpu.global.u32 [%d1], %r5;\n", "ld.acquire.gpu.global.u32 %r4, [%d1];\n"));
  const std::string generic = "mov.u64 %d3, tile;\ncvta.shared.u64 %d3, %d3;\n";
  expect_handed_over(hand_over(generic + "st.release.gpu.u32 [%d3+256], %r5;\n", get));

  // Without a release or without an acquire, the data are not handed over, though the flag itself is no race.
  for (const auto& body : {hand_over(plain_set, get), hand_over(set, plain_get), hand_over(plain_set, plain_get),
                           hand_over(plain_set + fence, get), hand_over(set + plain_set, get)}) {
    const Result result = ran(body);
    EXPECT_EQ(result.count(Finding::race), 1) << result.text() << body;
    EXPECT_EQ(result.reports.size(), 1u) << result.text() << body;
  }
}

// A release by one lane is a release of what this lane has done, and of what the warp did before it last met.
TEST(Synchronisation, ALaneThatReleasesAlone) {
  const auto body = [](const std::string& before) {
    return filled_roles("add.u32 %r4, %r1, 100;\nst.shared.u32 [%r2], %r4;\n" + before +
                            "setp.eq.u32 %p4, %r1, 0;\n@%p4 st.release.cta.shared.u32 [tile+256], 1;\n",
                        "again:\nld.acquire.cta.shared.u32 %r4, [tile+256];\n" + wait_for_flag +
                            "ld.shared.u32 %r6, [%r3];\nst.global.u32 [%d2], %r6;\n");
  };
  EXPECT_TRUE(ran(body("bar.warp.sync -1;\n")).reports.empty()) << ran(body("bar.warp.sync -1;\n")).text();
  EXPECT_EQ(ran(body("")).count(Finding::race), 1) << ran(body("")).text();
}

// What a warp learnt from one flag, it hands on with another.
TEST(Synchronisation, ReleasesAreCumulative) {
  const std::string body =
      prologue +
      "st.shared.u32 [%r2+128], 0;\nbar.sync 0;\n@!%p2 bra third;\n@!%p1 bra second;\nst.shared.u32 [tile], "
      "9;\nst.release.cta.shared.u32 [tile+256], 1;\nbra end;\nsecond:\nagain:\nld.acquire.cta.shared.u32 "
      "%r4, [tile+256];\n" +
      wait_for_flag +
      "st.release.cta.shared.u32 [tile+260], 1;\nbra end;\nthird:\nmore:\nld.acquire.cta.shared.u32 %r4, [tile+260];\n"
      "setp.eq.u32 %p3, %r4, 0;\n@%p3 bra more;\nld.shared.u32 %r5, [tile];\nst.global.u32 [%d2], %r5;\nend:\n";
  const Result result = clean(ran(body, {.block = {96, 1, 1}}));
  EXPECT_EQ(result.out[80], 9u);
}

TEST(Synchronisation, StrongAccessesAreNoRaceWithEachOtherButWithWeakOnes) {
  EXPECT_TRUE(
      ran(filled_roles("atom.shared.add.u32 %r4, [tile], 1;\n", "red.shared.add.u32 [tile], 1;\n")).reports.empty());
  const std::string atomic = "atom.shared.add.u32 %r4, [tile], 1;\n";
  EXPECT_EQ(ran(filled_roles(atomic, "ld.shared.u32 %r5, [tile];\n")).count(Finding::race), 1);
  EXPECT_EQ(ran(filled_roles("st.shared.u32 [tile], 2;\n", atomic)).count(Finding::race), 1);
  const std::string strong = "st.volatile.shared.u32 [tile], 1;\n";
  EXPECT_EQ(ran(filled_roles(strong, "ld.shared.u32 %r4, [tile];\n")).count(Finding::race), 1);
  EXPECT_EQ(ran(filled_roles(strong, "st.shared.u32 [tile], 2;\n")).count(Finding::race), 1);
  EXPECT_EQ(
      ran(filled_roles("ld.volatile.shared.u32 %r4, [tile];\n", "st.shared.u32 [tile], 2;\n")).count(Finding::race), 1);
  EXPECT_EQ(ran(filled_roles("ld.shared.u32 %r4, [tile];\n", strong)).count(Finding::race), 1);
}

TEST(Synchronisation, AnAtomicOnWhatNothingWrote) {
  EXPECT_EQ(ran(prologue + "red.shared.add.u32 [tile], 1;\n").count(Finding::uninitialised), 1);
}

// --- turns ---

// The first to run waits for what a later one sets: warps of a block, in either order; lanes of a warp; blocks.
TEST(Turns, AWarpThatSpinsLetsOthersRun) {
  for (const char* access : {".volatile", ""}) {  // of a race, too, the result is as on a GPU
    const std::string spin = "again:\nld" + std::string(access) + ".shared.u32 %r4, [tile+256];\n" + wait_for_flag +
                             "st.global.u32 [%d2], %r4;\n";
    const std::string set = "st" + std::string(access) + ".shared.u32 [tile+256], 5;\n";
    EXPECT_EQ(ran(filled_roles(spin, set)).out[0], 5u);
    EXPECT_EQ(ran(filled_roles(set, spin)).out[32], 5u);
  }
}

TEST(Turns, ALaneThatSpinsLetsOthersRun) {
  // A lock that each lane of a warp takes in turn: the lane that has it waits where the paths meet, behind the loop.
  const Result result = clean(ran(
      prologue + "try:\natom.global.cas.b32 %r4, [%d1], 0, 1;\nsetp.ne.u32 %p3, %r4, 0;\n@%p3 bra try;\n"
                 "ld.volatile.global.u32 %r5, [%d1+4];\nadd.u32 %r5, %r5, 1;\nst.volatile.global.u32 [%d1+4], %r5;\n"
                 "atom.global.exch.b32 %r4, [%d1], 0;\n",
      {.block = {64, 1, 1}, .max_instructions = 10000000}));
  EXPECT_EQ(result.out[1], 64u);
}

TEST(Turns, BlocksMayWaitForEachOther) {
  // All blocks count themselves, and wait until all have.
  const std::string all_meet =
      "atom.global.add.u32 %r4, [%d1], 1;\nagain:\nld.acquire.gpu.global.u32 %r4, [%d1];\nsetp.lt.u32 %p3, %r4, "
      "1600;\n@%p3 bra again;\n";
  const Result result = clean(ran(prologue + all_meet, {.grid = {50, 1, 1}, .block = {32, 1, 1}}));
  EXPECT_EQ(result.out[0], 1600u);
}

TEST(Turns, ASleepEndsThem) {
  const std::string spin = "again:\nnanosleep.u32 100;\nld.volatile.shared.u32 %r4, [tile+256];\n" + wait_for_flag;
  EXPECT_TRUE(ran(filled_roles(spin, "st.volatile.shared.u32 [tile+256], 5;\n")).reports.empty());
}

// What depends on the order of warps comes out differently under some seeds, the same under the same; what does not
// depend on it never does.
TEST(Turns, ASeedPermutesThem) {
  const std::string number = "atom.global.add.u32 %r4, [%d1+1020], 1;\nst.global.u32 [%d2], %r4;\n";
  const auto order = [&](uint64_t seed) {
    return ran(prologue + number, {.grid = {2, 1, 1}, .block = {128, 1, 1}, .seed = seed}).out;
  };
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    orders.insert(order(seed));
    EXPECT_EQ(order(seed), order(seed));
  }
  EXPECT_GT(orders.size(), 4u);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Result result = clean(
        ran(prologue + "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\nst.global.u32 [%d2], %r4;\n",
            {.block = {64, 1, 1}, .seed = seed}));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(result.out[i], i ^ 32);
  }
}

// A copy's source must stay as it is until the copy is waited for. That the copy reads what the second store leaves is
// chance: with some seeds it has arrived before.
TEST(Turns, ASeedLetsCopiesArriveEarly) {
  const std::string body =
      "st.global.u32 [%d2], %r1;\ncp.async.ca.shared.global [%r2], [%d2], 4;\nmov.u32 %r5, 0;\nmore:\nadd.u32 %r5, "
      "%r5, 1;\nsetp.lt.u32 %p3, %r5, 5000;\n@%p3 bra more;\nst.global.u32 [%d2], 1000;\ncp.async.wait_all;\n"
      "ld.shared.u32 %r4, [%r2];\nst.global.u32 [%d2], %r4;\n";
  std::set<uint32_t> first;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Result result = clean(ran(prologue + body, {.block = {64, 1, 1}, .seed = seed}));
    first.insert(result.out[7]);
  }
  EXPECT_EQ(first, (std::set<uint32_t>{7, 1000}));
}

TEST(Turns, ADeadlockSaysWhoWaitsForWhat) {
  const Result result = ran(roles("bar.sync 1, 64;\n", "bar.sync 2, 96;\n"), {.block = {96, 1, 1}});
  EXPECT_EQ(result.count(Finding::deadlock), 1) << result.text();
  for (const char* part : {"warp 0 waits at kernel.cu:11 for barrier 1 (1 of 2 warps have come)",
                           "warp 1 waits at kernel.cu:14 for barrier 2 (1 of 3 warps have come)", "warp 2 has ended"})
    EXPECT_NE(result.text().find(part), std::string::npos) << result.text();
}

}  // namespace
}  // namespace sim::testing::test_synchronisation
