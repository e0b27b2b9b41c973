// Bulk copies of one dimension, and copies that reach other blocks of a cluster.
#include "core/asynchronous/tensor_map.h"
#include "machine.h"

namespace sim::testing::test_bulk_copy {
namespace {

using Words = std::vector<uint32_t>;

// A sector of global memory.
struct alignas(32) Sector {
  uint32_t at[8];
};
using Sectors = std::vector<Sector>;

Sectors numbered(uint32_t count) {
  Sectors values(count);
  for (uint32_t i = 0; i < 8 * count; ++i) values[i / 8].at[i % 8] = i + 1;
  return values;
}

uint32_t word(const Sectors& values, uint32_t i) { return values[i / 8].at[i % 8]; }

// 32 threads of each block. %d1 the source, %d2 the destination at this block's 256 bytes of it, %r1 the thread, %r2
// its word of `tile`, %r20 the block's rank; %p1: not thread 0.
const std::string start =
    ".shared .align 128 .b8 tile[512];\n.shared .align 8 .b64 full;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r20, %cluster_ctarank;\nmul.wide.u32 %d4, %r20, 256;\nadd.u64 %d2, %d2, %d4;\n"
    "setp.ne.u32 %p1, %r1, 0;\nmov.u32 %r3, tile;\nshl.b32 %r2, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
    "mul.wide.u32 %d5, %r1, 4;\nadd.u64 %d3, %d2, %d5;\n@%p1 bra ready;\nmbarrier.init.shared::cta.b64 [full], 1;\n"
    "fence.mbarrier_init.release.cluster;\nready:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n";
const std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 128;\n";
const std::string wait = "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra wait;\n";
const std::string keep = "ld.shared.u32 %r8, [%r2];\nst.global.u32 [%d3], %r8;\n";
const std::string meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
const std::string fill =
    "add.u32 %r9, %r1, 1000;\nst.shared.u32 [%r2], %r9;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
const std::string groups = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

// Thread 0 does `issue`, then all do `then`.
std::string by_one(const std::string& issue, const std::string& then) {
  return "@%p1 bra issued;\n" + issue + "issued:\n" + then;
}

struct Result : Ran {
  Sectors out;
};

Result ran(const std::string& body, uint32_t blocks = 1, uint64_t seed = 0) {
  Sectors in = numbered(8), out(8 * blocks);
  LaunchShape shape{.grid = {blocks, 1, 1}, .seed = seed};
  shape.cluster = {blocks, 1, 1};
  Ran found = run(kernel(start + body, 2), shape, in, out);
  return {std::move(found), std::move(out)};
}

TEST(BulkCopy, LoadsAndStores) {
  const std::string load =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1+16], 128, [full];\n";
  const std::string store = "cp.async.bulk.global.shared::cta.bulk_group [%d2], [tile], 128;\n";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Result loaded = clean(ran(by_one(expect + load, wait + keep), 1, seed));
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(word(loaded.out, i), i + 5);
    EXPECT_EQ(loaded.total().bulk_requests, 1u);
    EXPECT_EQ(loaded.total().bulk_bytes, 128u);
    EXPECT_EQ(loaded.total().bulk_sectors, 5u);  // from the middle of one

    const Result stored = clean(ran(fill + by_one(store + groups, ""), 1, seed));
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(word(stored.out, i), 1000 + i);

    const Result added = clean(
        ran(fill + "st.global.u32 [%d3], 7;\nbar.sync 0;\n" +
                by_one("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d2], [tile], 64;\n" + groups, ""),
            1, seed));
    EXPECT_EQ(word(added.out, 15), 1022u);
    EXPECT_EQ(word(added.out, 16), 7u);
  }
}

TEST(BulkCopy, ReachesAnotherBlock) {
  // Each block sends its tile to the upper half of the next block's.
  const std::string send =
      "add.u32 %r21, %r20, 1;\nand.b32 %r21, %r21, 1;\nadd.u32 %r22, %r3, 256;\nmapa.shared::cluster.u32 %r22, %r22, "
      "%r21;\nmov.u32 %r23, full;\nmapa.shared::cluster.u32 %r23, %r23, %r21;\n" +
      expect + "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22], [tile], 128, [%r23];\n";
  const std::string own_number =
      "mad.lo.u32 %r9, %r20, 100, %r1;\nst.shared.u32 [%r2], %r9;\nfence.proxy.async;\nbar.sync 0;\n";
  const std::string keep_upper = "ld.shared.u32 %r8, [%r2+256];\nst.global.u32 [%d3], %r8;\n";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Result sent = clean(ran(own_number + by_one(send, wait + keep_upper + meet), 2, seed));
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(word(sent.out, i), 100 + i);
      EXPECT_EQ(word(sent.out, 64 + i), i);
    }
    const Result early = ran(own_number + by_one(send, keep_upper + wait + meet), 2, seed);
    EXPECT_GE(early.reports.size(), 1u);
  }
}

