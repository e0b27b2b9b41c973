/// What is known about each piece of a block's shared memory: who wrote and read it last, and whether somebody else may
/// tell.
///
/// Every access carries a stamp, the block's logical time, which moves on with each synchronisation. A warp's vector
/// clock says, for every warp, up to which stamp its accesses happened before this one's next. Two accesses of
/// different warps to one place, one of them a write, are a race unless the clock orders them. A copy by cp.async is an
/// agent of its own: from its issue to the wait of the thread that issued it, nobody may touch its destination.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "watch/pattern.h"

namespace sim {

/// Something that the shadow objects to.
struct Objection {
  enum class What : uint8_t {
    never_written,
    read_of_write,
    write_of_write,
    write_of_read,
    copy_under_way,
    same_instruction
  } what;
  uint64_t address;     ///< in shared memory
  uint32_t lane;        ///< of the warp that acts now
  uint32_t other_warp;  ///< who came before
  uint32_t other_lane;  ///< where it is known; warp_size otherwise
  uint32_t other_site;  ///< its instruction
};

class Shadow {
 public:
  static constexpr uint32_t max_warps = 32;
  using Object = std::function<void(const Objection&)>;

  /// Forgets the block before. `granule_bytes` is the smallest access of the kernel: what is told apart.
  void start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t warps);

  void read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const Object& object);
  void write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const Object& object);

  /// A copy into shared memory begins; its data arrive at some time before it is waited for.
  void begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const Object& object);
  /// The thread that began the copy of these bytes has waited for it.
  void end_copy(uint32_t warp, uint32_t lane, uint64_t address, uint32_t bytes);

  /// Every warp of the block has met at a barrier, none has gone on.
  void all_met();
  /// Some warps have met: what each did before is ordered before what those of `waiting` do next.
  void some_met(uint32_t arrived, uint32_t waiting);
  /// A warp arrives somewhere without waiting: what it does from now on is later.
  void leave_behind(uint32_t warp);
  /// The lanes of one warp have synchronised.
  void warp_met(uint32_t warp);

 private:
  struct Clock {
    std::array<uint32_t, max_warps> seen;      ///< by warp: its accesses with a stamp up to this happened before
    std::array<uint32_t, max_warps> released;  ///< what `seen` was when the warp last arrived somewhere
    uint32_t lanes_met;                        ///< stamp up to which the warp's own lanes are ordered
    uint32_t clear;                            ///< whatever has a stamp up to this is ordered, whoever did it
  };
  /// A thread that accessed a granule.
  struct Who {
    uint8_t warp, lane;
  };

  template <class Fast, class Slow>
  void over_granules(const Lanes& lanes, const Pattern& pattern, Fast fast, Slow slow);
  void read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const Object& object);
  void write_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const Object& object);
  void mark_written(uint32_t granule, uint32_t stamp, uint32_t warp, uint32_t lane, uint32_t site);
  void update_clear(uint32_t warp);
  uint64_t address(uint32_t granule) const { return uint64_t{granule} << shift_; }

  static constexpr uint32_t under_way = ~0u;  ///< write stamp of a granule that a copy is about to fill

  uint32_t shift_ = 2;
  uint32_t warps_ = 0;
  uint32_t start_ = 1;  ///< stamps of this block are not below
  uint32_t now_ = 1;
  std::array<Clock, max_warps> clock_{};

  // One element a granule. Apart, because the usual check looks at stamps only, many in one go.
  std::vector<uint32_t> write_stamp_, write_site_, read_stamp_, read_site_, readers_;
  std::vector<Who> writer_;
  /// Reads of the same granule at different stamps, none ordered after the others: rare, so kept apart.
  std::unordered_map<uint32_t, std::array<uint32_t, max_warps>> earlier_reads_;
};

}  // namespace sim
