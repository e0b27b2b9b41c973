/// Accesses to global memory, as the launch's shadow of it sees them; and what it objects to, in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/checks/global_shadow.h"
#include "core/machine/launch.h"

namespace sim {

class Cluster;
class Warp;

/// What a cluster will report only if what follows does not explain it.
class DoubtfulRaces {
 public:
  explicit DoubtfulRaces(Cluster& cluster) : cluster_(cluster) {}

  /// Two plain stores to one place: no more than a warning where both store the same.
  void overwritten(uint32_t here, const GlobalObjection& objection, std::string message, Unordered two);
  bool any_overwritten() const { return !overwritten_.empty(); }
  /// The store that overwrites has been executed.
  void settle();

  /// A plain load of what others change by atomics: right where a compare-and-swap of the same warp checks what it saw.
  void unverified(uint32_t agent, uint32_t here, const GlobalObjection& objection, std::string message, Unordered two);
  bool any_unverified() const { return !unverified_.empty(); }
  void verify(uint32_t agent, const Lanes& lanes);
  /// The warp has ended, and checks nothing any more.
  void end(uint32_t agent);

 private:
  struct Doubt {
    GlobalObjection objection;
    uint32_t here;
    uint64_t before;  ///< what was in memory
    std::string message;
    Unordered two;
  };
  static uint64_t value(const GlobalObjection& objection);

  Cluster& cluster_;
  std::vector<Doubt> overwritten_;
  std::map<std::pair<uint32_t, uint64_t>, Doubt> unverified_;  ///< by agent and address
};

/// Who in a cluster has waited for the launches in front (griddepcontrol.wait).
class WaitsForLaunches {
 public:
  void start() { waits_.clear(); }
  void wait(uint32_t agent, uint32_t stamp) { waits_.emplace_back(agent, stamp); }
  /// Whether the warp has waited, or knows of one that has.
  bool has_waited(const Clocks& clocks, uint32_t warp) const;

 private:
  std::vector<std::pair<uint32_t, uint32_t>> waits_;
};

/// Notes and checks an access of a warp, once it is within its allocation.
void watch_races(Warp& warp, Pattern& pattern, const Lanes& lanes, Touch touch, Scope scope);
/// The same of bytes that a thread's copy reads or writes, until `end_copy_of_global`.
void watch_races_of_copy(Warp& warp, uint32_t lane, const std::vector<GlobalSpan>& spans, bool writes, Scope scope);
/// Whether nobody needs to know what a copy reads here.
bool need_not_know(Warp& warp, uint64_t address);
/// What a thread's copy began to read or write there is done, for whoever learns of the agent `by`.
void end_copy_of_global(Cluster& cluster, uint32_t agent, uint32_t lane, uint32_t by,
                        const std::vector<GlobalSpan>& spans, bool writes);

}  // namespace sim
