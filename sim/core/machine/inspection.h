/// One cluster of a launch, run step by step, for a front that shows what happens: who is where, what waits for what.
///
/// Steps are kept, so that a step back is a replay from the start: whoever takes one puts the memory that the launch
/// changes back as it was (`begin_anew`) and does them again.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/machine/cluster.h"

namespace sim {

class Inspection {
 public:
  /// By which a warp goes on: an instruction; until its line of the source is another; until it waits or ends; until
  /// somebody arrives, a copy is issued or lands, or a phase is complete.
  enum class By : uint8_t { instruction, line, turn, event };

  /// The cluster with this number in the grid.
  Inspection(Launch& launch, uint64_t cluster);

  /// The warp goes on, and where it waits, others until it can. False when nothing could be done any more.
  bool step(By by, uint32_t rank, uint32_t warp);

  /// One instruction of one warp, as `step` has done it.
  struct Done {
    uint32_t rank, warp;
  };
  const std::vector<Done>& done() const { return done_; }
  /// Begins anew and does the first so many again. The caller has restored the memory.
  void begin_anew(size_t steps);

  bool over() const { return over_; }
  Launch& launch() { return launch_; }
  Cluster& cluster() { return *cluster_; }
  /// The instruction at which a warp is, or for which it waits.
  uint32_t site(uint32_t rank, uint32_t warp) const;
  /// A number that is another one when somebody has arrived somewhere, or a copy was issued or has landed.
  uint64_t synchronisation() const;

 private:
  bool one(uint32_t rank, uint32_t warp);
  bool let_others_go_on(uint32_t rank, uint32_t warp);
  std::pair<uint32_t, uint32_t> line(uint32_t rank, uint32_t warp) const;
  Warp& warp(uint32_t rank, uint32_t number) const { return cluster_->blocks()[rank]->warps()[number]; }

  Launch& launch_;
  const uint64_t number_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<Done> done_;
  uint32_t next_ = 0;  ///< of the others: whose turn it is
  bool over_ = false;
};

}  // namespace sim
