/// A block of threads: its warps, shared memory, barriers and copies under way. One is made for each worker and used
/// again.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "machine/launch.h"
#include "machine/warp.h"
#include "watch/pattern.h"
#include "watch/shadow.h"

namespace sim {

/// One cp.async of a warp, from its issue to its wait.
struct Copy {
  uint32_t mask;
  uint32_t site;
  uint32_t bytes;                      ///< written for each lane
  std::array<uint32_t, warp_size> to;  ///< shared-memory address
  std::array<uint64_t, warp_size> from;
  std::array<uint32_t, warp_size> copied;  ///< bytes read; the rest is filled with zeros
  std::array<uint32_t, warp_size> group;   ///< the lane's count of committed groups at the issue
};

class Block {
 public:
  static constexpr uint32_t barrier_count = 16;

  explicit Block(Launch& launch);

  /// Runs the block with this number in the grid to its end, or until the launch is given up.
  void run(uint64_t number);

  /// A warp comes to a barrier that `warps` warps take part in. If it waits, it stops running until all have come.
  void arrive(Warp& warp, uint32_t barrier, uint32_t warps, bool waits);

  /// Adds a report about the instruction `here` and, where there is one, the earlier instruction `there`.
  void report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message);
  static constexpr uint32_t nowhere = ~0u;

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
  std::vector<Pattern> memos;                              ///< by Instruction::target
  std::vector<std::deque<Copy>> copies;                    ///< under way, by warp
  std::vector<std::array<uint32_t, warp_size>> committed;  ///< groups of copies, by warp and lane

 private:
  struct Barrier {
    uint32_t arrived = 0, waiting = 0;  ///< warps
    uint32_t expected = 0;
    uint32_t site = 0;
  };

  void fill_constants();
  void fill_specials();
  void complete(Barrier& barrier);
  void unstick();

  Dim3 index_;
  std::vector<std::byte> registers_, local_;
  std::vector<Warp> warps_;
  std::array<Barrier, barrier_count> barriers_{};
  std::set<std::tuple<Finding, uint32_t, uint32_t>> reported_;  ///< what this worker need not report again
};

}  // namespace sim
