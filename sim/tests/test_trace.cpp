// What the trace says of accesses whose lanes, banks and sectors are worked out by hand.
#include "core/checks/trace.h"
#include "stored_map.h"
#include "wgmma_kernel.h"

namespace sim::testing::test_trace {
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

// PTX ISA, "Matrix Fragments for mma.m16n8k256": 32 neighbouring bits in each register.
TEST(Trace, SaysWhichBitsALaneHolds) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  clean(run(kernel("mov.u32 %r1, 0;\nmma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r2, %r3, "
                   "%r4, %r5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r1};\n"),
            {.trace = &trace}, array));
  const TracedFragment &a = trace.fragments().at("mma.m16n8k256.a.1"), &b = trace.fragments().at("mma.m16n8k256.b.1");
  EXPECT_EQ(a.cols, 256u);
  EXPECT_EQ(b.rows, 256u);
  ASSERT_EQ(a.elements[7].size(), 128u);
  for (uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(a.elements[7][i], (TracedFragment::Element{i / 32 % 2 == 0 ? 1 : 9, 96 + i % 32 + i / 64 * 128}));
  }
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(b.elements[7][i], (TracedFragment::Element{96 + i % 32 + i / 32 * 128, 1}));
}

// A tensor of 40×24 elements of 16 bits, in boxes of 16×8 of which every other row is moved.
Maps map_of(Tensor<uint16_t>& tensor) {
  return stored({.type = TensorType::bf16,
                 .rank = 2,
                 .address = reinterpret_cast<uint64_t>(tensor.data()),
                 .size = {40, 24},
                 .stride = {80},
                 .box = {16, 8},
                 .element_stride = {1, 2},
                 .swizzle = Swizzle::by_32});
}

// Lane 3 asks for the box: rows 20, 22, 24 and 26, of which two are in the tensor, from element 32 on, of which eight.
TEST(Trace, ABoxThatTmaLoadsOverTheEdge) {
  Tensor<uint16_t> tensor(40 * 24);
  Maps maps = map_of(tensor);
  Trace trace(0, 8);
  const std::string body =
      ".shared .align 1024 .b8 before[512];\n.shared .align 1024 .b8 tile[128];\n.shared .align 8 .b64 full;\n"
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 3;\n@%p1 bra end;\n"
      "mbarrier.init.shared::cta.b64 [full], 1;\nfence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 128;\nmov.u32 %r5, 32;\nmov.u32 %r6, 20;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1, {%r5, %r6}], [full];\n"
      "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra wait;\nend:\n"
      "@!%p1 st.shared.u8 [before], 0;\n";
  const Ran ran = clean(run(kernel(body, 2), {.trace = &trace}, maps, tensor));
  const auto copies = traced(ran, trace, "cp.async.bulk.tensor");
  ASSERT_EQ(copies.size(), 1u);
  ASSERT_EQ(copies[0].requests.size(), 1u);
  EXPECT_FALSE(copies[0].requests[0].global || copies[0].requests[0].shared);
  const TracedCopy& copy = copies[0].requests[0].copy.value();
  EXPECT_EQ(copy.lane, 3u);
  EXPECT_FALSE(copy.stores);
  ASSERT_TRUE(copy.box);
  EXPECT_EQ(copy.box->start, (std::vector<int32_t>{32, 20}));
  EXPECT_EQ(copy.box->size, (std::vector<uint32_t>{16, 4}));
  EXPECT_EQ(copy.box->swizzle, 32u);
  EXPECT_EQ(*copy.global, reinterpret_cast<uint64_t>(tensor.data()) + 20 * 80 + 32 * 2);
  EXPECT_EQ(copy.within, reinterpret_cast<uint64_t>(tensor.data()));
  EXPECT_EQ(copy.global_bytes, 2u * 16u);
  EXPECT_EQ(*copy.shared, 1024u);
  EXPECT_EQ(copy.shared_bytes, 4u * 32u);
  EXPECT_EQ(copy.blocks, (std::vector<uint32_t>{0}));
}

