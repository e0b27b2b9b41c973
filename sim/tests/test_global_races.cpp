// Races in global memory between blocks, and what orders them: a mistake each, and the program that is right.
#include <array>
#include <memory>

#include "machine.h"

namespace sim::testing::test_global_races {
namespace {

// %d1 is p0, %d2 the thread's own word of it, %d3 the flag p1; %r1 the thread, %r2 the block, %p1 whether it is block
// 0, %p2 whether the thread is the block's first.
const std::string prologue =
    "ld.param.u64 %d1, [p0];\nld.param.u64 %d3, [p1];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
    "mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\nmad.wide.u32 %d2, %r4, 4, %d1;\n"
    "setp.eq.u32 %p1, %r2, 0;\nsetp.eq.u32 %p2, %r1, 0;\n";

struct Shape {
  uint32_t blocks = 2, threads = 32, cluster = 1;
  uint64_t seed = 0;
};

Ran launch(const std::string& body, const Shape& shape = {}) {
  std::vector<uint32_t> data(256, 7), flags(64, 0);
  return run(kernel(prologue + body, 2),
             {.grid = {shape.blocks, 1, 1},
              .block = {shape.threads, 1, 1},
              .seed = shape.seed,
              .cluster = {shape.cluster, 1, 1}},
             data, flags);
}

// One race whose report has these words, and nothing else.
void expect_race(const std::string& body, const std::vector<std::string>& words, const Shape& shape = {}) {
  const Ran ran = launch(body, shape);
  EXPECT_EQ(ran.count(Finding::race), 1) << body << ran.text();
  EXPECT_EQ(ran.reports.size(), 1u) << ran.text();
  for (const std::string& word : words) EXPECT_NE(ran.text().find(word), std::string::npos) << word << ran.text();
}

void expect_legal(const std::string& body, const Shape& shape = {}) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Ran ran = launch(body, {shape.blocks, shape.threads, shape.cluster, seed});
    EXPECT_EQ(ran.text(), "") << body << "seed " << seed;
    EXPECT_TRUE(ran.warnings.empty()) << body;
  }
}

// Block 0 does the one, the others the other.
std::string roles(const std::string& first, const std::string& second) {
  return "@!%p1 bra second;\n" + first + "bra end;\nsecond:\n" + second + "end:\n";
}

const std::string write = "st.global.u32 [%d2], %r1;\n", read_first = "ld.global.u32 %r5, [%d1];\n";

TEST(GlobalRaces, ReadsAndWritesOfOtherBlocks) {
  expect_legal("ld.global.u32 %r5, [%d2];\n" + write + "ld.global.u32 %r5, [%d2];\n");
  expect_race(roles(write, read_first),
              {"ld.global.u32 at kernel.cu:", "reads global address", "0 bytes into the 1024 bytes of a cudaMalloc",
               "written by st.global.u32 at kernel.cu:", "by thread (0,0,0) of block (0,0,0)",
               "blocks of one launch run in any order", "grid.sync()"});
  expect_race(roles(read_first, "st.global.u32 [%d1], %r2;\n"), {"writes global address", "read by ld.global.u32"});
  expect_race("st.global.u32 [%d1], %r2;\n", {"writes global address", "written by"});
  // Bytes beside each other are no race, where the kernel writes bytes.
  expect_legal("cvt.u64.u32 %d4, %r2;\nadd.u64 %d4, %d4, %d1;\nst.global.u8 [%d4], %r2;\n");
}

