/// A block of threads: its warps, shared memory, barriers and copies under way. It is used again for other blocks of
/// the grid that have the same rank in their clusters.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/checks/pattern.h"
#include "core/checks/shadow.h"
#include "core/machine/barrier.h"
#include "core/machine/launch.h"
#include "core/machine/mbarrier.h"
#include "core/machine/register_pool.h"
#include "core/machine/transfer.h"
#include "core/warp/address.h"
#include "core/warp/warp.h"
#include "core/wgmma/wgmma.h"

namespace sim {

class Cluster;

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
/// Zeros, of which the system gives a page when it is first touched: a launch touches few of a large kernel's
/// registers.
using Zeros = std::unique_ptr<std::byte, Free>;
Zeros zeros(size_t bytes);

/// Where a report has no second place.
inline constexpr uint32_t nowhere = ~0u;

class Block {
 public:
  static constexpr uint32_t barrier_count = BarrierReductions::barrier_count;

  Block(Cluster& cluster, uint32_t rank);

  /// Begins the block at this place in the grid. `stamps_begin_anew`: what Clocks::start returned.
  void start(Dim3 index, bool stamps_begin_anew);

  /// What a round of turns came to.
  struct Round {
    bool ran = false;       ///< some warp could run
    bool progress = false;  ///< some warp did more than look at what others may change
    bool alive = false;     ///< not every warp has ended
  };
  /// Gives each warp that can run a turn.
  Round round();

  /// A warp has ended. With the last one the block has: what its cluster has not finished in its memory is reported.
  void end_warp(const Warp& ended);
  /// An agent of another block uses this one's shared memory: a report where the block has ended.
  void check_is_alive(uint32_t agent, uint32_t site);

  /// Lets warps go on whose barrier others will never reach, since they have ended: reported. False where none is.
  bool release_abandoned();

  /// A warp comes to a barrier that is complete after so many `arrivals` of warps. If it waits, it stops running until
  /// then.
  void arrive(Warp& warp, uint32_t barrier, uint32_t arrivals, bool waits);

  /// Adds a report about the instruction `here` and, where there is one, the earlier instruction `there`.
  void report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message);
  /// Reports what makes all that follows meaningless: the launch is given up, the warp ends.
  void give_up(Warp& warp, Finding kind, const std::function<std::string()>& message, uint32_t there = nowhere);

  std::string name() const;                      ///< "(1,0,0)"
  std::string thread(uint32_t number) const;     ///< "thread (3,0,0) of block (1,0,0)"
  std::string place(uint64_t address) const;     ///< "shared address 0x40", of which block if there are several
  std::string state_of(const Warp& warp) const;  ///< where the warp is, and what it waits for
  std::string what_it_does(const Warp& warp, uint32_t lane) const;  ///< its instruction, the line, the thread
  std::string thread(const Warp& warp, uint32_t lane) const { return thread(warp.index * warp_size + lane); }
  std::string where(uint32_t site) const { return program.where(program.sites[site].location); }

  /// The host's address of a generic address of a lane; null where there is nothing to read `bytes` bytes from.
  std::byte* resolve(const Warp& warp, uint32_t lane, uint64_t address, uint32_t bytes);
  bool holds(Span span) const { return span.bytes <= shared.size() && span.begin <= shared.size() - span.bytes; }
  /// A named barrier as it is now: warps that have come, of how many; which of them wait, a bit each.
  struct BarrierState {
    uint32_t number, arrived, expected, waiting;
  };
  std::vector<BarrierState> open_barriers() const;  ///< to which some have come
  std::byte* local(const Warp& warp) { return local_.get() + size_t{warp.index} * warp_size * program.local_bytes; }

  Cluster& cluster;
  Launch& launch;
  const Program& program;
  const uint32_t rank;         ///< in the cluster
  const uint32_t first_agent;  ///< of its warps
  std::vector<Warp>& warps() { return warps_; }
  Dim3 index() const { return index_; }
  /// What is added to an offset in its shared memory to make an address.
  uint64_t shared_base() const { return uint64_t{rank} << rank_shift; }

  std::vector<std::byte> shared;
  Shadow shadow;
  Tallies tallies;
  std::vector<Pattern> memos;  ///< of the instructions that access memory, by the numbers that their payloads hold
  Transfers transfers;
  BarrierReductions reductions;
  Mbarriers mbarriers;
  RegisterPool registers;
  Products products;  ///< of wgmma

 private:
  struct Barrier {
    uint32_t arrived = 0, expected = 0;  ///< arrivals of warps: one that arrives twice counts twice
    uint32_t waiting = 0;                ///< warps, a bit each
    uint32_t site = 0, warp = 0;         ///< of the last arrival
    SyncClock clock;                     ///< what those that did not wait have released
  };

  void fill_constants();
  void fill_specials();
  void complete(Barrier& barrier);
  void run_one_by_one(Warp& warp, uint64_t instructions);
  void report_late_use(uint32_t agent, uint32_t site);

  Dim3 index_;
  uint32_t ended_warps_ = 0;
  Random random_{0};
  std::vector<uint32_t> order_;  ///< in which the warps get their turns
  Zeros register_bytes_, local_;
  std::vector<Warp> warps_;
  std::array<Barrier, barrier_count> barriers_{};
};

}  // namespace sim
