// The ring that every Hopper kernel turns: a producer fills slots by TMA, consumers empty them, mbarriers say which is
// full and which is empty. Alone, and with the tiles shared between the two blocks of a cluster.
#include <optional>

#include "stored_map.h"

namespace sim::testing::test_tma_rings {
namespace {

using Words = std::vector<uint32_t>;

constexpr uint32_t tiles = 7, slots = 2;
constexpr uint32_t columns = 16, rows_per_tile = 8;  // of 32 bits: rows of 64 bytes, tiles of 512

// What a lane of the consumer computes from its four words of every tile, so that an order would show.
uint32_t expected(uint32_t lane) {
  uint32_t sum = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    for (uint32_t i = 0; i < 4; ++i) sum = 3 * sum + (tile * columns * rows_per_tile + 4 * lane + i + 1);
  }
  return sum;
}

// The parts of the kernel that a mistake changes.
struct Ring {
  std::string wait_for_empty =
      "empty:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r12], %r14;\n@!%p3 bra empty;\n";
  std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], 512;\n";
  std::string wait_for_full = "full:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r13], %r15;\n@!%p3 bra full;\n";
  std::string read = "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r17];\n";
  std::string release = "bar.warp.sync -1;\n@!%p4 mbarrier.arrive.shared::cta.b64 %d9, [%r12];\n";
  std::string end;
  uint32_t consumers = 1;  // arrivals that empty a slot
  uint32_t blocks = 1;
};

// Warp 0's first lane produces, warp 1 consumes. %r10 the tile's number, %r11 its slot; %r12 and %r13 the mbarriers
// `empty` and `full` of the slot, %r14 and %r15 their parities; %r16 the slot's address; %p4: not lane 0.
std::string kernel_of(const Ring& ring) {
  const bool shared_tiles = ring.blocks == 2;
  // With two blocks each loads its half of the tile's rows for both.
  const std::string load =
      shared_tiles
          ? "mov.u32 %r5, %cluster_ctarank;\nshl.b32 %r6, %r5, 2;\nadd.u32 %r7, %r7, %r6;\nshl.b32 %r6, %r5, 8;\n"
            "add.u32 %r8, %r16, %r6;\nmov.b16 %h1, 3;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
            "complete_tx::bytes.multicast::cluster [%r8], [%d1, {0, %r7}], [%r13], %h1;\n"
          : "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r16], [%d1, {0, %r7}], "
            "[%r13];\n";
  const std::string slot =
      "and.b32 %r11, %r10, 1;\nshl.b32 %r12, %r11, 3;\nmov.u32 %r18, empty_full;\nadd.u32 %r12, %r12, %r18;\n"
      "add.u32 %r13, %r12, 16;\nshr.u32 %r15, %r10, 1;\nand.b32 %r15, %r15, 1;\nxor.b32 %r14, %r15, 1;\n"
      "shl.b32 %r16, %r11, 9;\nmov.u32 %r18, tile;\nadd.u32 %r16, %r16, %r18;\n";
  const std::string next = "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p5, %r10, " + std::to_string(tiles) + ";\n";
  return kernel(
      ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 empty_full[4];\nld.param.u64 %d1, [p0];\n"
      "ld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nsetp.ne.u32 %p1, %r1, 0;\n"
      "setp.ne.u32 %p4, %r2, 0;\nsetp.ge.u32 %p2, %r1, 32;\nmov.u32 %r10, 0;\n@%p1 bra ready;\n"
      "mbarrier.init.shared::cta.b64 [empty_full], " +
          std::to_string(ring.consumers) + ";\nmbarrier.init.shared::cta.b64 [empty_full+8], " +
          std::to_string(ring.consumers) +
          ";\nmbarrier.init.shared::cta.b64 [empty_full+16], 1;\nmbarrier.init.shared::cta.b64 [empty_full+24], 1;\n"
          "fence.mbarrier_init.release.cluster;\nready:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
          "@%p2 bra consume;\n@%p1 bra end;\nproduce:\n" +
          slot + ring.wait_for_empty + ring.expect + "shl.b32 %r7, %r10, 3;\n" + load + next +
          "@%p5 bra produce;\nbra end;\nconsume:\nmov.u32 %r19, 0;\nmore:\n" + slot +
          "shl.b32 %r17, %r2, 4;\nadd.u32 %r17, %r17, %r16;\n" + ring.wait_for_full + ring.read +
          "mad.lo.u32 %r19, %r19, 3, %r20;\nmad.lo.u32 %r19, %r19, 3, %r21;\nmad.lo.u32 %r19, %r19, 3, %r22;\n"
          "mad.lo.u32 %r19, %r19, 3, %r23;\n" +
          ring.release + next +
          "@%p5 bra more;\nmov.u32 %r5, %ctaid.x;\nshl.b32 %r5, %r5, 5;\nadd.u32 %r5, %r5, %r2;\n"
          "mul.wide.u32 %d3, %r5, 4;\nadd.u64 %d2, %d2, %d3;\nst.global.u32 [%d2], %r19;\nend:\n" +
          ring.end,
      2);
}

