// Clusters get their places in the order of the multiprocessors that a launch without clusters fills.

#include <gtest/gtest.h>

#include <numeric>

#include "common/device/cluster_places.h"

namespace {

using Numbers = std::vector<int>;

// Two groups of multiprocessors, 0 1 4 5 and 2 3 6 7, one behind the other in the order.
const Numbers GROUP_BY_GROUP = {2, 3, 6, 7, 0, 1, 4, 5};

TEST(ClusterPlaces, NeighboursAreOfOneGroup) {
  const Numbers in_turn = {0, 1, 2, 3, 4, 5, 6, 7};  // a cluster for the one group, a cluster for the other
  EXPECT_EQ(places_in_order(GROUP_BY_GROUP, in_turn, 2), (Numbers{2, 0, 3, 1}));
}

// The simulator deals blocks out one by one, with clusters and without.
TEST(ClusterPlaces, AreFoundOutByLaunches) {
  Numbers in_order(multiprocessors_here());
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(multiprocessors_of_blocks(multiprocessors_here(), 1), in_order);
  in_order.resize(66);
  EXPECT_EQ(cluster_places(66, 2), in_order);
}

}  // namespace