TEST(GlobalRaces, ReportsHaveTheClocks) {
  const Ran across = launch(roles(write, read_first));
  ASSERT_EQ(across.reports.size(), 1u);
  const Unordered far = across.reports.front().unordered.value();
  EXPECT_FALSE(far.is_within_a_cluster());
  EXPECT_EQ(far.first.cluster, 0u);
  EXPECT_EQ(far.first.name, "warp 0 of block (0,0,0)");
  EXPECT_EQ(far.second.cluster, 1u);
  EXPECT_NE(far.first.stamp, Unordered::none);
  EXPECT_TRUE(far.seen.empty());
  EXPECT_TRUE(far.first_seen.empty());

  const std::string other = "xor.b32 %r4, %r4, 32;\nmad.wide.u32 %d4, %r4, 4, %d1;\nld.global.u32 %r5, [%d4];\n";
  const Ran within = launch("bar.sync 0;\n" + write + other, {1, 64});
  ASSERT_EQ(within.reports.size(), 1u);
  const Unordered near = within.reports.front().unordered.value();
  EXPECT_TRUE(near.is_within_a_cluster());
  EXPECT_LT(near.seen.at(near.first.agent), near.first.stamp);
  EXPECT_LT(near.first_seen.at(near.second.agent), near.second.stamp);
  EXPECT_LT(near.first_learnt, near.first.stamp);
}

TEST(GlobalRaces, TheSameValueIsAWarning) {
  const Ran ran = launch("st.global.u32 [%d1], 5;\n");
  EXPECT_EQ(ran.text(), "");
  ASSERT_EQ(ran.warnings.size(), 1u);
  EXPECT_NE(ran.warnings[0].message.find("the same value"), std::string::npos);
}

TEST(GlobalRaces, WithinABlockABarrierOrders) {
  const std::string other = "xor.b32 %r4, %r4, 32;\nmad.wide.u32 %d4, %r4, 4, %d1;\nld.global.u32 %r5, [%d4];\n";
  expect_legal(write + "bar.sync 0;\n" + other, {1, 64});
  expect_race(write + other, {"with no __syncthreads() between"}, {1, 64});
}

TEST(GlobalRaces, WithinAClusterItsBarrierOrders) {
  const std::string meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  const std::string other = "xor.b32 %r4, %r4, 32;\nmad.wide.u32 %d4, %r4, 4, %d1;\nld.global.u32 %r5, [%d4];\n";
  expect_legal(write + meet + other, {2, 32, 2});
  expect_race(write + other, {"with no barrier of the cluster between"}, {2, 32, 2});
  expect_race(write + meet + other, {"blocks of one launch"}, {2, 32, 1});
}

// Every block writes, then counts itself; the one that comes last reads what the others have written.
std::string last_block(const std::string& before, const std::string& count, const std::string& after) {
  return write + before + "@!%p2 bra end;\n" + count + "setp.ne.u32 %p3, %r5, 2;\n@%p3 bra end;\n" + after +
         "ld.global.u32 %r6, [%d1];\nld.global.u32 %r6, [%d1+388];\nend:\n";
}
const std::string fence = "membar.gl;\n", sync = "bar.sync 0;\n";
const std::string add = "atom.global.add.u32 %r5, [%d3], 1;\n";

TEST(GlobalRaces, TheLastBlockReadsWhatTheOthersWrote) {
  const Shape shape{3, 64};
  expect_legal(last_block(fence + sync, add, fence), shape);
  expect_legal(last_block(sync, "atom.acq_rel.gpu.global.add.u32 %r5, [%d3], 1;\n", ""), shape);
  expect_legal(last_block(sync, "fence.acq_rel.sys;\n" + add, "fence.sc.gpu;\n"), shape);
  const auto expect_wrong = [&](const std::string& body, const std::string& words) {
    const Ran ran = launch(body, shape);
    EXPECT_GE(ran.count(Finding::race), 1) << body;
    EXPECT_NE(ran.text().find(words), std::string::npos) << words << ran.text();
  };
  expect_wrong(last_block(sync, add, ""), "nothing in this kernel orders them");
  expect_wrong(last_block("membar.cta;\n" + sync, add, "membar.cta;\n"), "its scope has to be .gpu");
  expect_wrong(last_block(fence, add, fence), "__syncthreads() if another one raises");  // of the second warp
  // Without a fence on the side of whoever reads, PTX does not order both. Much code leaves it out.
  const Ran unfenced = launch(last_block(fence + sync, add, ""), shape);
  EXPECT_EQ(unfenced.text(), "");
  ASSERT_GE(unfenced.warnings.size(), 1u);
  EXPECT_NE(unfenced.warnings[0].message.find("has to follow the atomic"), std::string::npos);
  expect_wrong(last_block(fence + sync, "atom.cta.global.add.u32 %r5, [%d3], 1;\n", fence), "atomicAdd_block");
}