Result ran(const Ring& ring, uint64_t seed) {
  constexpr uint32_t rows = tiles * rows_per_tile;
  Tensor<uint32_t> tensor(rows * columns);
  for (uint32_t i = 0; i < rows * columns; ++i) tensor.at(i) = i + 1;
  Maps map = stored({.type = TensorType::u32,
                     .rank = 2,
                     .address = reinterpret_cast<uint64_t>(tensor.data()),
                     .size = {columns, rows},
                     .stride = {64},
                     .box = {columns, rows_per_tile / ring.blocks},
                     .element_stride = {1, 1}});
  Words out(32 * ring.blocks);
  LaunchShape shape{.grid = {ring.blocks, 1, 1}, .block = {64, 1, 1}, .seed = seed};
  shape.cluster = {ring.blocks, 1, 1};
  Ran found = run(kernel_of(ring), shape, map, out, tensor);
  return {std::move(found), std::move(out)};
}

// Two blocks, of which each fills half of every slot of both: a slot is empty when the consumers of both say so.
Ring of_two_blocks() {
  Ring ring;
  ring.blocks = 2;
  ring.consumers = 2;
  ring.wait_for_empty =
      "empty:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r12], %r14;\n@!%p3 bra empty;\n";
  ring.release =
      "bar.warp.sync -1;\nmapa.shared::cluster.u32 %r24, %r12, 0;\nmapa.shared::cluster.u32 %r25, %r12, 1;\n"
      "@!%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24];\n"
      "@!%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r25];\n";
  ring.end = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  return ring;
}

TEST(TmaRing, IsSilentAndRightUnderEverySchedule) {
  for (const Ring& ring : {Ring{}, of_two_blocks()}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const Result result = ran(ring, seed);
      ASSERT_TRUE(result.reports.empty()) << seed << "\n" << result.text();
      for (uint32_t i = 0; i < result.out.size(); ++i) ASSERT_EQ(result.out[i], expected(i % 32)) << seed;
      const Tally total = result.total();
      EXPECT_EQ(total.bulk_requests, tiles * ring.blocks);
      EXPECT_EQ(total.bulk_bytes, tiles * 512u);
      EXPECT_EQ(total.bulk_delivered, tiles * 512u * ring.blocks);
      EXPECT_EQ(total.bulk_saved, tiles * 512u * (ring.blocks - 1));
    }
  }
}

// Every mistake is reported, whatever the schedule.
TEST(TmaRing, ReportsEveryMistake) {
  const auto expect_report = [](const char* what, const Ring& ring, std::optional<Finding> finding = {}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const Result result = ran(ring, seed);
      EXPECT_GE(finding ? result.count(*finding) : static_cast<int>(result.reports.size()), 1)
          << what << " " << seed << "\n"
          << result.text();
    }
  };
  for (const Ring& right : {Ring{}, of_two_blocks()}) {
    Ring ring = right;
    ring.wait_for_empty.clear();
    expect_report("a slot filled before it was released", ring, Finding::mbarrier);

    ring = right;
    ring.wait_for_full.clear();
    expect_report("a slot read before it was full", ring);

    ring = right;
    std::swap(ring.read, ring.release);
    expect_report("a slot released before it was read", ring, Finding::race);

    ring = right;
    ring.wait_for_full.replace(ring.wait_for_full.find("%r15"), 4, "%r14");
    expect_report("the consumer's parity", ring);

    ring = right;
    ring.wait_for_empty.replace(ring.wait_for_empty.find("%r14"), 4, "%r15");
    expect_report("the producer's parity", ring, Finding::wrong_parity);

    ring = right;
    ring.expect = "mbarrier.arrive.shared::cta.b64 %d9, [%r13];\n";
    expect_report("bytes that nobody expects", ring);
  }
  Ring ring = of_two_blocks();
  ring.consumers = 1;
  ring.release = Ring{}.release;
  expect_report("released by the own consumer only", ring, Finding::race);
  ring = of_two_blocks();
  ring.end.clear();
  expect_report("a block that may end while the other still writes into it", ring, Finding::exited_block);
  ring = of_two_blocks();
  ring.expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], 256;\n";
  expect_report("the own half expected only", ring);
}

}  // namespace
}  // namespace sim::testing::test_tma_rings
