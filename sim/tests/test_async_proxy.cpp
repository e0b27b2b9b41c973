// What the async proxy does on its own, as the instructions that start it use it: what is reported of its reads and
// writes, and what makes them known.
#include "core/machine/cluster.h"
#include "machine.h"

namespace sim::testing::test_async_proxy {
namespace {

// Two blocks of two warps with 4096 bytes of shared memory; what happens is said warp by warp.
class AsyncProxyTest : public ::testing::Test {
 protected:
  AsyncProxyTest()
      : module_(ptx::parse(kernel(".shared .align 16 .b8 tile[4096];\nmov.u32 %r1, tile;\nmov.u32 %r1, 1;\nmov.u32 "
                                  "%r1, 2;\nmov.u32 %r1, 3;\n"))),
        program_(decode(module_, module_.kernels.at(0), [](const std::string&) -> uint64_t { return 0; })),
        launch_{.program = program_,
                .grid = {2, 1, 1},
                .block = {64, 1, 1},
                .dynamic_shared_bytes = 0,
                .parameters = {},
                .allocations = allocations_,
                .reports = reports_,
                .options = {},
                .cluster = {2, 1, 1}},
        cluster_(launch_) {
    cluster_.start(0);
    for (uint32_t rank : {0u, 1u}) {
      for (uint32_t index : {0u, 1u}) {
        warp(rank, index).pc = 1;
        warp(rank, index).exec = all_lanes;
      }
    }
  }

  Block& block(uint32_t rank) { return *cluster_.blocks()[rank]; }
  Warp& warp(uint32_t rank, uint32_t index) { return block(rank).warps()[index]; }
  // A generic access to 128 bytes.
  void touch(Touch what, Warp& by, Block& owner, uint32_t address) {
    Lanes lanes{.mask = all_lanes, .bytes = 4, .address = {}};
    for (uint32_t lane = 0; lane < warp_size; ++lane) lanes.address[lane] = address + 4 * lane;
    Pattern pattern;
    pattern.learn_shared(lanes, what == Touch::write);
    owner.shadow.touch(what, by.agent, by.here(), lanes, pattern,
                       [&](const Objection& objection) { found_.push_back(objection.what); });
  }
  void all_meet() {
    SyncClock clock;
    for (uint32_t rank : {0u, 1u}) {
      for (Warp& warp : block(rank).warps()) cluster_.clocks.release(warp.agent, clock);
    }
    for (uint32_t rank : {0u, 1u}) {
      for (Warp& warp : block(rank).warps()) {
        cluster_.clocks.acquire(warp.agent, clock);
        cluster_.clocks.warp_met(warp.agent);
      }
    }
  }
  int count(Finding kind) {
    int found = 0;
    for (const Report& report : reports_.all()) found += report.kind == kind;
    return found;
  }
  std::string text() {
    std::string all;
    for (const Report& report : reports_.all()) all += report.message + "\n";
    return all;
  }

  ptx::Module module_;
  Program program_;
  Allocations allocations_;
  Reports reports_;
  Launch launch_;
  Cluster cluster_;
  std::vector<Objection::What> found_;  // by generic accesses
};

using What = Objection::What;

TEST_F(AsyncProxyTest, AWriteThatAnMbarrierCompletes) {
  Mbarriers& mbarriers = block(0).mbarriers;
  mbarriers.init(warp(0, 0), 0, 2048, 1);
  all_meet();
  Mbarrier* const mbarrier = mbarriers.used(warp(0, 0), 0, 2048);
  mbarriers.expect_bytes(warp(0, 0), 0, *mbarrier, 128);
  mbarriers.arrive(warp(0, 0), 0, *mbarrier, 1, true, false);
  int moved = 0;
  cluster_.async.issue(
      warp(0, 0), 0, {.writes = {{&block(0), {0, 128}}}, .signal = {{&block(0), 2048, 128}}, .move = [&] { ++moved; }});
  EXPECT_FALSE(mbarrier->is_complete(0));
  touch(Touch::read, warp(0, 1), block(0), 0);
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front(), What::async_under_way);
  found_.clear();
  EXPECT_TRUE(cluster_.async.land_oldest());
  EXPECT_FALSE(cluster_.async.land_oldest());
  EXPECT_EQ(moved, 1);
  EXPECT_TRUE(mbarrier->is_complete(0));
  touch(Touch::read, warp(0, 1), block(0), 0);  // it is there, but nobody has told this warp
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front(), What::read_of_write);
  found_.clear();
  cluster_.clocks.wait(warp(0, 1).agent, mbarrier->completed, true);
  touch(Touch::read, warp(0, 1), block(0), 0);
  EXPECT_TRUE(found_.empty());
  EXPECT_TRUE(reports_.empty()) << text();
}

TEST_F(AsyncProxyTest, AReadNeedsAFenceOfTheWriterOrTheReader) {
  touch(Touch::write, warp(0, 1), block(0), 0);
  all_meet();
  const auto read = [&](uint32_t site) {
    warp(0, 0).pc = site + 1;  // reports are made once for each pair of places
    cluster_.async.issue(warp(0, 0), 0, {.reads = {{&block(0), {0, 128}}}, .move = [] {}});
    cluster_.async.commit(warp(0, 0), 0, AsyncKind::bulk);
    cluster_.async.wait(warp(0, 0), 0, AsyncKind::bulk, 0);
  };
  read(0);
  EXPECT_EQ(count(Finding::unfenced), 1) << text();
  reports_.clear();
  touch(Touch::write, warp(0, 1), block(0), 0);
  cluster_.clocks.fence_proxy(warp(0, 1).agent, 1);  // by one of the lanes that wrote, which knows of no other's write
  all_meet();
  read(2);
  EXPECT_EQ(count(Finding::unfenced), 1) << text();
  reports_.clear();
  cluster_.clocks.fence_proxy(warp(0, 1).agent);  // of which the reader does not know
  read(3);
  EXPECT_EQ(count(Finding::unfenced), 1) << text();
  reports_.clear();
  all_meet();
  read(1);
  EXPECT_TRUE(reports_.empty()) << text();
  touch(Touch::write, warp(0, 1), block(0), 0);
  cluster_.clocks.fence_proxy(warp(0, 0).agent);  // by the one that reads, before it has been told of the write
  all_meet();
  read(4);
  EXPECT_EQ(count(Finding::unfenced), 1) << text();
  reports_.clear();
  cluster_.clocks.fence_proxy(warp(0, 0).agent);  // and after it has
  read(1);
  EXPECT_TRUE(reports_.empty()) << text();
}

