// What the trace says of accesses whose lanes, banks and sectors are worked out by hand.
#include "machine.h"
#include "watch/trace.h"

namespace sim::testing {
namespace {

constexpr const char* thread_address =
    "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d1, %d2;\n";

// The traced instructions whose opcode begins so, in the order of the program.
std::vector<TracedInstruction> traced(const Ran& ran, const Trace& trace, const std::string& opcode) {
  std::vector<TracedInstruction> found;
  for (const auto& [site, instruction] : trace.instructions()) {
    if (ran.program.sites[site].text.starts_with(opcode)) found.push_back(instruction);
  }
  return found;
}

TEST(Trace, NeighbouringLanesLoadFourSectors) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const Ran ran = run(kernel(std::string(thread_address) + "ld.global.u32 %r2, [%d2];\n"), {.trace = &trace}, array);
  const auto loads = traced(ran, trace, "ld.global");
  ASSERT_EQ(loads.size(), 1u);
  ASSERT_EQ(loads[0].requests.size(), 1u);
  const TracedRequest& request = loads[0].requests[0];
  EXPECT_FALSE(request.shared);
  EXPECT_FALSE(request.stores_global);
  EXPECT_EQ(request.global->mask, all_lanes);
  EXPECT_EQ(request.global->bytes, 4u);
  const auto begin = reinterpret_cast<uint64_t>(array.data());
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(request.global->address[lane], begin + 4 * lane);
  EXPECT_EQ(trace.instructions().size(), 1u);  // parameters are no memory that lanes share
}

TEST(Trace, LanesThatDoNotTakePartAreLeftOut) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const std::string body = std::string(thread_address) + "setp.lt.u32 %p1, %r1, 3;\n@%p1 st.global.u32 [%d2], %r1;\n";
  const Ran ran = run(kernel(body), {.trace = &trace}, array);
  const auto stores = traced(ran, trace, "st.global");
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(stores[0].requests.at(0).global->mask, 7u);
  EXPECT_TRUE(stores[0].requests.at(0).stores_global);
}

TEST(Trace, AColumnOf32WordsTakes32WavefrontsAndAHalfWarpOf64BitsOne) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const std::string body =
      "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, 128;\nst.shared.u32 [%r2], %r1;\n"
      "bar.sync 0;\nmul.lo.u32 %r3, %r1, 8;\nst.shared.v2.u32 [%r3], {%r1, %r1};\n";
  const Ran ran = run(kernel(body), {.dynamic_shared_bytes = 4096, .trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
  const auto stores = traced(ran, trace, "st.shared");
  ASSERT_EQ(stores.size(), 2u);
  const auto column = lane_groups(*stores[0].requests.at(0).shared, true);
  ASSERT_EQ(column.size(), 1u);
  EXPECT_EQ(column[0].wavefronts, 32u);
  const auto halves = lane_groups(*stores[1].requests.at(0).shared, true);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[0].last, 15u);
  EXPECT_EQ(halves[1].first, 16u);
  EXPECT_EQ(halves[0].wavefronts + halves[1].wavefronts, 2u);
}

TEST(Trace, ACopyHasTwoSides) {
  alignas(16) std::array<uint32_t, 128> array{};
  Trace trace(0, 8);
  const std::string body =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 16;\nadd.s64 %d2, %d1, %d2;\n"
      "mul.lo.u32 %r2, %r1, 16;\ncp.async.cg.shared.global [%r2], [%d2], 16;\ncp.async.wait_all;\n";
  const Ran ran = run(kernel(body), {.dynamic_shared_bytes = 512, .trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
  const auto copies = traced(ran, trace, "cp.async.cg");
  ASSERT_EQ(copies.size(), 1u);
  ASSERT_EQ(copies[0].requests.size(), 1u);
  const TracedRequest& request = copies[0].requests[0];
  ASSERT_TRUE(request.global && request.shared);
  EXPECT_TRUE(request.stores_shared);
  EXPECT_FALSE(request.stores_global);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(request.global->address[lane], reinterpret_cast<uint64_t>(array.data()) + 16 * lane);
    EXPECT_EQ(request.shared->address[lane], 16 * lane);
  }
}

TEST(Trace, KeepsTheFirstRequestsOfEachInstructionInTheirOrder) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 3);
  const std::string body = std::string(thread_address) +
                           "mov.u32 %r3, 0;\n$loop:\nld.volatile.global.u32 %r2, [%d2];\nst.global.u32 [%d2], %r2;\n"
                           "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 9;\n@%p1 bra $loop;\n";
  const Ran ran = run(kernel(body), {.trace = &trace}, array);
  const auto loads = traced(ran, trace, "ld.volatile"), stores = traced(ran, trace, "st.global");
  ASSERT_EQ(loads.at(0).requests.size(), 3u);
  ASSERT_EQ(stores.at(0).requests.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(loads[0].requests[i].order, 2 * i);
    EXPECT_EQ(stores[0].requests[i].order, 2 * i + 1);
  }
}

