/// mbarriers: barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/checks/clocks.h"
#include "core/checks/events.h"

namespace sim {

class Block;
class Warp;

struct Mbarrier {
  struct Thread {
    uint32_t agent = 0, lane = 0;  ///< its warp in the cluster
  };

  static constexpr uint32_t most_arrivals = (1u << 20) - 1;
  static constexpr int64_t most_bytes = (int64_t{1} << 20) - 1;

  uint32_t address = 0;   ///< offset in its block's shared memory
  uint32_t expected = 0;  ///< arrivals of each phase
  uint32_t pending = 0;   ///< of the phase that is not complete
  int64_t bytes = 0;      ///< transaction count: completed bytes less expected ones
  uint64_t phase = 0;     ///< phases that are complete

  SyncClock gathering, completed;      ///< released by arrivals at this phase, and at those that are complete
  uint32_t site = 0, initialised = 0;  ///< of its initialisation: instruction, stamp
  Thread initialiser;
  bool fenced = false;       ///< its initialiser has executed fence.mbarrier_init since
  uint32_t last_site = ~0u;  ///< of the last arrival; none yet
  Thread last;
  uint64_t last_order = 0;                        ///< see Mbarriers::passed
  std::unordered_map<uint32_t, uint64_t> passed;  ///< by warp: phases complete when it last waited

  /// As it lies in memory: the phase's parity in bit 63, then 20 bits of pending arrivals (negated), a bit, 21 of the
  /// transaction count, 20 of expected arrivals (negated), a bit.
  uint64_t word() const;
  bool is_complete(uint64_t of_phase) const { return phase > of_phase; }
  /// Whether the phase of this parity that is nearest to now is complete.
  bool parity_is_complete(uint32_t parity) const { return (phase & 1) != parity; }
};

/// Arrivals that a state, as an arrival returns it, has pending.
inline uint32_t pending_count(uint64_t state) {
  return static_cast<uint32_t>(-(state >> 43)) & Mbarrier::most_arrivals;
}
/// What an arrival returns. The hardware leaves the lower half to chance.
inline uint64_t state_of(const Mbarrier& mbarrier) { return mbarrier.word() >> 32 << 32; }

/// The mbarriers in a block's shared memory.
class Mbarriers {
 public:
  explicit Mbarriers(Block& block) : block_(block) {}

  void start();

  void init(Warp& warp, uint32_t lane, uint32_t address, uint32_t count);
  /// fence.mbarrier_init by these lanes of a warp.
  void fence_inits(const Warp& warp, uint32_t lanes);
  /// A transfer that these lanes' warp starts will tell the mbarrier: a warning where nothing has fenced its
  /// initialisation.
  void check_init_fence(Warp& warp, uint32_t lane, const Mbarrier& mbarrier);
  void invalidate(Warp& warp, uint32_t lane, uint32_t address);

  /// The mbarrier that a thread, of this block or another of the cluster, uses at `address`. Null, and reported, where
  /// there is none, or where its word was overwritten.
  /// `visits`: the thread itself has to do with it, so that the block may not end before; a transfer that will tell it
  /// is reported by itself where nobody waits.
  Mbarrier* used(Warp& warp, uint32_t lane, uint64_t address, bool visits = true);
  /// The same for a transfer that was started by the instruction `site`.
  Mbarrier* signalled(uint32_t site, uint32_t address);
  /// The agent of the transfers that the mbarrier counts.
  uint32_t agent(const Mbarrier& mbarrier);

  void arrive(Warp& warp, uint32_t lane, Mbarrier& mbarrier, uint32_t count, bool releases, bool drops);
  /// A warp's wait for a phase of this parity has ended.
  void passed(const Warp& warp, Mbarrier& mbarrier, uint32_t parity);
  void expect_bytes(Warp& warp, uint32_t lane, Mbarrier& mbarrier, uint32_t bytes);
  void complete_bytes(Mbarrier& mbarrier, uint32_t bytes, uint32_t site);

  /// The block has ended: transaction counts that are not balanced are reported.
  void end();
  /// "phase 3 (parity 1) of the mbarrier at …: 1 of 2 arrivals have come, 64 bytes are expected that have not come".
  std::string describe(uint32_t address) const;
  const Mbarrier* find(uint32_t address) const;
  std::vector<const Mbarrier*> all() const;  ///< by address

 private:
  std::byte* word_at(uint32_t address) const;
  bool is_intact(const Mbarrier& mbarrier) const;
  void store(const Mbarrier& mbarrier);
  void advance(Mbarrier& mbarrier);
  Event event_of(Event::Kind kind, const Mbarrier& mbarrier) const;
  /// Why a thread arrives once more at a phase at which all have arrived.
  std::string why_again(const Warp& warp, const Mbarrier& mbarrier) const;

  /// The last wait of a warp for an mbarrier of this block.
  struct Passed {
    uint32_t site, address, parity;
    uint64_t order;  ///< among the waits and arrivals here
  };

  Block& block_;
  std::unordered_map<uint32_t, Mbarrier> at_;   ///< by offset in the block's shared memory
  std::unordered_map<uint32_t, Passed> waits_;  ///< by warp
  uint64_t order_ = 0;
  std::unordered_map<uint32_t, uint32_t> agents_;  ///< by that offset: whoever is initialised there keeps its agent
};

}  // namespace sim
