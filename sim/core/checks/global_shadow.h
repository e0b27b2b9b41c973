/// What is known about each piece of global memory within one launch: who wrote it last, and who has read it since.
///
/// Blocks of one launch run in any order. Two accesses to one place, one of them a write, are a race unless the clocks
/// order them, or both are strong and each one's scope reaches the other. Nothing outlasts a launch: its end orders.
///
/// Most memory is only read: where nothing has written to an allocation and many have read it, reads are no longer
/// noted until somebody writes there. What is missed then are writes after those reads, of which the blocks that come
/// later do the same; nothing is reported that is not one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/function_ref.h"
#include "core/checks/allocations.h"
#include "core/checks/clocks.h"
#include "core/checks/grid_flags.h"
#include "core/checks/pattern.h"
#include "core/checks/reports.h"
#include "core/checks/shadow.h"

namespace sim {

/// Bytes of global memory.
struct GlobalSpan {
  uint64_t begin;
  uint32_t bytes;
};

/// An access to global memory, as it is remembered.
struct GlobalWho {
  static constexpr uint32_t any_lane = warp_size;

  uint32_t cluster = 0;  ///< its number and 1
  uint16_t agent = 0;    ///< in the cluster
  uint8_t lane = any_lane;
  Scope scope = Scope::none;

  bool operator==(const GlobalWho&) const = default;
};

/// Something that the shadow of global memory objects to.
struct GlobalObjection {
  enum class What : uint8_t { read_of_write, write_of_write, write_of_read } what;
  uint64_t address;
  uint32_t bytes;  ///< that are told apart
  GlobalWho other;
  uint32_t other_site, other_stamp;
  bool under_way;  ///< what the other one started nobody has waited for
  bool noticed;    ///< a flag tells of it, but no fence has followed the load of the flag
};

/// An allocation, as far as the launch has touched it.
class GlobalRegion {
 public:
  GlobalRegion(const Allocations::Range& range, uint32_t shift);
  ~GlobalRegion();

  /// Whether reads are not noted: by many, and nothing written.
  bool is_quiet() const { return quiet_.load(std::memory_order_relaxed); }
  void count_reads(uint32_t reads);

 private:
  friend class GlobalShadow;
  struct Page;
  static constexpr uint32_t page_bytes = 4096, reads_until_quiet = 1u << 14;

  Page& page(uint64_t address);
  void note_write();

  const uint64_t begin_, end_;
  const uint32_t shift_;
  std::vector<std::atomic<Page*>> pages_;
  std::atomic<uint32_t> reads_ = 0;
  std::atomic<bool> quiet_ = false, written_ = false;
};

class GlobalShadow {
 public:
  /// Whoever is told of objections.
  using ReportTo = FunctionRef<GlobalObjection>;
  /// Who accesses now.
  struct Actor {
    const Clocks& clocks;  ///< of its cluster
    GlobalWho who;
    uint32_t site;
  };

  /// `granule_bytes` is the smallest access of the kernel: what is told apart.
  GlobalShadow(const Allocations& allocations, uint32_t granule_bytes, bool several_threads, uint64_t clusters);
  ~GlobalShadow();

  /// The allocation that holds this address; null where there is none, or one that nobody may write.
  GlobalRegion* region(uint64_t address);

  /// An access of a warp.
  void touch(const Actor& actor, Touch touch, GlobalRegion& region, const Lanes& lanes, const Pattern& pattern,
             ReportTo report);
  /// An access of a single thread, or on its behalf. `under_way`: it goes on until `end_write` or `end_read`.
  void touch(const Actor& actor, Touch touch, GlobalRegion& region, GlobalSpan span, ReportTo report,
             bool under_way = false);
  /// What `who` began to write is written: for whoever learns of `by`.
  void end_write(const GlobalWho& who, uint32_t by, uint32_t stamp, GlobalRegion& region, GlobalSpan span);

  /// What `who` began to read has been read, for whoever learns of `by`.
  void end_read(const GlobalWho& who, uint32_t by, uint32_t stamp, GlobalRegion& region, GlobalSpan span);

  /// For the next launch, where that may begin before this one's end: an instruction that has accessed these bytes.
  std::optional<uint32_t> touched(GlobalSpan span, bool only_writes);

  /// A cluster's stamps count from here on. Of the first ones it is remembered, for what reports tell.
  void begins(uint64_t cluster, uint32_t start) {
    if (cluster < starts_.size()) starts_[cluster] = start;
  }
  /// A stamp of that cluster from its start on; Unordered::none where that is not known.
  uint32_t since_start(uint64_t cluster, uint32_t stamp) const;

  GridFlags flags;
  std::function<std::string(uint32_t site)> where;  ///< what an instruction of the kernel is, and its line

 private:
  struct Hold;
  static constexpr uint32_t under_way_stamp = ~0u;

  template <class Body>
  void over_pages(GlobalRegion& region, uint64_t begin, uint64_t bytes, Body body);
  bool is_ordered(const Actor& actor, const GlobalWho& before, uint32_t stamp) const;
  bool is_noticed(const Actor& actor, const GlobalWho& before, uint32_t stamp) const;
  bool are_strong(const Actor& actor, const GlobalWho& before) const;
  void touch_pages(const Actor& actor, Touch touch, GlobalRegion& region, const Lanes& lanes, const Pattern& pattern,
                   ReportTo report);
  void check_writes(const Actor& actor, Touch touch, const GlobalRegion::Page& page, uint32_t first, uint32_t last,
                    ReportTo report) const;
  void check_reads(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last, ReportTo report) const;
  void note_read(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last, bool under_way) const;
  template <class Place>
  void note_writes(const Actor& actor, GlobalRegion::Page& page, uint32_t stamp, Place place) const;

  const Allocations& allocations_;
  const uint32_t shift_;
  const bool locks_;
  std::vector<uint32_t> starts_;  ///< by cluster
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<GlobalRegion>> regions_;  ///< by address
};

}  // namespace sim