TEST(Trace, WhatTmaStoresAndABulkCopy) {
  Tensor<uint16_t> tensor(40 * 24);
  Maps maps = map_of(tensor);
  Trace trace(0, 2);
  const std::string body =
      ".shared .align 1024 .b8 tile[128];\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r3, %r3, %r2;\nst.shared.u32 [%r3], %r1;\n"
      "fence.proxy.async;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nmov.u32 %r5, 8;\nmov.u32 %r6, 0;\n"
      "again:\ncp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r5, %r6}], [tile];\n"
      "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra again;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%d2+32], [tile+16], 48;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nend:\n";
  const Ran ran = clean(run(kernel(body, 2), {.trace = &trace}, maps, tensor));
  const auto boxes = traced(ran, trace, "cp.async.bulk.tensor"), plain = traced(ran, trace, "cp.async.bulk.global");
  ASSERT_EQ(boxes.at(0).requests.size(), 2u);  // of three
  const uint64_t begin = reinterpret_cast<uint64_t>(tensor.data());
  for (uint32_t row = 0; row < 2; ++row) {
    const TracedCopy& copy = boxes[0].requests[row].copy.value();
    EXPECT_TRUE(copy.stores);
    EXPECT_EQ(copy.box->start, (std::vector<int32_t>{8, static_cast<int32_t>(row)}));
    EXPECT_EQ(*copy.global, begin + 80 * row + 16);
    EXPECT_EQ(copy.global_bytes, 128u);
  }
  const TracedCopy& copy = plain.at(0).requests.at(0).copy.value();
  EXPECT_FALSE(copy.box);
  EXPECT_TRUE(copy.stores);
  EXPECT_EQ(*copy.global, begin + 32);
  EXPECT_EQ(*copy.shared, 16u);
  EXPECT_EQ(copy.shared_bytes, 48u);
}

TEST(Trace, WhichStoresAreUnderWayAtAProduct) {
  Bytes shared(8192);
  std::vector<uint32_t> in(4 * 128), out(5 * 128);
  WgmmaKernel wgmma{.shared_bytes = 8192, .in = 4, .out = 4};
  const std::string product = fence_line + "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + q_list(0, 4) + ", " +
                              std::to_string(descriptor(1024, 16, 512, 64)) + ", " +
                              std::to_string(descriptor(6144, 128, 256, 0)) + ", %p9, 1, 1, 0, 1;\n" + commit_line +
                              wait_line(0);
  wgmma.lines = product +
                "setp.ne.u32 %p1, %r1, 0;\n@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%d6+2048], [0], 16;\n"
                "@!%p1 cp.async.bulk.commit_group;\n" +
                product + "@!%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n" + product;
  Trace trace(0, 8);
  const Ran ran =
      clean(run(wgmma.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 8192, .trace = &trace}, shared, in, out));
  std::vector<uint32_t> under_way;
  for (const TracedInstruction& each : traced(ran, trace, "wgmma"))
    under_way.push_back(each.requests.at(0).stores_under_way);
  EXPECT_EQ(under_way, (std::vector<uint32_t>{0, 1, 0}));
}

// --- events ---

// Warp 0 fills a slot of shared memory and arrives, warp 1 waits.
constexpr const char* ring =
    "ld.param.u64 %d1, [p0];\n.shared .align 8 .b64 full;\n.shared .align 4 .b32 slot;\nmov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared::cta.b64 [full], 1;\nbar.sync 0;\nsetp.lt.u32 %p2, %r1, 32;\n"
    "@%p2 bra fill;\nagain: mbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra again;\n"
    "ld.shared.u32 %r2, [slot];\nbra end;\nfill: @%p1 st.shared.u32 [slot], %r1;\n"
    "@%p1 mbarrier.arrive.shared::cta.b64 %d5, [full];\nend: ret;\n";

std::string told(const std::vector<Event>& events) {
  std::string text;
  for (const Event& each : events) {
    text += name(each.kind);
    if (each.agent != Event::nobody) text += " " + std::to_string(each.agent);
    if (each.cause != Event::none) text += " by " + std::to_string(each.cause);
    text += "; ";
  }
  return text;
}