std::string flag(const std::string& raise, const std::string& look) {
  return roles(write + "bar.warp.sync 0xffffffff;\n@%p2 " + raise,
               "again:\n" + look + "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra again;\nld.global.u32 %r6, [%d1];\n");
}

TEST(GlobalRaces, AFlagReleasesAndAcquires) {
  expect_legal(flag("st.release.gpu.global.u32 [%d3], 1;\n", "ld.acquire.gpu.global.u32 %r5, [%d3];\n"));
  expect_legal(flag("st.release.gpu.global.u32 [%d3], 1;\n", "ld.volatile.global.u32 %r5, [%d3];\n" + fence));
  const Ran relaxed = launch(flag("st.relaxed.gpu.global.u32 [%d3], 1;\n", "ld.acquire.gpu.global.u32 %r5, [%d3];\n"));
  EXPECT_EQ(relaxed.count(Finding::race), 1) << relaxed.text();
  const Ran narrow = launch(flag("st.release.cta.global.u32 [%d3], 1;\n", "ld.acquire.gpu.global.u32 %r5, [%d3];\n"));
  EXPECT_EQ(narrow.count(Finding::race), 2) << narrow.text();  // the data, and the flag itself
  const Ran weak = launch(flag("st.global.u32 [%d3], 1;\n", "ld.volatile.global.u32 %r5, [%d3];\n"));
  EXPECT_NE(weak.text().find("the one there is an ordinary access"), std::string::npos) << weak.text();
}

// A block hands on what it has been told: what block 0 wrote, block 2 reads.
TEST(GlobalRaces, WhatIsKnownIsHandedOn) {
  const std::string wait = "ld.acquire.gpu.global.u32 %r5, [%d3];\nsetp.ne.u32 %p3, %r5, %r2;\n@%p3 bra again;\n";
  expect_legal("@%p1 st.global.u32 [%d1], 1;\nagain:\n" + wait +
                   "setp.eq.u32 %p4, %r2, 2;\n@%p4 ld.global.u32 %r6, [%d1];\n"
                   "add.u32 %r5, %r5, 1;\nst.release.gpu.global.u32 [%d3], %r5;\n",
               {3, 1});
}

TEST(GlobalRaces, AtomicsAreNoneWithEachOther) {
  expect_legal(
      "red.global.add.u32 [%d1], 1;\natom.global.max.u32 %r5, [%d1], %r2;\nld.relaxed.gpu.global.u32 %r5, [%d1];\n");
  const Ran mixed = launch("red.global.add.u32 [%d1], 1;\n" + read_first);
  EXPECT_GE(mixed.count(Finding::race), 1) << mixed.text();
  // A compare-and-swap checks what a plain load saw before.
  expect_legal(read_first + "add.u32 %r6, %r5, 1;\natom.global.cas.b32 %r7, [%d1], %r5, %r6;\n", {4, 1});
}

TEST(GlobalRaces, ACopyToGlobalMemoryIsWaitedFor) {
  const auto body = [](const std::string& wait) {
    return ".shared .align 16 .b8 tile[16];\n" +
           roles(
               "st.shared.u32 [tile], 1;\nst.shared.u32 [tile+4], 1;\nst.shared.u32 [tile+8], 1;\n"
               "st.shared.u32 [tile+12], 1;\nfence.proxy.async.shared::cta;\n"
               "cp.async.bulk.global.shared::cta.bulk_group [%d1], [tile], 16;\ncp.async.bulk.commit_group;\n" +
                   wait + "st.release.gpu.global.u32 [%d3], 1;\ncp.async.bulk.wait_group 0;\n",
               "again:\nld.acquire.gpu.global.u32 %r5, [%d3];\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra again;\n" +
                   read_first);
  };
  expect_legal(body("cp.async.bulk.wait_group 0;\n"), {2, 1});
  const Ran ran = launch(body(""), {2, 1});
  EXPECT_NE(ran.text().find("cp.async.bulk.wait_group 0 before"), std::string::npos) << ran.text();
}

