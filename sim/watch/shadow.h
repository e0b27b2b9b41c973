/// What is known about each piece of a block's shared memory: who wrote and read it last, and whether somebody else may
/// tell.
///
/// Two accesses of different warps to one place, one of them a write, are a race unless the clocks order them or both
/// are strong. A copy by cp.async is an agent of its own: from its issue to the wait of the thread that issued it,
/// nobody may touch its destination.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "watch/clocks.h"
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
  } what;
  uint64_t address;     ///< in shared memory
  uint32_t lane;        ///< of the warp that acts now
  uint32_t other_warp;  ///< who came before
  uint32_t other_lane;  ///< where it is known; warp_size otherwise
  uint32_t other_site;  ///< its instruction
};

/// What an access does. An update is an atomic: it reads, and writes.
enum class Touch : uint8_t { read, write, strong_read, strong_write, update };

class Shadow {
 public:
  using ReportTo = std::function<void(const Objection&)>;

  /// Forgets the block before. `granule_bytes` is the smallest access of the kernel: what is told apart.
  void start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t warps);

  void touch(Touch touch, uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern,
             const ReportTo& report);

  /// A copy into shared memory begins; its data arrive at some time before it is waited for.
  void begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report);
  /// The thread that began the copy of these bytes has waited for it.
  void end_copy(uint32_t warp, uint32_t lane, uint64_t address, uint32_t bytes);

  Clocks clocks;

 private:
  /// A thread that accessed a granule.
  struct Who {
    uint8_t warp;
    uint8_t lane : 7, strong : 1;
  };
  /// The last read of each warp.
  using ByWarp = std::array<uint32_t, max_warps>;

  template <class Fast, class Slow>
  void over_granules(const Lanes& lanes, const Pattern& pattern, Fast fast, Slow slow);
  void read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report);
  void write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report);
  void check_read(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report) const;
  void read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const ReportTo& report);
  void write_slowly(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report);
  void mark_written(uint32_t granule, uint32_t warp, uint32_t lane, bool strong, uint32_t site);
  bool is_ordered(uint32_t warp, uint32_t lane, Who before, uint32_t stamp) const;
  void forget_ordered_reads();
  uint32_t granule_of(uint64_t address) const { return static_cast<uint32_t>(address >> shift_); }
  uint64_t address(uint32_t granule) const { return uint64_t{granule} << shift_; }

  static constexpr uint32_t under_way = ~0u;  ///< write stamp of a granule that a copy is about to fill

  uint32_t shift_ = 2;

  // One element per granule. Apart, because the usual check looks at stamps only, many in one go.
  std::vector<uint32_t> write_stamp_, write_site_, read_stamp_, read_site_, readers_;
  std::vector<Who> writer_;
  /// Reads of the same granule at different stamps, none ordered after the others, and strong reads: rare, so kept
  /// apart.
  std::unordered_map<uint32_t, ByWarp> earlier_reads_, strong_reads_;
  uint32_t reads_since_ = 0;  ///< the meeting of all warps after which these were made
};

}  // namespace sim