TEST(Events, AnArrivalEndsAWait) {
  std::array<uint32_t, 1> none{};
  Events events({});
  clean(run(kernel(ring), {.block = {64, 1, 1}, .events = &events}, none));
  EXPECT_EQ(told(events.kept()),
            "mbarrier_init 0; barrier_arrive 0; barrier_arrive 1; barrier_complete by 2; mbarrier_wait 1; "
            "mbarrier_arrive 0; mbarrier_complete by 5; exit 0; mbarrier_pass 1 by 6; exit 1; ");
}

TEST(Events, WithoutAnArrivalItIsADeadlock) {
  std::array<uint32_t, 1> none{};
  Events events({.without = 5});
  const Ran ran = run(kernel(ring), {.block = {64, 1, 1}, .events = &events}, none);
  EXPECT_TRUE(ran.given_up);
  EXPECT_EQ(told(events.kept()),
            "mbarrier_init 0; barrier_arrive 0; barrier_arrive 1; barrier_complete by 2; mbarrier_wait 1; left_out 0; "
            "exit 0; ");
}

TEST(Events, OfAnAccessTheLanesAndRegisters) {
  std::array<uint32_t, 32> array{};
  array[5] = 7;
  Events events({.accesses = true});
  events.named.assign(64, {});
  const std::string body = std::string(thread_address) + "ld.global.u32 %r2, [%d2];\n";
  const Ran ran = run(kernel(body), {.events = &events}, array);
  ASSERT_EQ(told(events.kept()), "access 0; exit 0; ");
  const Event::Access access = *events.kept()[0].access;
  EXPECT_EQ(access.lanes.address[5], reinterpret_cast<uint64_t>(&array[5]));
  EXPECT_FALSE(access.shared);
}

TEST(Events, ARaceTellsTheClocksOfBothSides) {
  std::array<uint32_t, 1> none{};
  const std::string body =
      ".shared .align 4 .b32 word;\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nsetp.eq.u32 %p1, %r2, 0;\n"
      "bar.sync 0;\n@%p1 st.shared.u32 [word], %r1;\n";
  const Ran ran = run(kernel(body), {.block = {64, 1, 1}}, none);
  ASSERT_EQ(ran.count(Finding::race), 1) << ran.text();
  const Unordered unordered = *ran.reports.front().unordered;
  EXPECT_EQ(unordered.first.agent, 1u);  // which ends the barrier, and goes on
  EXPECT_EQ(unordered.second.agent, 0u);
  EXPECT_LT(unordered.seen.at(1), unordered.first.stamp);         // the second does not know of the first
  EXPECT_LT(unordered.first_seen.at(0), unordered.second.stamp);  // nor the first of the second
  EXPECT_LT(unordered.first_learnt, unordered.first.stamp);  // at the barrier: it is the clock that it had at its store
}

// The second warp stores, and comes to a barrier with the third before the first one stores.
TEST(Events, AClockThatHasGrownSinceSaysSo) {
  std::array<uint32_t, 1> none{};
  const std::string body =
      ".shared .align 4 .b32 word;\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 32;\nsetp.lt.u32 %p2, %r1, 32;\n"
      "setp.eq.u32 %p3, %r1, 0;\n@%p1 st.shared.u32 [word], %r1;\n@%p2 bra first;\nbar.sync 1, 64;\n"
      "bar.arrive 2, 96;\nbra end;\nfirst:\nbar.sync 3, 32;\n@%p3 st.shared.u32 [word], %r1;\nbar.sync 2, 96;\nend:\n";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Events events({});
    const Ran ran = run(kernel(body), {.block = {96, 1, 1}, .seed = seed, .events = &events}, none);
    ASSERT_EQ(ran.count(Finding::race), 1) << ran.text();
    const Unordered two = *ran.reports.front().unordered;
    ASSERT_TRUE(two.is_within_a_cluster());
    EXPECT_LT(SyncClock::of(two.seen, two.first.agent), two.first.stamp) << seed;
    EXPECT_LT(SyncClock::of(two.first_seen, two.second.agent), two.second.stamp) << seed;
    ASSERT_EQ(events.unordered.size(), 1u);
    EXPECT_EQ(events.unordered.front().two.first.stamp, two.first.stamp);
    EXPECT_LE(events.unordered.front().after, events.count());
  }
}

}  // namespace
}  // namespace sim::testing::test_trace
