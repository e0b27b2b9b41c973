/// What is known about each piece of a block's shared memory: who wrote and read it last, and whether somebody else may
/// tell.
///
/// Two accesses of different agents to one place, one of them a write, are a race unless the clocks order them or both
/// are strong. What goes on asynchronously is under way from its issue to its completion: meanwhile nobody may touch
/// what it writes, and nobody may write what it reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/function_ref.h"
#include "core/checks/clocks.h"
#include "core/checks/pattern.h"

namespace sim {

/// Something that the shadow objects to.
struct Objection {
  enum class What : uint8_t {
    never_written,
    read_of_write,
    write_of_write,
    write_of_read,
    copy_under_way,   ///< a touch of what something asynchronous writes
    async_under_way,  ///< the same of the async proxy, which an mbarrier completes
    reads_under_way,  ///< a write to what something asynchronous reads
    unfenced,         ///< the async proxy reads what the generic one wrote
  } what;
  uint64_t address;      ///< in the block's shared memory
  uint32_t lane;         ///< of the warp that acts now
  uint32_t other_agent;  ///< who came before
  uint32_t other_lane;   ///< where it is known; warp_size otherwise
  uint32_t other_site;   ///< its instruction
  uint32_t other_stamp;  ///< of its access
};

/// What an access does. An update is an atomic: it reads, and writes.
enum class Touch : uint8_t { read, write, strong_read, strong_write, update };
inline bool writes(Touch touch) { return touch != Touch::read && touch != Touch::strong_read; }

/// Bytes of a block's shared memory.
struct Span {
  uint32_t begin, bytes;
  uint32_t end() const { return begin + bytes; }
  bool meets(const Span& other) const { return begin < other.end() && other.begin < end(); }
};

struct NotedRead;

class Shadow {
 public:
  /// Whoever is told of objections.
  using ReportTo = FunctionRef<Objection>;

  explicit Shadow(Clocks& clocks) : clocks(clocks) {}

  /// Forgets the block before. `granule_bytes` is the smallest access of the kernel: what is told apart. The block's
  /// warps are the agents from `first_agent` on. `stamps_begin_anew`: what Clocks::start returned. `overwrites_reads`:
  /// a lane may write what other lanes of its warp have just read, so it is remembered which lanes read.
  void start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t first_agent, bool stamps_begin_anew,
                   bool overwrites_reads);

  /// An access by a warp, of this block or of another of its cluster.
  void touch(Touch touch, uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, ReportTo report) {
    if (!is_own(warp)) visit(warp, site);
    switch (touch) {
      case Touch::read: return read(warp, site, lanes, pattern, false, report);
      case Touch::strong_read: return read(warp, site, lanes, pattern, true, report);
      case Touch::write: return write(warp, site, lanes, pattern, false, report);
      case Touch::strong_write: return write(warp, site, lanes, pattern, true, report);
      case Touch::update: return update(warp, site, lanes, pattern, report);
    }
  }
  /// A thread's strong write to a few bytes, as mbarrier.init makes it.
  void write_strongly(uint32_t warp, uint32_t lane, uint32_t site, Span span, ReportTo report);

