/// Copies that go on while the warp that started them does. One has a source, a destination, an agent that moves the
/// bytes, and a completion that somebody can wait for. Its bytes may arrive at any time in between.
/// These are cp.async's, which belong to the generic proxy; those of the async proxy are in async_proxy.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/base/random.h"
#include "core/base/types.h"
#include "core/checks/clocks.h"
#include "core/checks/events.h"

namespace sim {

class Block;

/// What one instruction of a warp started: for each lane, bytes from global to shared memory.
struct Transfer {
  uint32_t lanes = 0;                                ///< whose bytes nobody has waited for yet
  uint32_t arrived = 0;                              ///< those whose bytes are there, though nobody may rely on it
  uint32_t bytes = 0;                                ///< written for each lane
  uint32_t stamp = 0;                                ///< of its issue
  std::array<uint64_t, warp_size> source = {};       ///< global address
  std::array<uint32_t, warp_size> read = {};         ///< bytes of the source; the rest is filled with zeros
  std::array<uint32_t, warp_size> destination = {};  ///< shared-memory address
  std::array<uint32_t, warp_size> group = {};        ///< completion: how many groups the lane had committed before
};

/// A block's transfers, by the warp whose threads are their agents.
class Transfers {
 public:
  Transfers(Block& block, uint32_t warps)
      : block_(block), under_way_(warps), committed_(warps), handed_over_(warps), agents_(warps) {}

  /// Forgets those of the block before.
  void start();

  void issue(uint32_t warp, Transfer transfer);
  /// What these lanes have issued and not yet committed is their next group.
  void commit_group(uint32_t warp, uint32_t lanes);
  /// All but the last `left` groups of these lanes are complete.
  void complete_groups(uint32_t warp, uint32_t lanes, uint64_t left);
  /// The lanes wait for all that they have issued, committed or not.
  void wait_all(uint32_t warp, uint32_t lanes);
  /// All that these lanes have issued is complete, committed or not.
  void complete_all(uint32_t warp, uint32_t lanes);
  /// All that a lane has issued arrives at an mbarrier, which `arrivals` belongs to: whoever wants to rely on it has to
  /// know of that, from there or because it has waited for its own copies, as above.
  void hand_over(uint32_t warp, uint32_t lane, SyncClock& arrivals);

  /// Instructions of a warp whose copies nobody has waited for.
  size_t under_way(uint32_t warp) const { return under_way_[warp].size(); }

  /// When a lane issued what is under way to this address in shared memory; 0 where nothing is.
  uint32_t issued(uint32_t warp, uint32_t lane, uint64_t address) const;

  /// Some bytes arrive early, by lot.
  void arrive_by_lot(Random& random);

 private:
  /// Copies of a lane that an mbarrier was told of, and that the lane itself may wait for as well.
  struct HandedOver {
    uint32_t lane, group, stamp;
  };

  template <class IsDone>
  void complete(uint32_t warp, uint32_t lanes, uint32_t agent, IsDone is_done);
  template <class IsDone>
  void wait(uint32_t warp, uint32_t lanes, IsDone is_done);
  void arrive(Transfer& transfer, uint32_t lanes);
  void note(uint32_t warp, Event event);

  Block& block_;
  std::vector<std::deque<Transfer>> under_way_;             ///< by warp, in the order of their issue
  std::vector<std::array<uint32_t, warp_size>> committed_;  ///< groups, by warp and lane
  std::vector<std::vector<HandedOver>> handed_over_;        ///< by warp; of each lane and group the latest
  std::vector<uint32_t> agents_;                            ///< by warp: who moves what is handed over; none yet: ~0
};

}  // namespace sim