TEST_F(AsyncProxyTest, NothingIsWrittenWhileItIsRead) {
  touch(Touch::write, warp(0, 0), block(0), 0);
  cluster_.clocks.fence_proxy(warp(0, 0).agent);
  all_meet();
  for (int i = 0; i < 2; ++i) {
    cluster_.async.issue(warp(0, 0), 0, {.reads = {{&block(0), {0, 128}}}, .kind = AsyncKind::wgmma, .move = [] {}});
    cluster_.async.commit(warp(0, 0), 0, AsyncKind::wgmma);
  }
  EXPECT_TRUE(reports_.empty()) << text();
  touch(Touch::read, warp(0, 1), block(0), 0);
  EXPECT_TRUE(found_.empty());
  cluster_.async.wait(warp(0, 0), 0, AsyncKind::wgmma, 1);  // one of two
  touch(Touch::write, warp(0, 0), block(0), 0);
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front(), What::reads_under_way);
  found_.clear();
  cluster_.async.wait(warp(0, 0), 0, AsyncKind::wgmma, 0);
  touch(Touch::write, warp(0, 1), block(0), 0);  // by a warp that does not know that the reads have ended
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front(), What::write_of_read);
  found_.clear();
  all_meet();
  touch(Touch::write, warp(0, 1), block(0), 0);
  EXPECT_TRUE(found_.empty());
}

TEST_F(AsyncProxyTest, ABlockThatEndsTooEarly) {
  touch(Touch::write, warp(0, 0), block(0), 0);
  cluster_.clocks.fence_proxy(warp(0, 0).agent);
  all_meet();
  cluster_.async.issue(warp(0, 0), 0, {.reads = {{&block(0), {0, 128}}}, .move = [] {}});
  block(1).end_warp(warp(1, 0));
  block(1).end_warp(warp(1, 1));
  EXPECT_TRUE(reports_.empty()) << text();
  block(0).end_warp(warp(0, 0));
  block(0).end_warp(warp(0, 1));
  EXPECT_EQ(count(Finding::exited_block), 1) << text();
}

TEST_F(AsyncProxyTest, AMulticastWrite) {
  for (uint32_t rank : {0u, 1u}) block(rank).mbarriers.init(warp(rank, 0), 0, 2048, 1);
  all_meet();
  for (uint32_t rank : {0u, 1u}) {
    cluster_.async.issue(warp(0, 0), 0,
                         {.writes = {{&block(rank), {0, 128}}}, .signal = {{&block(rank), 2048, 128}}, .move = [] {}});
  }
  EXPECT_TRUE(cluster_.async.land_oldest());
  EXPECT_EQ(block(0).mbarriers.find(2048)->bytes, 128);
  EXPECT_EQ(block(1).mbarriers.find(2048)->bytes, 0);
  touch(Touch::read, warp(1, 0), block(1), 0);
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front(), What::async_under_way);
  EXPECT_TRUE(cluster_.async.land_oldest());
  EXPECT_EQ(block(1).mbarriers.find(2048)->bytes, 128);
}

// Products add to the same registers: whatever the lot says, they keep their order.
TEST_F(AsyncProxyTest, ProductsOfAWarpLandInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    cluster_.async.issue(warp(0, 0), 0, {.kind = AsyncKind::wgmma, .move = [&order, i] { order.push_back(i); }});
    cluster_.async.commit(warp(0, 0), 0, AsyncKind::wgmma);
  }
  Random random(1);
  cluster_.async.land_by_lot(random);
  EXPECT_LT(order.size(), 20u);
  cluster_.async.wait(warp(0, 0), 0, AsyncKind::wgmma, 0);
  EXPECT_EQ(order.size(), 20u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// A multicast block that waited for its own mbarrier may end: it knows of what the other block's thread did there.
TEST_F(AsyncProxyTest, ABlockThatWaitedMayEnd) {
  block(1).mbarriers.init(warp(1, 0), 0, 2048, 1);
  all_meet();
  Mbarrier* const mbarrier = block(1).mbarriers.used(warp(1, 0), 0, 2048);
  block(1).mbarriers.expect_bytes(warp(1, 0), 0, *mbarrier, 128);
  block(1).mbarriers.arrive(warp(1, 0), 0, *mbarrier, 1, true, false);
  cluster_.async.issue(warp(0, 0), 0,
                       {.writes = {{&block(1), {0, 128}}}, .signal = {{&block(1), 2048, 128}}, .move = [] {}});
  EXPECT_TRUE(cluster_.async.land_oldest());
  cluster_.clocks.wait(warp(1, 1).agent, mbarrier->completed, true);
  block(1).end_warp(warp(1, 0));
  block(1).end_warp(warp(1, 1));
  EXPECT_TRUE(reports_.empty()) << text();
}

}  // namespace
}  // namespace sim::testing::test_async_proxy
