/// One cluster of a launch, run step by step, for a front that shows what happens: who is where, what waits for what.
///
/// Steps are kept, so that a step back is a replay from the start, on global memory as it was then. Nothing here
/// changes what is looked at. A step is one instruction of one warp; one in which what is under way lands, because no
/// warp can run, counts as well. `examples/inspect.cpp` shows how it is used.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/cluster.h"
#include "core/machine/memory_image.h"

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
  /// Global memory is restored, and the first so many are done again.
  void begin_anew(size_t steps);

  bool over() const { return over_; }
  Launch& launch() { return launch_; }
  Cluster& cluster() { return *cluster_; }
  /// The instruction at which a warp is, or for which it waits.
  uint32_t site(uint32_t rank, uint32_t warp) const;
  Warp::State state(uint32_t rank, uint32_t warp) const { return this->warp(rank, warp).state; }
  /// Where it is and, where it waits, for what and for whom: " at kernel.cu:12 (bar.sync), which waits for …".
  std::string words(uint32_t rank, uint32_t warp) const;

  /// The lanes of a register by its name in PTX: as bits, of a predicate 0 or 1. None where the kernel has none of this
  /// name.
  std::optional<std::array<uint64_t, warp_size>> lanes(uint32_t rank, uint32_t warp, std::string_view name) const;
  /// A block's shared memory; `Program::shared_variables` says what lies where.
  const std::vector<std::byte>& shared(uint32_t rank) const { return cluster_->blocks()[rank]->shared; }
  /// Named barriers to which some warps have come, and for how many they wait.
  std::vector<Block::BarrierState> barriers(uint32_t rank) const { return cluster_->blocks()[rank]->open_barriers(); }
  /// A block's mbarriers: address, phases that are complete, arrivals and bytes that are missing.
  std::vector<const Mbarrier*> mbarriers(uint32_t rank) const { return cluster_->blocks()[rank]->mbarriers.all(); }
  /// Copies by the async proxy (TMA) and products of wgmma that nobody knows to be complete yet.
  std::vector<AsyncProxy::State> copies() const { return cluster_->async.under_way(); }
  /// Instructions cp.async of a warp whose bytes nobody has waited for.
  size_t copies_of(uint32_t rank, uint32_t warp) const { return cluster_->blocks()[rank]->transfers.under_way(warp); }
  /// Of wgmma: products that a warp has issued, groups that it has committed, products that it has not waited for.
  Products::State products(uint32_t rank, uint32_t warp) const {
    return cluster_->blocks()[rank]->products.state_of(warp);
  }
  /// A number that is another one when somebody has arrived somewhere, or a copy was issued or has landed.
  uint64_t synchronisation() const;

 private:
  bool one(uint32_t rank, uint32_t warp);
  bool let_others_go_on(uint32_t rank, uint32_t warp);
  std::pair<uint32_t, uint32_t> line(uint32_t rank, uint32_t warp) const;
  Warp& warp(uint32_t rank, uint32_t number) const { return cluster_->blocks()[rank]->warps()[number]; }

  Launch& launch_;
  const uint64_t number_;
  const MemoryImage memory_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<Done> done_;
  uint32_t next_ = 0;  ///< of the others: whose turn it is
  bool over_ = false;
};

}  // namespace sim
