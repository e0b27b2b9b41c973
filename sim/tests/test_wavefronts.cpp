// The memory system's counts: the shared-memory rule against what a GPU was measured to do, and figures worked out by
// hand.
#include <map>
#include <set>

#include "core/checks/served_words.h"
#include "recorded_loads.h"

namespace sim::testing::test_wavefronts {
namespace {

Lanes lanes(uint32_t bytes, const AddressOf& address) {
  Lanes lanes{.mask = all_lanes, .bytes = bytes, .address = {}};
  for (uint32_t i = 0; i < 32; ++i) lanes.address[i] = address(i);
  return lanes;
}

TEST(Wavefronts, EveryLoadMeasuredOnTheH200) {
  int rows = 0;
  for (const RecordedLoad& load : recorded_loads("ld.shared")) {  // ldmatrix reads rows, not lanes
    const Wavefronts counted = wavefronts(lanes(load.bytes, address_of(load.address)), false);
    EXPECT_EQ(counted.count, load.wavefronts) << load.address;
    EXPECT_EQ(counted.conflicts, load.conflicts) << load.address;
    ++rows;
  }
  EXPECT_EQ(rows, 33);
}

TEST(Wavefronts, StoresGoInPhasesWithoutMerging) {
  EXPECT_EQ(wavefronts(lanes(4, address_of("4*i")), true).count, 1u);
  EXPECT_EQ(wavefronts(lanes(4, address_of("128*i")), true).count, 32u);
  EXPECT_EQ(wavefronts(lanes(8, address_of("8*i")), true).count, 2u);
  EXPECT_EQ(wavefronts(lanes(16, address_of("16*i")), true).count, 4u);
  EXPECT_EQ(wavefronts(lanes(16, address_of("16*(i//2)")), true).count, 4u);
}

// Lanes that take no part cost nothing; a phase without any is not executed.
TEST(Wavefronts, InactiveLanes) {
  Lanes half = lanes(16, address_of("16*i"));
  half.mask = 0x0000ffff;
  EXPECT_EQ(wavefronts(half, false).count, 2u);
  Lanes one = lanes(4, address_of("128*i"));
  one.mask = 1u << 7;
  EXPECT_EQ(wavefronts(one, false).count, 1u);
  one.mask = 0;
  EXPECT_EQ(wavefronts(one, false).count, 0u);
}

// The wavefronts of an access, of each group in turn, are as many as are counted. Each serves at most one word per
// bank, and together they serve every word that a lane touches, to all lanes that touch it.
void expect_served_once(const Lanes& access, bool store) {
  uint32_t count = 0;
  for (const LaneGroup& group : lane_groups(access, store)) {
    std::map<uint64_t, uint32_t> wanted, served;
    for (uint32_t lane = group.first; lane <= group.last; ++lane) {
      for (uint64_t word = access.address[lane] / 4; word <= (access.address[lane] + access.bytes - 1) / 4; ++word)
        wanted[word] |= (access.mask >> lane & 1) << lane;
    }
    std::erase_if(wanted, [](const auto& each) { return each.second == 0; });
    for (const auto& words : served_words(access, group)) {
      std::set<uint32_t> banks;
      for (const ServedWord& each : words) {
        EXPECT_EQ(each.bank, each.word % 32);
        EXPECT_TRUE(banks.insert(each.bank).second) << "bank " << each.bank << " serves two words at once";
        EXPECT_TRUE(served.emplace(each.word, each.lanes).second) << "word " << each.word << " is served twice";
      }
      EXPECT_FALSE(words.empty());
      ++count;
    }
    EXPECT_EQ(served, wanted);
  }
  EXPECT_EQ(count, wavefronts(access, store).count);
}

TEST(Wavefronts, ServeEachWordOnce) {
  for (const RecordedLoad& load : recorded_loads("ld.shared")) {
    SCOPED_TRACE(load.address);
    expect_served_once(lanes(load.bytes, address_of(load.address)), false);
    expect_served_once(lanes(load.bytes, address_of(load.address)), true);
  }
  Lanes some = lanes(16, address_of("128*i"));
  some.mask = 0x0f0f0101;
  expect_served_once(some, false);
}

TEST(Wavefronts, AColumnIsServedLaneByLane) {
  const Lanes column = lanes(4, address_of("128*i"));
  const std::vector<LaneGroup> groups = lane_groups(column, false);
  ASSERT_EQ(groups.size(), 1u);
  const auto served = served_words(column, groups[0]);
  ASSERT_EQ(served.size(), 32u);
  for (uint32_t pass = 0; pass < 32; ++pass) {
    ASSERT_EQ(served[pass].size(), 1u);
    EXPECT_EQ(served[pass][0].word, 32 * pass);
    EXPECT_EQ(served[pass][0].bank, 0u);
    EXPECT_EQ(served[pass][0].lanes, 1u << pass);
  }
}

TEST(Sectors, AreThirtyTwoBytesEach) {
  EXPECT_EQ(sectors(lanes(4, address_of("4*i"))), 4u);                     // a coalesced row of floats
  EXPECT_EQ(sectors(lanes(4, address_of("0"))), 1u);                       // everyone the same element
  EXPECT_EQ(sectors(lanes(4, address_of("128*i"))), 32u);                  // one element of each of 32 rows
  EXPECT_EQ(sectors(lanes(16, address_of("16*i"))), 16u);                  // a float4 each
  EXPECT_EQ(sectors(lanes(4, [](uint32_t i) { return 4 * i + 4; })), 5u);  // misplaced by one element
}

// A kernel's counts are those of its accesses: one row per warp, then one column.
TEST(Counting, RequestsAndSectorsOfAKernel) {
  alignas(32) std::array<float, 32 * 32> data{};
  alignas(32) std::array<float, 32> out{};
  const Ran ran = run(kernel("ld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
                             "mad.wide.u32 %d3, %r1, 4, %d1;\nld.global.f32 %f1, [%d3];\n"
                             "mad.wide.u32 %d3, %r1, 128, %d1;\nld.global.f32 %f2, [%d3];\n"
                             "mad.wide.u32 %d3, %r1, 4, %d2;\nst.global.f32 [%d3], %f1;\n",
                             2),
                      {}, data, out);
  const auto tally = [&](size_t line) {
    for (size_t i = 0; i < ran.program.sites.size(); ++i) {
      if (ran.program.sites[i].location.line == line) return ran.tallies.of[i];
    }
    return Tally{};
  };
  EXPECT_EQ(tally(5).global_requests, 1u);
  EXPECT_EQ(tally(5).global_sectors, 4u);
  EXPECT_EQ(tally(7).global_sectors, 32u);
  EXPECT_EQ(tally(9).global_sectors, 4u);
}

// Lane i stores 16 bits at 66·i: at base 0 each in a bank of its own; at base 2 lane 31's word is one further, in the
// bank of lane 0. One instruction that does both in a loop is counted for what it does each time.
TEST(Counting, TheBankOfASixteenBitAccessDependsOnItsHalfOfTheWord) {
  const auto stores = [](uint32_t base) {
    return wavefronts(lanes(2, [=](uint32_t i) { return 66 * i + base; }), true).count;
  };
  EXPECT_EQ(stores(0), 1u);
  EXPECT_EQ(stores(2), 2u);
  const auto counted = [](const std::string& base, const std::string& times) {
    std::array<uint32_t, 1> unused{};
    return run(kernel(".shared .align 4 .b8 tile[2304];\nmov.u32 %r1, %tid.x;\nmad.lo.u32 %r2, %r1, 66, " + base +
                      ";\nmov.u32 %r3, 0;\ncvt.u16.u32 %h1, %r1;\nagain:\nst.shared.u16 [%r2], %h1;\nadd.u32 %r2, "
                      "%r2, 2;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, " +
                      times + ";\n@%p1 bra again;\n"),
               {}, unused)
        .total()
        .shared_wavefronts;
  };
  EXPECT_EQ(counted("0", "1"), 1u);
  EXPECT_EQ(counted("2", "1"), 2u);
  EXPECT_EQ(counted("0", "2"), 3u);
  EXPECT_EQ(counted("0", "4"), 6u);
}

}  // namespace
}  // namespace sim::testing::test_wavefronts