// One block sets a sum to zero that all add to. Its own addition lies over the store when the others add.
TEST(GlobalRaces, AStoreUnderItsOwnBlocksAtomicsIsNotHidden) {
  const std::string set = "@%p2 st.global.u32 [%d1], 0;\nbar.warp.sync 0xffffffff;\n",
                    sum = "red.global.add.u32 [%d1], 1;\n", tell = "@%p2 st.release.gpu.global.u32 [%d3], 1;\n",
                    wait = "again:\nld.acquire.gpu.global.u32 %r5, [%d3];\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra again;\n";
  expect_race(roles(set + sum, sum), {"red.global.add.u32 at", "written by st.global.u32 at",
                                      "by warp 0 of block (0,0,0)", "the one there is an ordinary access"});
  expect_legal(roles(set + tell + sum, wait + sum), {3, 32});
  expect_legal(sum);  // set before the launch
  // The second block has been told, the third has not, and adds above what the second has added.
  const std::string second = "setp.eq.u32 %p4, %r2, 1;\n@!%p4 bra add;\n";
  expect_race(roles(set + tell + sum, second + wait + "add:\n" + sum), {"by warp 0 of block (0,0,0)"}, {3, 32});
}

// What the second of two launches is found to do, which may begin before the first, a writer, has ended.
std::string after_a_writer(const std::string& body) {
  std::vector<uint32_t> data(256, 7), flags(64, 0);
  const std::array<uint64_t, 2> pointers{reinterpret_cast<uint64_t>(data.data()),
                                         reinterpret_cast<uint64_t>(flags.data())};
  Allocations allocations;
  allocations.add(pointers[0], 1024, "cudaMalloc");
  allocations.add(pointers[1], 256, "cudaMalloc");
  Ran ran;
  Reports reports;
  std::unique_ptr<GlobalShadow> before;
  std::vector<std::byte> parameters(sizeof pointers);
  std::memcpy(parameters.data(), pointers.data(), sizeof pointers);
  std::array<Program, 2> programs;
  for (uint32_t i = 0; i < 2; ++i) {
    const ptx::Module module = ptx::parse(kernel(prologue + (i == 0 ? write : body), 2));
    programs[i] = decode(module, module.kernels.at(0), [](const std::string&) -> uint64_t { return 0; });
    Launch launch{.program = programs[i],
                  .grid = {2, 1, 1},
                  .block = {64, 1, 1},
                  .dynamic_shared_bytes = 0,
                  .parameters = parameters,
                  .allocations = allocations,
                  .reports = reports,
                  .options = {}};
    launch.before = std::move(before);
    sim::run(launch);
    before = std::move(launch.global);
  }
  ran.reports = reports.all();
  return ran.text();
}

TEST(GlobalRaces, AnEarlyLaunchWaitsForTheOneInFront) {
  const std::string read = "ld.global.u32 %r5, [%d2];\n", wait = "griddepcontrol.wait;\n";
  EXPECT_EQ(after_a_writer(wait + read), "");
  EXPECT_EQ(after_a_writer("@%p2 " + wait + "bar.sync 0;\n" + read), "");
  EXPECT_NE(after_a_writer(read + wait).find("griddepcontrol.wait (cudaGridDependencySynchronize) has to come first"),
            std::string::npos);
  EXPECT_NE(after_a_writer("@%p2 " + wait + read), "");  // the second warp has been told nothing
}

}  // namespace
}  // namespace sim::testing::test_global_races
