// Clusters: their shared memory, their barrier, and registers that warps hand over. Where blocks are in them:
// recordings/synchronisation.
#include "evaluate.h"

namespace sim::testing::test_clusters {
namespace {

constexpr uint64_t seeds[] = {0, 1, 2, 3, 4, 5};

TEST(Clusters, RanksInAddresses) {
  const auto moved = [](u64 address, u32 rank) { return (address & 0xffffff) | u64{rank} << 24; };
  expect_like<u32, u32, u32>("mapa.shared::cluster.u32", [&](u32 address, u32 rank) { return moved(address, rank); });
  expect_like<u64, u64, u32>("mapa.shared::cluster.u64", moved);
  expect_like<u64, u64, u32>("mapa.u64", [&](u64 a, u32 rank) { return moved(a, rank) | u64{1} << 56; });
  expect_like<u32, u32>("getctarank.shared::cluster.u32", [](u32 address) { return address >> 24; });
  for (const char* const opcode : {"getctarank.shared::cluster.u64", "getctarank.u64"})
    expect_like<u32, u64>(opcode, [](u64 address) { return address << 8 >> 32; });
}

// --- memory and barrier ---

// Four blocks of 32 threads: %r1 the thread, %r2 its word here, %r3 its word in the next block; %d2 its word of p0.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r6, %ctaid.x;\nmad.lo.u32 %r7, %r6, 32, %r1;\n"
    "mad.wide.u32 %d2, %r7, 4, %d1;\n.shared .align 16 .b8 tile[128];\n.shared .align 8 .b64 bar;\nmov.u32 %r2, tile;\n"
    "mad.lo.u32 %r2, %r1, 4, %r2;\nmov.u32 %r8, %cluster_ctarank;\nadd.u32 %r9, %r8, 1;\nand.b32 %r9, %r9, 3;\n"
    "mapa.shared::cluster.u32 %r3, %r2, %r9;\nsetp.eq.u32 %p1, %r8, 0;\nsetp.eq.u32 %p2, %r1, 0;\n";
const std::string all_meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
const std::string keep = "st.global.u32 [%d2], %r10;\n";

Result ran(const std::string& body, uint64_t seed = 0, LaunchShape shape = {.grid = {8, 1, 1}, .cluster = {4, 1, 1}}) {
  shape.seed = seed;
  std::vector<uint32_t> out(shape.grid.count() * shape.block.count());
  Ran found = run(kernel(prologue + body), shape, out);
  return {std::move(found), std::move(out)};
}
void expect_silent(const std::string& body) {
  for (const uint64_t seed : seeds) {
    const Result result = ran(body, seed);
    EXPECT_TRUE(result.reports.empty()) << "seed " << seed << ": " << result.text() << body;
  }
}
void expect(Finding kind, const std::string& body, const std::string& part = "") {
  for (const uint64_t seed : seeds) {
    const Result result = ran(body, seed);
    EXPECT_GE(result.count(kind), 1) << "seed " << seed << ": " << result.text() << body;
    EXPECT_NE(result.text().find(part), std::string::npos) << result.text();
  }
}

TEST(Clusters, BlocksReadAndWriteEachOthersMemory) {
  const std::string write = "st.shared.u32 [%r2], %r7;\n", read = "ld.shared::cluster.u32 %r10, [%r3];\n";
  const std::string body = write + all_meet + read + keep + all_meet;
  expect_silent(body);
  for (const uint64_t seed : seeds) {
    const Result result = ran(body, seed);
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(result.out[i], i / 128 * 128 + (i + 32) % 128);
  }
  // The same by generic addresses, by atomics, by .release and .acquire as they are by default.
  const std::string generic =
      "cvt.u64.u32 %d3, %r2;\ncvta.shared.u64 %d3, %d3;\nmapa.u64 %d4, %d3, %r9;\nisspacep.shared %p3, %d4;\n"
      "isspacep.shared::cluster %p4, %d4;\nselp.u32 %r11, 1, 0, %p3;\nselp.u32 %r12, 2, 0, %p4;\nld.u32 %r10, [%d4];\n"
      "shl.b32 %r11, %r11, 16;\nshl.b32 %r12, %r12, 16;\nor.b32 %r10, %r10, %r11;\nor.b32 %r10, %r10, %r12;\n";
  const Result by_generic = clean(ran(write + all_meet + generic + keep + all_meet));
  EXPECT_EQ(by_generic.out[5], 37u + (2u << 16));
  const std::string add = "atom.shared::cluster.add.u32 %r11, [%r3], 1000;\n";
  const Result by_atomic = clean(ran(write + all_meet + add + all_meet + "ld.shared.u32 %r10, [%r2];\n" + keep));
  EXPECT_EQ(by_atomic.out[40], 1040u);
  expect_silent(write + "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n" + read + all_meet);
  expect_silent(write + "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n" + read +
                all_meet);
  // Without what orders them it is a race, and so is a write into a memory that its owner still reads.
  expect(Finding::race,
         "st.shared.u32 [%r2], %r7;\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n" + read +
             all_meet);
  expect(Finding::race,
         write + all_meet + "ld.shared.u32 %r10, [%r2];\nst.shared::cluster.u32 [%r3], %r7;\n" + all_meet);
}

TEST(Clusters, ABlockThatExitsWhileItsClusterUsesItsMemory) {
  const std::string write = "st.shared.u32 [%r2], 0;\n" + all_meet + "st.shared::cluster.u32 [%r3], %r7;\n";
  expect(Finding::exited_block, write, "which may have ended by then");
  expect(Finding::exited_block, "st.shared.u32 [%r2], 0;\n" + all_meet + "ld.shared::cluster.u32 %r10, [%r3];\n");
  expect_silent(write + all_meet);
  // The block may have long ended when the access comes.
  const std::string later = "st.shared.u32 [%r2], 0;\n" + all_meet +
                            "@%p1 bra end;\nmov.u32 %r10, 0;\nnap:\nnanosleep.u32 9;\nadd.u32 %r10, %r10, 1;\n"
                            "setp.lt.u32 %p3, %r10, 20000;\n@%p3 bra nap;\nsetp.eq.u32 %p3, %r8, 3;\n"
                            "@%p3 st.shared::cluster.u32 [%r3], %r7;\nend:\n";
  expect(Finding::exited_block, later, "of block (0,0,0), which may have ended");
  // An arrival at another block's mbarrier needs the block just as well.
  const std::string far =
      "mov.u32 %r10, bar;\nmapa.shared::cluster.u32 %r11, %r10, %r9;\n@%p2 mbarrier.init.shared.b64 [bar], 1;\n" +
      all_meet + "@%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\n";
  expect(Finding::exited_block, far);
  expect_silent(far + all_meet);
  // Who waits for the arrival stays as long as is needed.
  expect_silent(far +
                "again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [bar], 0;\n@!%p5 bra again;\n");
}

TEST(Clusters, TheBarrierCountsThreadsThatHaveEnded) {
  expect_silent("setp.gt.u32 %p3, %r1, 9;\n@%p3 bra end;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nend:\n");
  expect_silent("@%p1 bra end;\n" + all_meet + "end:\n");
}

TEST(Clusters, TheBarrierUsedWrongly) {
  expect(Finding::divergent_barrier, "barrier.cluster.wait.aligned;\n", "without having arrived");
  expect(Finding::divergent_barrier, "barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;\n",
         "again without having waited");
  expect(Finding::divergent_barrier, "@%p2 barrier.cluster.arrive.aligned;\n", "part of a warp only");
  expect(Finding::deadlock,
         "@!%p1 bra others;\nbar.sync 1, 64;\nothers:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n",
         "for the cluster barrier (96 of 128 threads have come)");
}

TEST(Clusters, ARankThatTheClusterDoesNotHave) {
  expect(Finding::out_of_bounds, "mapa.shared::cluster.u32 %r3, %r2, 7;\nst.shared::cluster.u32 [%r3], 0;\n",
         "the address has rank 7; the cluster has 4 blocks");
  expect(Finding::out_of_bounds, "ld.shared.u32 %r10, [%r3];\n");  // shared is this block's alone
}

TEST(Clusters, TheKernelsOwnSize) {
  std::string text = kernel("ret;\n");
  text.insert(text.find("\n{\n"), "\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n");
  std::vector<uint32_t> out(1);
  const Ran found = run(text, {}, out);
  EXPECT_EQ(found.program.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_TRUE(found.program.is_explicit_cluster);
}

// --- registers ---

// 3 warpgroups of which one gives registers to the two others; the launch bounds leave each thread 168.
std::string hand_over(int gives, int takes, bool bounds = true) {
  std::string text =
      kernel("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 128;\n@%p1 bra producer;\nsetmaxnreg.inc.sync.aligned.u32 " +
             std::to_string(takes) + ";\nbra end;\nproducer:\nsetmaxnreg.dec.sync.aligned.u32 " +
             std::to_string(gives) + ";\nend:\n");
  if (bounds) text.insert(text.find("\n{\n"), "\n.maxntid 384\n.minnctapersm 1\n");
  return text;
}

TEST(Registers, WarpsHandThemOver) {
  for (const uint64_t seed : seeds) {
    std::vector<uint32_t> out(1);
    const LaunchShape shape{.block = {384, 1, 1}, .seed = seed};
    for (const auto& [gives, takes] : {std::pair{40, 232}, std::pair{24, 240}})
      EXPECT_TRUE(run(hand_over(gives, takes), shape, out).reports.empty()) << gives << " " << takes;
    const Ran most = run(hand_over(40, 240), shape, out);
    EXPECT_EQ(most.count(Finding::registers), 1) << most.text();
    EXPECT_NE(most.text().find("for 240 registers per thread"), std::string::npos) << most.text();
    EXPECT_EQ(run(hand_over(176, 232), shape, out).count(Finding::registers), 1);
    const Ran ignored = run(hand_over(40, 232, false), shape, out);  // as ptxas does it
    EXPECT_TRUE(ignored.reports.empty() && !ignored.given_up) << ignored.text();
    ASSERT_EQ(ignored.warnings.size(), 2u);
    EXPECT_NE(ignored.warnings[0].message.find("no launch bounds"), std::string::npos);
    EXPECT_EQ(ignored.warnings[0].times + ignored.warnings[1].times, 12u);
  }
  EXPECT_NE(refusal(hand_over(20, 232)).find("multiple of 8 from 24 to 256"), std::string::npos);
}

TEST(Registers, ProgrammaticLaunchesNeedNothing) {
  expect_silent("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n");
}

}  // namespace
}  // namespace sim::testing::test_clusters