TEST(BulkCopy, OneLoadForSeveralBlocks) {
  const std::string load =
      "setp.ne.u32 %p4, %r20, 0;\n@%p4 bra issued;\nmov.b16 %h1, 5;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%d1], 128, "
      "[full], %h1;\n";
  const std::string receives = "setp.eq.u32 %p5, %r20, 1;\n@%p5 bra over;\n";  // blocks 0 and 2 of three
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Result loaded = clean(ran(receives + by_one(expect + load, wait + keep) + "over:\n" + meet, 3, seed));
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(word(loaded.out, i), i + 1);
      EXPECT_EQ(word(loaded.out, 64 + i), 0u);
      EXPECT_EQ(word(loaded.out, 128 + i), i + 1);
    }
    const Tally total = loaded.total();
    EXPECT_EQ(total.bulk_requests, 1u);
    EXPECT_EQ(total.bulk_bytes, 128u);
    EXPECT_EQ(total.bulk_delivered, 256u);
    EXPECT_EQ(total.bulk_saved, 128u);
    // A block that receives and does not say how much: its count never balances.
    const std::string of_first = "setp.ne.u32 %p4, %r20, 0;\n@%p4 bra silent;\n" + expect + "silent:\n";
    EXPECT_GE(ran(receives + by_one(of_first + load, wait + keep) + "over:\n" + meet, 3, seed).reports.size(), 1u);
  }
}

TEST(BulkCopyChecks, WhatTheHardwareTrapsAt) {
  const auto load = [](const std::string& operands) {
    return by_one(expect + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " + operands + ";\n",
                  wait + keep);
  };
  const struct {
    std::string body;
    Finding finding;
    const char* says;
  } mistakes[] = {
      {load("[tile], [%d1], 120, [full]"), Finding::misaligned, "120 bytes: a multiple of 16"},
      {load("[tile], [%d1+8], 128, [full]"), Finding::misaligned, "the global address is no multiple of 16"},
      {load("[tile+8], [%d1], 128, [full]"), Finding::misaligned, "no multiple of 16"},
      {load("[tile+480], [%d1], 128, [full]"), Finding::out_of_bounds, "has 128 bytes, which no block"},
      {load("[tile], [%d1+192], 128, [full]"), Finding::out_of_bounds, "reads 128 bytes at global address"},
      {load("[tile], [%d1], 128, [full+8]"), Finding::out_of_bounds, "the mbarrier"},
      {load("[tile], [%d1], 128, [tile+256]"), Finding::mbarrier, "nothing has initialised one"},
      {by_one("mov.b16 %h1, 6;\n" + expect +
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%d1], "
                  "128, [full], %h1;\n",
              wait),
       Finding::out_of_bounds, "block 1 of a cluster of 1"},
      {fill + by_one("cp.async.bulk.global.shared::cta.bulk_group [%d2+192], [tile], 128;\n" + groups, ""),
       Finding::out_of_bounds, "writes 128 bytes at global address"},
  };
  for (const auto& mistake : mistakes) {
    const Result result = ran(mistake.body);
    EXPECT_EQ(result.count(mistake.finding), 1) << result.text() << mistake.body;
    EXPECT_EQ(result.reports.size(), 1u) << result.text() << mistake.body;
    EXPECT_NE(result.text().find(mistake.says), std::string::npos) << result.text();
  }
}

TEST(BulkCopyChecks, TheTableIsStrict) {
  for (const char* instruction : {"cp.async.bulk.global.shared::cta [%d1], [%r1], 16;",
                                  "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%d1], [%r1], 16;",
                                  "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%d1], [%r1], 16;",
                                  "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add."
                                  "f32 [%r1], [%r2], 16, [%r3];",
                                  "cp.async.bulk.shared::cluster.shared::cta.bulk_group [%r1], [%r2], 16;"}) {
    const std::string why = refusal(kernel(std::string(instruction) + "\n"));
    EXPECT_NE(why.find("does not know this instruction"), std::string::npos) << instruction << ": " << why;
  }
}

}  // namespace
}  // namespace sim::testing::test_bulk_copy
