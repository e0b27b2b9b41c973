/// A cluster of blocks, which run at the same time and reach each other's shared memory. A launch that asks for none
/// has clusters of one block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/checks/clocks.h"
#include "core/machine/async_proxy.h"
#include "core/machine/block.h"
#include "core/machine/global_races.h"
#include "core/machine/launch.h"

namespace sim {

class Cluster {
 public:
  explicit Cluster(Launch& launch);

  /// Begins the cluster with this number in the grid.
  void start(uint64_t number);

  /// Gives each warp that can run a turn. Where none can, the oldest transfer lands; where none is under way, it is a
  /// deadlock. `polling`: all that the warps did was to look at what others may change.
  enum class Progress : uint8_t { running, polling, done };
  Progress round();

  /// For whoever steps instead: a warp executes up to so many instructions. False where it waits or has ended.
  bool step(uint32_t rank, uint32_t warp, uint64_t instructions);
  /// What a round does where no warp can run, or all have ended.
  Progress settle();

  /// Warps that wait for this thing of a block look again.
  void wake(Warp::Wait::Kind kind, const Block* block, uint32_t number);

  /// Lanes of a warp arrive at the cluster's barrier; whether the phase at which a warp arrived is complete.
  void arrive(Warp& warp, uint32_t lanes, bool releases);
  bool is_complete(uint64_t phase) const { return phase_ > phase; }
  uint64_t phase() const { return phase_; }
  const SyncClock& met() const { return met_; }
  /// Lanes have ended, and count as arrived from now on.
  void leave(uint32_t lanes);
  uint64_t number() const { return number_; }
  /// Where an access of a warp to memory is written down for the events; null where that is not asked for.
  Trace* accesses_of(uint32_t agent) { return accesses_.empty() ? nullptr : &accesses_[agent]; }
  std::string arrivals() const;  ///< "96 of 128 threads have come"

  /// Adds a report about the instruction `here` and, where there is one, the earlier instruction `there`.
  /// `unordered`: the two accesses that nothing orders, where it is about two.
  void report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
              const std::optional<Unordered>& unordered = std::nullopt);
  /// The same of what is doubtful, or does no harm here.
  void warn(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
            const std::optional<Unordered>& unordered = std::nullopt);
  /// An earlier access by an agent of this cluster, and one that a warp makes now. ~0 as a stamp: still under way.
  Unordered unordered(uint32_t first, uint32_t stamp, uint32_t warp) const;
  /// Tells the launch how often what was reported has shown again.
  void count_reports();
  std::string agent_name(uint32_t agent) const;             ///< "warp 1 of block (0,0,0)"
  std::string thread(uint32_t agent, uint32_t lane) const;  ///< "thread (33,0,0) of block (0,0,0)"

  /// Writes an event down, which `events` has been asked for; its number.
  uint64_t note(Event event);
  /// The same of something that a warp does at the instruction that it executes.
  uint64_t note(const Warp& warp, Event event);
  /// The event of a warp that stops, and is about to wait for this.
  void note_wait(const Warp& warp, const Warp::Wait& wait);

  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  Launch& launch;
  Clocks clocks;
  AsyncProxy async;
  DoubtfulRaces doubtful;
  WaitsForLaunches waits;
  Events* events = nullptr;  ///< where this cluster's are asked for

 private:
  void add_report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
                  bool warning, const std::optional<Unordered>& unordered = std::nullopt);
  SourceLines places(uint32_t here, uint32_t there) const;
  void meet_if_all_have_come();
  Progress unstick();
  bool time_out();
  bool let_others_pass();
  Finding kind_of_deadlock() const;
  std::string nobody_arrives() const;
  void report_deadlock();
  template <class Visit>
  void for_waiting(Visit visit) const;

  Random random_{0};
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<uint32_t> order_;  ///< in which the blocks get their turns
  std::vector<Trace> accesses_;  ///< of each warp, for the events
  uint64_t number_ = 0;          ///< in the grid
  uint64_t phase_ = 0;           ///< of the cluster's barrier
  uint32_t arrived_ = 0, ended_ = 0;
  SyncClock gathering_, met_;
  uint32_t futile_ = 0;  ///< times that a try_wait ended early, or others were let pass, since something was achieved
  std::map<std::tuple<Finding, uint32_t, uint32_t>, uint64_t> reported_;  ///< how often again, not yet told
};

}  // namespace sim
