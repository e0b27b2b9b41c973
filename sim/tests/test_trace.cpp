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

// Of a sparse A, the stored half. PTX ISA, "Matrix Fragments for sparse mma.m16n8k32 with .f16 and .bf16 types".
TEST(Trace, SaysWhichStoredElementsALaneHolds) {
  using Elements = std::vector<TracedFragment::Element>;
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const Ran ran = run(kernel("mov.u32 %r1, 0;\nmov.u32 %r2, 0x44444444;\n"
                             "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r1, %r1, %r1, %r1}, "
                             "{%r1, %r1, %r1, %r1}, {%r1, %r1}, %r2, 1;\n"),
                      {.trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
  const auto products = traced(ran, trace, "mma");
  ASSERT_EQ(products.size(), 1u);
  EXPECT_EQ(products[0].fragments,
            (std::map<std::string, std::string>{
                {"a", "mma.sp.m16n8k16.a.16"}, {"b", "mma.sp.m16n8k32.b.16"}, {"c", "mma.sp.m16n8k32.c.16"}}));
  const TracedFragment& a = trace.fragments().at("mma.sp.m16n8k16.a.16");
  EXPECT_EQ(a.cols, 16u);
  EXPECT_EQ(a.elements[5], (Elements{{1, 2}, {1, 3}, {9, 2}, {9, 3}, {1, 10}, {1, 11}, {9, 10}, {9, 11}}));
  EXPECT_EQ(trace.fragments().at("mma.sp.m16n8k32.b.16").elements[5],
            (Elements{{2, 1}, {3, 1}, {10, 1}, {11, 1}, {18, 1}, {19, 1}, {26, 1}, {27, 1}}));
}

// PTX ISA, "Matrix Fragments for mma.m16n8k256": 32 neighbouring bits in each register.
TEST(Trace, SaysWhichBitsALaneHolds) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const Ran ran = run(kernel("mov.u32 %r1, 0;\nmma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r2, %r3, "
                             "%r4, %r5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r1};\n"),
                      {.trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
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

// PTX ISA, "Matrix Fragments for mma.m16n8k64": eight neighbouring integers of 4 bits in each register.
TEST(Trace, SaysWhichIntegersALaneHolds) {
  std::array<uint32_t, 32> array{};
  Trace trace(0, 8);
  const Ran ran = run(kernel("mov.u32 %r1, 0;\nmma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%r2, %r3, %r4, %r5}, "
                             "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r1};\n"
                             "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1, %g2}, {%g3}, {%g3}, {%g3, %g3};\n"),
                      {.trace = &trace}, array);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
  const TracedFragment &a = trace.fragments().at("mma.m16n8k64.a.4"), &b = trace.fragments().at("mma.m16n8k64.b.4");
  EXPECT_EQ(a.cols, 64u);
  EXPECT_EQ(b.rows, 64u);
  ASSERT_EQ(a.elements[5].size(), 32u);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(a.elements[5][i], (TracedFragment::Element{i / 8 % 2 == 0 ? 1 : 9, 8 + i % 8 + i / 16 * 32}));
  }
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(b.elements[5][i], (TracedFragment::Element{8 + i % 8 + i / 8 * 32, 1}));
  EXPECT_EQ(trace.fragments().at("mma.m8n8k4.a.64").elements[5], (std::vector<TracedFragment::Element>{{1, 1}}));
  EXPECT_EQ(trace.fragments().at("mma.m8n8k4.c.64").elements[5],
            (std::vector<TracedFragment::Element>{{1, 2}, {1, 3}}));
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
  const Ran ran = run(kernel(body, 2), {.trace = &trace}, maps, tensor);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
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
  const Ran ran = run(kernel(body, 2), {.trace = &trace}, maps, tensor);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
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

// A K-major with a 64-byte swizzle, of which warp 1 reads rows 16 to 31; B MN-major without one, two core matrices
// apart.
TEST(Trace, WhatWgmmaReads) {
  Bytes shared(8192);
  std::vector<uint32_t> in(4 * 128), out(4 * 128);
  const uint64_t a = descriptor(1024, 16, 512, 64), b = descriptor(6144, 128, 256, 0);
  WgmmaKernel wgmma{.shared_bytes = 8192, .in = 4, .out = 4};
  wgmma.lines = fence_line + "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + q_list(0, 4) + ", " +
                std::to_string(a) + ", " + std::to_string(b) + ", %p9, 1, 1, 0, 1;\n" + commit_line + wait_line(0);
  for (const uint32_t warp : {0u, 1u}) {
    Trace trace(warp, 8);
    const Ran ran =
        run(wgmma.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 8192, .trace = &trace}, shared, in, out);
    ASSERT_TRUE(ran.reports.empty()) << ran.text();
    const auto products = traced(ran, trace, "wgmma");
    ASSERT_EQ(products.size(), 1u);  // neither the fence nor the wait
    const auto& operands = products[0].requests.at(0).operands;
    const TracedOperand &of_a = operands.at("a"), &of_b = operands.at("b");
    EXPECT_EQ(of_a.descriptor, a);
    EXPECT_EQ(of_a.start, 1024u);
    EXPECT_EQ(of_a.stride, 512u);
    EXPECT_EQ(of_a.swizzle, 64u);
    EXPECT_TRUE(of_a.k_major);
    EXPECT_EQ(of_a.first_line, 16 * warp);
    EXPECT_EQ(of_a.lines, 16u);
    // 32 of the 64 bytes of each row: which half, the swizzle says. Pairs of rows whose halves meet are one span.
    const uint32_t first = 1024 + 1024 * warp;
    std::vector<std::pair<uint32_t, uint32_t>> wanted;
    for (uint32_t row = 0; row < 16; ++row) {
      const uint32_t from = first + 64 * row + 32 * (row % 8 / 4);
      if (!wanted.empty() && wanted.back().first + wanted.back().second == from)
        wanted.back().second += 32;
      else
        wanted.emplace_back(from, 32);
    }
    EXPECT_EQ(of_a.spans, wanted);
    EXPECT_FALSE(of_b.k_major);
    EXPECT_EQ(of_b.lines, 8u);
    EXPECT_EQ(of_b.spans, (std::vector<std::pair<uint32_t, uint32_t>>{{6144, 256}}));
  }
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
      run(wgmma.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 8192, .trace = &trace}, shared, in, out);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
  std::vector<uint32_t> under_way;
  for (const TracedInstruction& each : traced(ran, trace, "wgmma"))
    under_way.push_back(each.requests.at(0).stores_under_way);
  EXPECT_EQ(under_way, (std::vector<uint32_t>{0, 1, 0}));
}

// --- events ---

// Warp 0 fills a slot of shared memory and arrives, warp 1 waits.
constexpr const char* ring =
    "ld.param.u64 %d1, [p0];\n.shared .align 8 .b64 full;\n.shared .align 4 .b32 slot;\nmov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared::cta.b64 [full], 1;\nbar.sync 0;\n"
    "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra fill;\n"
    "again: mbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra again;\n"
    "ld.shared.u32 %r2, [slot];\nbra end;\n"
    "fill: @%p1 st.shared.u32 [slot], %r1;\n@%p1 mbarrier.arrive.shared::cta.b64 %d5, [full];\nend: ret;\n";

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
  const Ran ran = run(kernel(ring), {.block = {64, 1, 1}, .events = &events}, none);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
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
  const Event::Access& access = *events.kept()[0].access;
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
  EXPECT_LT(unordered.seen.at(1), unordered.first.stamp);  // the second does not know of the first
}

}  // namespace
}  // namespace sim::testing::test_trace
