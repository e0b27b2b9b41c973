// mbarriers: their words as an H200 has them, what they order, and the mistakes that people make with them. Their
// states and tests, step by step: recordings/synchronisation.
#include "evaluate.h"

namespace sim::testing::test_mbarriers {
namespace {

constexpr uint64_t seeds[] = {0, 1, 2, 3, 4, 5};

TEST(Mbarrier, PendingArrivalsOfAState) {
  expect_like<u32, u64>("mbarrier.pending_count.b64",
                        [](u64 state) { return ((1u << 20) - (state >> 43 & 0xfffff)) & 0xfffff; });
}

// The words that a load on an H200 did see, of mbarriers for one arrival after copies of so many bytes.
TEST(Mbarrier, TheWordInMemory) {
  for (const auto& [bytes, word] : std::map<uint32_t, uint64_t>{
           {160, 0x7ffff800141ffffe}, {1024, 0x7ffff800801ffffe}, {2560, 0x7ffff801401ffffe}}) {
    std::vector<uint64_t> out(1);
    clean(run(kernel("ld.param.u64 %d1, [p0];\n.shared .align 8 .b64 bar;\nmbarrier.init.shared.b64 [bar], "
                     "1;\nmbarrier.complete_tx.shared.b64 [bar], " +
                     std::to_string(bytes) + ";\nld.shared.u64 %d2, [bar];\nst.global.u64 [%d1], %d2;\n" +
                     "mbarrier.expect_tx.shared.b64 [bar], " + std::to_string(bytes) + ";\n"),
              {.block = {1, 1, 1}}, out));
    EXPECT_EQ(out[0], word);
  }
}

// --- what they order ---

// 64 threads: %r1 the thread, %r2 the address of its word of a tile of 128, %r3 that of the thread 32 away; two
// mbarriers.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\n.shared .align 16 .b8 tile[512];\n"
    "mov.u32 %r4, tile;\nshl.b32 %r2, %r1, 2;\nxor.b32 %r3, %r2, 128;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r3, %r3, %r4;\n"
    ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\nsetp.lt.u32 %p1, %r1, 32;\nsetp.eq.u32 %p2, %r1, 0;\n"
    "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\n";

std::string with_mbarriers(const std::string& full, const std::string& empty) {
  return prologue + "@%p2 mbarrier.init.shared.b64 [full], " + full + ";\n@%p2 mbarrier.init.shared.b64 [empty], " +
         empty + ";\nbar.sync 0;\n";
}
std::string roles(const std::string& first, const std::string& second) {
  return "@!%p1 bra second;\n" + first + "bra end;\nsecond:\n" + second + "end:\n";
}
// A wait for a phase's parity, in a loop as everybody writes it.
std::string wait(const std::string& mbarrier, const std::string& parity, int number = 1) {
  const std::string label = "again" + mbarrier + std::to_string(number);
  return label + ":\nmbarrier.try_wait.parity.shared.b64 %p5, [" + mbarrier + "], " + parity + ";\n@!%p5 bra " + label +
         ";\n";
}

Result ran(const std::string& body, uint64_t seed = 0, uint32_t threads = 64) {
  std::vector<uint32_t> out(threads);
  Ran found = run(kernel(body), {.block = {threads, 1, 1}, .seed = seed}, out);
  return {std::move(found), std::move(out)};
}

// What the body gives under every seed: no report, and the words of the second warp.
void expect_silent(const std::string& body) {
  for (const uint64_t seed : seeds) {
    const Result result = ran(body, seed);
    EXPECT_TRUE(result.reports.empty()) << result.text() << body;
  }
}
void expect(Finding kind, const std::string& body, const std::string& part = "", uint32_t threads = 64) {
  for (const uint64_t seed : seeds) {
    const Result result = ran(body, seed, threads);
    EXPECT_EQ(result.count(kind), 1) << "seed " << seed << ": " << result.text() << body;
    EXPECT_NE(result.text().find(part), std::string::npos) << result.text();
  }
}

const std::string write = "add.u32 %r5, %r1, %r10;\nst.shared.u32 [%r2], %r5;\n";
const std::string read = "ld.shared.u32 %r6, [%r3];\nadd.u32 %r11, %r11, %r6;\n";
const std::string keep = "st.global.u32 [%d2], %r11;\n";
const std::string arrive = "mbarrier.arrive.shared.b64 %d5, [full];\n";

TEST(Mbarrier, HandsSharedMemoryOver) {
  const std::string body = with_mbarriers("32", "1") + roles(write + arrive, wait("full", "0") + read + keep);
  expect_silent(body);
  for (uint32_t i = 32; i < 64; ++i) EXPECT_EQ(ran(body).out[i], i - 32);
  // By the state of an arrival, by one thread for all, by a generic address, with a hint of how long to wait.
  expect_silent(with_mbarriers("64", "1") +
                roles(write + arrive,
                      "mbarrier.arrive.release.cta.shared::cta.b64 %d6, [full];\nmore:\n"
                      "mbarrier.try_wait.acquire.cta.shared::cta.b64 %p5, [full], %d6, 1000;\n@!%p5 bra more;\n" +
                          read));
  expect_silent(with_mbarriers("1", "1") +
                roles(write + "bar.warp.sync -1;\n@%p2 " + arrive,
                      "mov.u64 %d7, full;\ncvta.shared.u64 %d7, %d7;\nmore:\nmbarrier.test_wait.parity.b64 %p5, "
                      "[%d7], 0;\n@!%p5 bra more;\n" +
                          read));
  expect_silent(with_mbarriers("1", "1") + roles("@%p2 st.shared.u32 [%r2], %r1;\n@%p2 " + arrive,
                                                 wait("full", "0") + "setp.eq.u32 %p3, %r1, 32;\n@%p3 " + read));
  // Relaxed arrivals order with a fence before them, relaxed waits with one behind.
  const std::string relaxed = "mbarrier.arrive.relaxed.cta.shared.b64 %d5, [full];\n";
  expect_silent(with_mbarriers("32", "1") + roles(write + "fence.acq_rel.cta;\n" + relaxed, wait("full", "0") + read));
  for (const std::string& wrong :
       {with_mbarriers("32", "1") + roles(write + relaxed, wait("full", "0") + read),
        with_mbarriers("32", "1") + roles(arrive + write, wait("full", "0") + read),
        with_mbarriers("32", "1") + roles(write + arrive, read + wait("full", "0")),
        // One thread arrives for all, and nothing makes it wait for the writes of the others.
        with_mbarriers("1", "1") + roles(write + "@%p2 " + arrive, wait("full", "0") + read)})
    expect(Finding::race, wrong);
}

// A ring of one slot: full and empty, eight times around. The producer waits for `empty` with the other parity.
std::string ring(const std::string& first_parity_of_producer, const std::string& release) {
  const std::string next = "add.u32 %r10, %r10, 1;\nxor.b32 %r12, %r12, 1;\nsetp.lt.u32 %p6, %r10, 8;\n";
  return with_mbarriers("32", "32") + roles("mov.u32 %r12, " + first_parity_of_producer + ";\nproduce:\n" +
                                                wait("empty", "%r12") + write + arrive + next + "@%p6 bra produce;\n",
                                            "mov.u32 %r12, 0;\nconsume:\n" + wait("full", "%r12") + read + release +
                                                next + "@%p6 bra consume;\n" + keep);
}
const std::string give_back = "mbarrier.arrive.shared.b64 _, [empty];\n";

TEST(Mbarrier, ARing) {
  const std::string right = ring("1", give_back);
  expect_silent(right);
  for (const uint64_t seed : seeds) {
    const Result result = ran(right, seed);
    for (uint32_t i = 32; i < 64; ++i) EXPECT_EQ(result.out[i], 8 * (i - 32) + 28);
  }
  // A wait that suspends its warp counts as executed once, whatever the order of the warps.
  const auto executed = [&](uint64_t seed) { return ran(right, seed).tallies.executed; };
  EXPECT_EQ(executed(0), executed(3));
}

TEST(Mbarrier, ASlotFilledBeforeItWasReleased) {
  // The producer waits for nothing: the consumer's wait for a phase that has long passed is found, or the race is.
  const std::string body = with_mbarriers("32", "32") + roles(write + arrive + write + arrive,
                                                              wait("full", "0") + read + wait("full", "1", 2) + read);
  for (const uint64_t seed : seeds) EXPECT_FALSE(ran(body, seed).reports.empty()) << seed;
}

// --- mistakes ---

TEST(Mbarrier, AWrongParity) {
  expect(Finding::wrong_parity, ring("0", give_back), "for phase 0 (parity 0) of the mbarrier at shared address 0x208");
  // Waits for the phase after the one that was complete.
  const std::string late = with_mbarriers("32", "1") +
                           roles(write + arrive + "bar.sync 1, 64;\n", "bar.sync 1, 64;\n" + wait("full", "1") + read);
  expect(Finding::wrong_parity, late, "warp 1 waits at");
}

TEST(Mbarrier, ATransactionCountThatNeverBalances) {
  const std::string expects = "@%p2 mbarrier.arrive.expect_tx.shared.b64 _, [full], 64;\n";
  const auto completes = [](int bytes) {
    return "@%p2 mbarrier.complete_tx.shared.b64 [full], " + std::to_string(bytes) + ";\n";
  };
  expect_silent(with_mbarriers("1", "1") + roles(expects + completes(64), wait("full", "0")));
  expect_silent(with_mbarriers("1", "1") + roles(completes(64) + expects, wait("full", "0")));
  expect(Finding::transaction_count, with_mbarriers("1", "1") + roles(expects + completes(48), wait("full", "0")),
         "16 bytes are expected that have not come");
  expect(Finding::transaction_count, with_mbarriers("1", "1") + roles(expects + completes(80), wait("full", "0")),
         "16 bytes have come that nobody expects");
  // Nobody waits: found when the block ends.
  expect(Finding::transaction_count, with_mbarriers("1", "1") + roles(expects, ""), "ends with a transaction count");
}

TEST(Mbarrier, TooManyArrivals) {
  expect(Finding::mbarrier, with_mbarriers("2", "1") + "@%p2 mbarrier.arrive.shared.b64 _, [full], 3;\n",
         "3 arrivals where 2 of 2 are missing");
  // One is expected and two come: two phases pass while the other warp waits for the first.
  const std::string sleep =
      "nap:\nnanosleep.u32 100;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p4, %r10, 100;\n@%p4 bra nap;\n";
  const std::string twice = with_mbarriers("1", "1") + "setp.eq.u32 %p3, %r1, 32;\n" +
                            roles(wait("full", "0"), sleep + "@%p3 " + arrive + "@%p3 " + arrive);
  EXPECT_NE(ran(twice).text().find("the next has passed as well"), std::string::npos) << ran(twice).text();
  for (const uint64_t seed : seeds) EXPECT_FALSE(ran(twice, seed).reports.empty()) << seed;
  expect(Finding::mbarrier, with_mbarriers("2", "1") + "@%p2 mbarrier.arrive.noComplete.shared.b64 %d5, [full], 2;\n",
         "may not complete the phase");
}

TEST(Mbarrier, OneThatIsNotThere) {
  expect(Finding::mbarrier, prologue + "@%p2 " + arrive, "nothing has initialised one");
  expect(Finding::mbarrier, with_mbarriers("1", "1") + "@%p2 mbarrier.inval.shared.b64 [full];\n@%p2 " + arrive,
         "nothing has initialised one");
  expect(Finding::mbarrier, with_mbarriers("1", "1") + "@%p2 st.shared.u32 [full], 0;\n@%p2 " + arrive, "overwritten");
  expect(Finding::mbarrier, prologue + "@%p2 mbarrier.init.shared.b64 [full], 0;\n", "for 0 arrivals");
  expect(Finding::misaligned, prologue + "@%p2 mbarrier.init.shared.b64 [full+4], 1;\n", "multiple of 8");
  // Initialised, as a flag says that nobody has released.
  const std::string flag = "@%p2 st.shared.u32 [tile], 0;\nbar.sync 0;\n";
  const std::string told =
      "told:\nld.volatile.shared.u32 %r4, [tile];\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra told;\n"
      "setp.eq.u32 %p3, %r1, 32;\n@%p3 " +
      arrive;
  const std::string init = "@%p2 mbarrier.init.shared.b64 [full], 1;\n@%p2 st.";
  expect(Finding::race, prologue + flag + roles(init + "volatile.shared.u32 [tile], 1;\n", told), "uses the mbarrier");
}

TEST(Mbarrier, ADeadlockNamesAllThatWait) {
  const Result result = ran(with_mbarriers("32", "32") + roles(wait("empty", "0"), wait("full", "0")));
  const std::string text = result.text();
  for (const char* const part :
       {"warp 0 waits at kernel.cu:", "warp 1 waits at kernel.cu:", "0 of 32 arrivals have come", "initialised at"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_TRUE(result.given_up);
}

// Copies by cp.async that arrive at an mbarrier: neither the others nor the thread itself may read before its phase.
TEST(Mbarrier, CopiesThatArrive) {
  const std::string copy = "cp.async.ca.shared.global [%r2], [%d2], 4;\n";
  const std::string noinc = copy + "cp.async.mbarrier.arrive.noinc.shared.b64 [full];\n";
  const std::string counted = copy + "cp.async.mbarrier.arrive.shared.b64 [full];\n" + arrive;
  for (const std::string& arrives : {noinc, counted}) {
    expect_silent(with_mbarriers("32", "1") + roles(arrives, wait("full", "0") + read));
    expect_silent(with_mbarriers("32", "1") + roles(arrives + wait("full", "0") + "ld.shared.u32 %r6, [%r2];\n", ""));
    expect(Finding::race, with_mbarriers("32", "1") + roles(arrives + "ld.shared.u32 %r6, [%r2];\n", ""));
  }
}

// The thread may also wait for its copies as for any others, and tell the rest at a barrier.
TEST(Mbarrier, CopiesThatArriveAndAreWaitedFor) {
  const std::string copy = "cp.async.ca.shared.global [%r2], [%d2], 4;\n";
  const std::string commit = "cp.async.commit_group;\n", own = "ld.shared.u32 %r6, [%r2];\n";
  const std::string noinc = "cp.async.mbarrier.arrive.noinc.shared.b64 [full];\n", met = "bar.sync 0;\n" + read;
  const std::string start = with_mbarriers("64", "1");
  const auto wait_group = [](const char* left) { return std::string("cp.async.wait_group ") + left + ";\n"; };
  expect_silent(start + copy + noinc + "cp.async.wait_all;\n" + own);
  expect_silent(start + copy + noinc + "cp.async.wait_all;\n" + met);
  expect_silent(start + copy + commit + noinc + wait_group("0") + met);
  expect_silent(start + copy + noinc + commit + commit + wait_group("1") + met);
  for (const std::string& too_little : {wait_group("1"), std::string()})
    expect(Finding::race, start + copy + commit + noinc + too_little + "@%p1 " + own);
  expect(Finding::race, start + copy + noinc + wait_group("0") + "@%p1 " + own);  // of no group
  // One warp waits for its own copies only, however late it does.
  expect(Finding::race, start + copy + noinc + roles("", "cp.async.wait_all;\n" + read));
}

// A look ahead: whoever finds the phase incomplete does something else first, which it takes to complete it.
TEST(Mbarrier, ATryWaitEndsEarlyWhereNothingElseCanGoOn) {
  const std::string look = "mbarrier.try_wait.parity.shared.b64 %p5, [full], 0;\n";
  expect_silent(with_mbarriers("32", "32") +
                roles(look + "@%p5 bra end;\n" + give_back + wait("full", "0"), wait("empty", "0") + arrive));
}

// Lanes of one warp may wait for each other: the one that waits lets those pass that are ahead of it.
TEST(Mbarrier, LanesThatWaitForEachOther) {
  expect_silent(with_mbarriers("1", "1") + "setp.eq.u32 %p3, %r1, 1;\n@!%p2 bra other;\n" + wait("full", "0") +
                "bra end;\nother:\n@%p3 " + arrive + "end:\n");
}

}  // namespace
}  // namespace sim::testing::test_mbarriers