TEST(Trace, IsOfTheWarpThatIsAskedForInTheFirstBlock) {
  std::array<uint32_t, 512> array{};
  const std::string body =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 128, %r1;\n"
      "mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d1, %d2;\nst.global.u32 [%d2], %r1;\n";
  for (const uint32_t warp : {0u, 2u}) {
    Trace trace(warp, 8);
    const Ran ran = run(kernel(body), {.grid = {4, 1, 1}, .block = {128, 1, 1}, .seed = 3, .trace = &trace}, array);
    const auto stores = traced(ran, trace, "st.global");
    ASSERT_EQ(stores.at(0).requests.size(), 1u);
    EXPECT_EQ(stores[0].requests[0].global->address[0],
              reinterpret_cast<uint64_t>(array.data()) + uint64_t{128} * warp);
  }
  Trace none(4, 8);  // there is no such warp
  run(kernel(body), {.block = {128, 1, 1}, .trace = &none}, array);
  EXPECT_TRUE(none.instructions().empty());
}

// Lane 5 is in group 1 and second in it (PTX ISA, "Matrix Fragments for mma.m16n8k16").
TEST(Trace, SaysWhichElementsALaneHolds) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const std::string body =
      "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, 16;\nst.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};\nbar.sync 0;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\n"
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r8, %r9}, [%r2];\n"
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r10, %r11}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, "
      "{%r4, %r5};\n";
  const Ran ran = run(kernel(body), {.dynamic_shared_bytes = 512, .trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();

  const auto matrices = traced(ran, trace, "ldmatrix");
  ASSERT_EQ(matrices.size(), 2u);
  EXPECT_EQ(matrices[0].fragments.at("matrix"), "ldmatrix");
  EXPECT_EQ(matrices[0].requests.at(0).shared->mask, all_lanes);
  EXPECT_EQ(matrices[1].fragments.at("matrix"), "ldmatrix.trans");
  EXPECT_EQ(matrices[1].requests.at(0).shared->mask, 0xffffu);
  using Elements = std::vector<TracedFragment::Element>;
  EXPECT_EQ(trace.fragments().at("ldmatrix").elements[5], (Elements{{1, 2}, {1, 3}}));
  EXPECT_EQ(trace.fragments().at("ldmatrix.trans").elements[5], (Elements{{2, 1}, {3, 1}}));

  const auto products = traced(ran, trace, "mma");
  ASSERT_EQ(products.size(), 1u);
  EXPECT_TRUE(products[0].requests.empty());
  EXPECT_EQ(products[0].fragments,
            (std::map<std::string, std::string>{
                {"a", "mma.m16n8k16.a.16"}, {"b", "mma.m16n8k16.b.16"}, {"c", "mma.m16n8k16.c.16"}}));
  const TracedFragment& a = trace.fragments().at("mma.m16n8k16.a.16");
  EXPECT_EQ(a.rows, 16u);
  EXPECT_EQ(a.cols, 16u);
  EXPECT_EQ(a.elements[5], (Elements{{1, 2}, {1, 3}, {9, 2}, {9, 3}, {1, 10}, {1, 11}, {9, 10}, {9, 11}}));
  EXPECT_EQ(trace.fragments().at("mma.m16n8k16.b.16").elements[5], (Elements{{2, 1}, {3, 1}, {10, 1}, {11, 1}}));
  EXPECT_EQ(trace.fragments().at("mma.m16n8k16.c.16").elements[5], (Elements{{1, 2}, {1, 3}, {9, 2}, {9, 3}}));
}

}  // namespace
}  // namespace sim::testing