  /// A copy into shared memory begins; its data arrive at some time before it is waited for.
  void begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, ReportTo report);
  /// The thread that began the copy of these bytes has waited for it; or it has ended as something that `agent` did.
  void end_copy(uint32_t agent, uint32_t lane, uint64_t address, uint32_t bytes);

  /// The async proxy begins to write, issued by a thread; and it has written, as `agent`, or for the warp that waited.
  void begin_async_write(uint32_t warp, uint32_t lane, uint32_t site, Span span, ReportTo report);
  void end_async_write(uint32_t agent, Span span, uint8_t swizzle = unknown_swizzle);
  /// The async proxy begins to read, under a number of the caller's; and it has read all that has this number.
  void begin_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span, ReportTo report);
  void end_async_read(uint64_t number, uint32_t agent);
  /// The two halves of begin_async_read, where what is read lies scattered in what is under way.
  void check_async_read(uint32_t warp, uint32_t lane, Span span, ReportTo report) const;
  void note_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span);

  /// Tiles are written in patterns: the bytes of a swizzle's span, 0 where the tile lies as it is.
  static constexpr uint8_t unknown_swizzle = 0xff;
  void note_swizzle(Span span, uint8_t swizzle);
  /// Whether all of this was written by copies that the warp knows to be complete, in this pattern (or in none that is
  /// known), and by nobody since. What is asked of a whole tile at once need not be asked of its pieces.
  bool is_landed(uint32_t warp, Span span, uint32_t swizzle) const;
  /// The pattern in which this was written; unknown where it was not by a copy of a tile.
  uint8_t swizzle_at(uint32_t address) const;
  /// The instruction that wrote this last.
  uint32_t writer_site(uint32_t address) const { return write_site_[granule_of(address)]; }

  /// An agent that is no warp of the block has to do with its memory otherwise than by an access: it arrives at an
  /// mbarrier there.
  void visit(uint32_t agent, uint32_t site);
  /// Calls report(agent, site) for each agent whose last dealings with this memory no warp of the block knows of.
  void unknown_visits(const std::function<void(uint32_t agent, uint32_t site)>& report) const;

  Clocks& clocks;

 private:
  /// An agent, or one of a warp's threads, that accessed a granule.
  struct Who {
    uint16_t agent;
    uint8_t lane;  ///< warp_size where it is none, or not known
    bool strong : 1, async : 1;
    uint8_t unused : 6 = 0;

    Who of(uint32_t its_lane) const { return {agent, static_cast<uint8_t>(its_lane), strong, async}; }
    bool operator==(const Who&) const = default;
  };
  /// The last read of each agent.
  using ByAgent = std::vector<uint32_t>;
  struct AsyncRead {
    uint64_t number;
    Span span;
    uint32_t agent, lane, site, stamp;
  };
  /// Reads of one kind, weak or strong. Apart from one another, since strong ones are no race with strong writes.
  struct Reads {
    std::vector<uint32_t> stamp;    ///< one element per granule; none where the kernel has no such reads
    std::vector<uint32_t> readers;  ///< of the stamp, a bit for each of the block's warps
    /// Reads of the same granule at different stamps, none ordered after the others, and reads by agents that are not
    /// the block's: rare.
    std::unordered_map<uint32_t, ByAgent> earlier;

    void start(size_t granules, bool anew);
    void resize(size_t granules);
  };
  /// What a copy of the async proxy has written and nobody has written to since.
  struct Tile {
    Span span;
    uint32_t agent, stamp;
    uint8_t swizzle;
  };
  struct Visit {
    uint32_t stamp, site;
  };

  template <class Fast, class Slow>
  void over_granules(const Lanes& lanes, const Pattern& pattern, Fast fast, Slow slow);
  void read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, bool strong, ReportTo report);
  void write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, bool strong, ReportTo report);
  NotedRead noted_read(uint32_t warp, uint32_t site, Reads& reads);
  void read_runs(uint32_t warp, const Lanes& lanes, const Pattern& pattern, bool strong, const NotedRead& noted,
                 uint32_t reading, ReportTo report);
  void note_readers(uint32_t first, uint32_t count, uint32_t reading, const uint32_t* lane);
  void write_runs(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, Who who, ReportTo report);
  void update(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, ReportTo report);
  void check_read(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, ReportTo report) const;
  void check_own_reads(uint32_t warp, uint32_t lane, uint32_t granule, ReportTo report) const;
  void read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, bool strong, ReportTo report);
  void write_slowly(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, ReportTo report);
  template <class Body>
  void for_async_reads(uint32_t warp, Span span, Body body) const;
  bool any_async_read(uint32_t warp, Span span) const;
  void check_async_reads(uint32_t warp, uint32_t lane, Span span, ReportTo report) const;
  uint32_t end_of_same_past(uint32_t first, uint32_t last) const;
  bool all_before(uint32_t first, uint32_t last, uint32_t clear) const;
  bool all_known(uint32_t warp, uint32_t first, uint32_t last, uint32_t clear) const;
  bool all_visible(uint32_t warp, uint32_t first, uint32_t last) const;
  void mark_written(uint32_t granule, Who who, uint32_t site);
  void mark_written(uint32_t first, uint32_t last, Who who, uint32_t site, uint32_t stamp);
  void forget_tiles(uint64_t begin, uint64_t end);
  void tidy_reads();
  bool is_ordered(uint32_t warp, uint32_t lane, Who before, uint32_t stamp) const;
  /// Up to which stamp that holds of any of its lanes.
  uint32_t known_of(uint32_t warp, uint32_t agent) const {
    return agent == warp ? clocks.lanes_met(warp) : clocks.seen(warp, agent);
  }
  void forget_ordered_reads();
  /// Whatever has a stamp up to this happened before the warp's next access to this memory, whoever did it.
  uint32_t clear_of_all(uint32_t warp) const {
    const uint32_t clear = clocks.clear(warp);
    if (last_visit_ == 0) return clear;
    const uint32_t clear_of_others = clocks.clear_of_others(warp);
    return last_visit_ <= clear_of_others ? clear : std::min(clear, clear_of_others);
  }
  bool is_own(uint32_t agent) const { return agent - first_agent_ < clocks.warps_per_block(); }
  uint32_t granule_of(uint64_t address) const { return static_cast<uint32_t>(address >> shift_); }
  uint64_t address(uint32_t granule) const { return uint64_t{granule} << shift_; }

  static constexpr uint32_t under_way = ~0u;  ///< write stamp of a granule that a copy is about to fill

  uint32_t shift_ = 2;
  uint32_t first_agent_ = 0;

  // One element per granule. Apart, because the usual check looks at stamps only, many in one go.
  std::vector<uint32_t> write_stamp_, write_site_, read_site_;
  std::vector<Who> writer_;
  /// Which lane read this last, weakly: the lane, or Pattern::several, added to its warp's Clocks::reading;
  /// empty where nothing asks for it.
  std::vector<uint32_t> reader_;
  Reads weak_, strong_;
  uint32_t reads_since_ = 0;                ///< the meeting of all agents after which the earlier ones were made
  std::vector<AsyncRead> reads_under_way_;  ///< by number; of those that are over the stamp is 0
  size_t oldest_read_ = 0;                  ///< of them that may go on
  std::vector<AsyncRead> reads_done_;
  size_t tidy_at_ = 0;  ///< as many of the latter as are looked through for those that stand for others
  std::vector<Tile> tiles_;
  Span tiled_{0, 0};  ///< from the first of them to the last
  std::vector<uint8_t>
      swizzle_;  ///< by 16 bytes, as long as the async proxy wrote them last; empty where none is known
  std::map<uint32_t, Visit> visits_;  ///< by agent
  uint32_t last_visit_ = 0;           ///< its stamp
};

}  // namespace sim
