/// A block of threads: its warps, shared memory, barriers and copies under way. It is used again for other blocks of
/// the grid.
#pragma once

#include <cstdint>
#include <set>

#include "base/random.h"
#include "machine/address.h"
#include "machine/barrier.h"
#include "machine/launch.h"
#include "machine/transfer.h"
#include "machine/warp.h"
#include "watch/pattern.h"
#include "watch/shadow.h"

namespace sim {

class Block {
 public:
  static constexpr uint32_t barrier_count = BarrierReductions::barrier_count;

  explicit Block(Launch& launch);

  /// Begins the block with this number in the grid.
  void start(uint64_t number);

  /// Gives each warp that can run a turn. `polling`: all that they did was to look at what others may change.
  enum class Progress : uint8_t { running, polling, done };
  Progress round();

  /// A warp comes to a barrier that is complete after so many `arrivals` of warps. If it waits, it stops running until
  /// then.
  void arrive(Warp& warp, uint32_t barrier, uint32_t arrivals, bool waits);

  /// Adds a report about the instruction `here` and, where there is one, the earlier instruction `there`.
  void report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message);
  static constexpr uint32_t nowhere = ~0u;
  /// Reports what makes all that follows meaningless: the launch is given up, the warp ends.
  void give_up(Warp& warp, Finding kind, const std::function<std::string()>& message, uint32_t there = nowhere);

  std::string thread(uint32_t number) const;  ///< "thread (3,0,0) of block (1,0,0)"
  std::string thread(const Warp& warp, uint32_t lane) const { return thread(warp.index * warp_size + lane); }
  std::string where(uint32_t site) const { return program.where(program.sites[site].location); }

  /// The host's address of a generic address of a lane; null where there is nothing to read `bytes` bytes from.
  std::byte* resolve(const Warp& warp, uint32_t lane, uint64_t address, uint32_t bytes);
  std::byte* local(const Warp& warp) { return local_.data() + size_t{warp.index} * warp_size * program.local_bytes; }

  Launch& launch;
  const Program& program;
  std::vector<std::byte> shared;
  Shadow shadow;
  Tallies tallies;
  std::vector<Pattern> memos;  ///< of the instructions that access memory, by the numbers that their payloads hold
  Transfers transfers;
  BarrierReductions reductions;

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
  void unstick();
  std::string state_of(const Warp& warp) const;

  Dim3 index_;
  Random random_{0};
  std::vector<uint32_t> order_;  ///< in which the warps get their turns
  std::vector<std::byte> registers_, local_;
  std::vector<Warp> warps_;
  std::array<Barrier, barrier_count> barriers_{};
  std::set<std::tuple<Finding, uint32_t, uint32_t>> reported_;  ///< what this worker need not report again
};

}  // namespace sim
