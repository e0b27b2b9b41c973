/// What the barriers of a block share, and bar.red: a barrier that counts, or combines, a predicate of its threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/warp/program.h"

namespace sim {

class Warp;

/// bar.sync and its like: registers.
struct BarrierOperands {
  uint32_t barrier;
  uint32_t threads;  ///< 0 for all of the block
};

/// The number of the barrier that these operands name: the same for all lanes.
uint32_t barrier_number(Warp& warp, const BarrierOperands& operands);

/// Lanes that have ended, or that went another way, do not come to a barrier: a report, and false where the warp cannot
/// go on.
bool whole_warp_is_here(Warp& warp);

/// The warp comes to the barrier, and stops running if it waits there.
void come_to_barrier(Warp& warp, const BarrierOperands& operands, bool waits);

/// The results that the warps at a block's barriers wait for.
class BarrierReductions {
 public:
  static constexpr uint32_t barrier_count = 16;

  enum class Kind : uint8_t { count, all, any };

  /// Forgets those of the block before.
  void start() { open_ = {}; }

  /// Lanes of a warp, of which `yes` have a true predicate, wait for a result in a register.
  void join(uint32_t barrier, Warp& warp, uint32_t lanes, uint32_t yes, Kind kind, uint32_t destination);

  /// All have come to the barrier: each gets its result.
  void deliver(uint32_t barrier);

 private:
  struct Part {
    Warp* warp;
    uint32_t lanes;
    Kind kind;
    uint32_t destination;
  };
  struct Open {
    uint32_t threads = 0, yes = 0;
    std::vector<Part> parts;
  };
  std::array<Open, barrier_count> open_;
};

}  // namespace sim
