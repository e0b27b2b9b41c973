/// The addresses of one warp-wide memory access, and what the memory system makes of them.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/types.h"

namespace sim {

class GlobalRegion;

/// One access: which lanes, where, how many bytes each.
struct Lanes {
  uint32_t mask = 0;
  uint32_t bytes = 4;                       ///< per lane
  bool rows = false;                        ///< ldmatrix and stmatrix: 8 lanes name the rows of a matrix
  std::array<uint64_t, warp_size> address;  ///< of lanes outside the mask: that of the first within
};

/// Whether each lane's address is `base` further than its offset.
bool are_moved(const std::array<uint64_t, warp_size>& address, const std::array<uint64_t, warp_size>& offset,
               uint64_t base);

/// Distinct 32-byte sectors that a global access touches.
uint32_t sectors(const Lanes& lanes);

struct Wavefronts {
  uint32_t count = 0;
  uint32_t conflicts = 0;  ///< count less that of a conflict-free access of the same kind
};

/// Passes that a shared-memory access needs. An access of 64 bits per lane goes in two half-warps, one of 128 in
/// four quarter-warps. Within what goes together, lanes at the same word are served at once, and the passes are as many
/// as the most distinct words of one bank. For loads, two halves (of the warp at 64 bits, the two quarters of each half
/// at 128 bits) merge into one when every lane i has the address of lane i^1, or every lane that of lane i^2. The
/// matrices of ldmatrix go one by one.
Wavefronts wavefronts(const Lanes& lanes, bool store);

/// Lanes that are served together, and in how many wavefronts.
struct LaneGroup {
  uint32_t first, last;  ///< lanes, both included
  uint32_t wavefronts;
};
/// The groups of an access to shared memory, those without an active lane left out.
std::vector<LaneGroup> lane_groups(const Lanes& lanes, bool store);

/// An access as memoised: an instruction tends to repeat its pattern, moved by the same distance in every lane.
class Pattern {
 public:
  /// How the lanes of a whole warp lie to each other, where that makes them easy to serve.
  enum class Spread : uint8_t { any, same, side_by_side };

  /// Whether `lanes` is this pattern, moved by a multiple of a lane's bytes and of a bank's.
  bool matches(const Lanes& lanes) const {
    if (lanes.mask != mask_) return false;
    const uint64_t base = lanes.address[first_lane(mask_)];
    return ((base ^ phase_) & phase_mask_) == 0 && are_moved(lanes.address, offset_, base);
  }

  /// A run of consecutive bytes that the access covers.
  struct Run {
    int64_t offset;  ///< from the first active lane's address
    uint32_t bytes;
  };

  void learn_global(const Lanes& lanes);
  void learn_shared(const Lanes& lanes, bool store);
  /// Of what a load has learned: the lane that reads each granule of the runs, one run after the other. `several` where
  /// more than one does.
  static constexpr uint32_t several = 63;
  static const std::array<uint32_t, warp_size> in_order;  ///< all lanes
  const uint32_t* readers(uint32_t granule_shift) const {
    if (takes_neighbours(granule_shift)) return in_order.data();
    if (readers_.empty() || granule_shift_ != granule_shift) learn_readers(granule_shift);
    return readers_.data();
  }

  bool aligned() const { return aligned_; }
  int64_t low() const { return low_; }    ///< first byte, from the first active lane's address
  int64_t high() const { return high_; }  ///< one past the last
  /// Distinct sectors of `lanes`, which this pattern matches: they depend on where in a sector the first lane begins.
  uint32_t sectors(const Lanes& lanes) {
    const uint64_t base = lanes.address[first_lane(mask_)];
    uint8_t& known = sectors_[base % sectors_.size()];
    if (known == 0) known = sectors_of_runs(base);
    return known;
  }
  Wavefronts wavefronts() const { return wavefronts_; }
  Spread spread() const { return spread_; }
  /// Whether each lane of a whole warp takes a granule, the one after that of the lane before.
  bool takes_neighbours(uint32_t granule_shift) const {
    return spread_ == Spread::side_by_side && lane_bytes_ == 1u << granule_shift;
  }
  const std::vector<Run>& runs() const { return runs_; }

  uint64_t allowed_low = 0, allowed_high = 0;  ///< the allocation that the last access lay in
  GlobalRegion* region = nullptr;              ///< the same for the check of races; null where it is not known yet

 private:
  void learn(const Lanes& lanes);
  void find_runs(uint32_t bytes);
  void add_run(int64_t offset, uint32_t bytes);
  uint8_t sectors_of_runs(uint64_t base) const;
  void learn_readers(uint32_t granule_shift) const;

  uint32_t mask_ = 0;
  uint64_t phase_ = 0, phase_mask_ = 0;  ///< where in a lane's bytes, or in a bank, the first lane begins
  std::array<uint64_t, warp_size> offset_{};
  int64_t low_ = 0, high_ = 0;
  bool aligned_ = false;
  Spread spread_ = Spread::any;
  std::array<uint8_t, 32> sectors_{};  ///< by the first lane's place in its sector; 0 where not counted yet
  Wavefronts wavefronts_;
  std::vector<Run> runs_;
  uint32_t lane_bytes_ = 0;
  mutable std::vector<uint32_t> readers_;  ///< empty where nobody has asked for them yet
  mutable uint32_t granule_shift_ = 0;
};

}  // namespace sim
