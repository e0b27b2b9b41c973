#include "core/checks/shadow.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/host.h"

namespace sim {

/// What a warp's read of neighbouring granules looks at and notes, from the first of them on.
struct NotedRead {
  const uint32_t* write_stamp;
  uint32_t *read_stamp, *read_site, *readers;
  uint32_t start, written_by;  ///< what was written has a stamp from the one on, at most so much later
  uint32_t now, clear, site, bit;

  NotedRead from(uint32_t granule) const {
    NotedRead moved = *this;
    moved.write_stamp += granule, moved.read_stamp += granule, moved.read_site += granule, moved.readers += granule;
    return moved;
  }
};

namespace {

/// Whether some of `count` stamps are above this one.
[[gnu::always_inline]] inline bool any_above(const uint32_t* stamps, uint32_t count, uint32_t most) {
  uint32_t above = 0;  // a word: the compiler makes no vectors of a loop that ends in a bool
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) above |= stamps[i] > most ? 1u : 0u;
  return above != 0;
}

/// Notes the read if there is nothing to object to, and no other read to remember beside it.
[[gnu::always_inline]] inline bool note_read(const NotedRead& read, uint32_t count) {
  const auto [write_stamp, read_stamp, read_site, readers, start, written_by, now, clear, site, bit] = read;
  uint32_t wrong = 0;
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) {
    wrong |= write_stamp[i] - start > written_by ? 1u : 0u;
    wrong |= (read_stamp[i] != now) & (read_stamp[i] > clear) ? 1u : 0u;
  }
  if (wrong != 0) return false;
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) {
    readers[i] = (read_stamp[i] == now ? readers[i] : 0u) | bit;
    read_stamp[i] = now;
    read_site[i] = site;
  }
  return true;
}

/// What a warp's write looks at and notes where each lane takes a granule, the one after that of the lane before.
struct NotedWrite {
  uint32_t *write_stamp, *write_site, *writer;
  const uint32_t *read_stamp, *strong_read_stamp;
  uint32_t now, clear, site, first_writer, next_writer;
};

// The same with the host's vectors, where the call is worth it: above all where the count is the compiler's to know.
constexpr uint32_t many = 16;
WITH_THE_HOSTS_VECTORS bool any_of_many_above(const uint32_t* stamps, uint32_t count, uint32_t most) {
  return any_above(stamps, count, most);
}
WITH_THE_HOSTS_VECTORS bool note_read_of_many(const NotedRead& read, uint32_t count) { return note_read(read, count); }
WITH_THE_HOSTS_VECTORS bool note_read_of_warp(const NotedRead& read) { return note_read(read, warp_size); }
WITH_THE_HOSTS_VECTORS void fill_many(uint32_t* to, uint32_t count, uint32_t value) { std::fill_n(to, count, value); }

/// As many words as a warp has lanes, each so much more than the one before.
WITH_THE_HOSTS_VECTORS void fill_by_lane(uint32_t* to, uint32_t first, uint32_t step) {
  for (uint32_t lane = 0; lane < warp_size; ++lane) to[lane] = first + lane * step;
}

/// Notes the write if all that was done there before has a stamp up to `clear`.
WITH_THE_HOSTS_VECTORS bool note_write_of_warp(const NotedWrite& write) {
  const auto [write_stamp, write_site, writer, read_stamp, strong_read_stamp, now, clear, site, first, next] = write;
  uint32_t above = 0;
#pragma GCC ivdep
  for (uint32_t i = 0; i < warp_size; ++i)
    above |= (write_stamp[i] > clear) | (read_stamp[i] > clear) | (strong_read_stamp[i] > clear) ? 1u : 0u;
  if (above != 0) return false;
#pragma GCC ivdep
  for (uint32_t i = 0; i < warp_size; ++i) {
    write_stamp[i] = now;
    write_site[i] = site;
    writer[i] = first + i * (next - first);
  }
  return true;
}

bool any_above_of(const std::vector<uint32_t>& stamps, uint32_t first, uint32_t last, uint32_t most) {
  const uint32_t* const from = stamps.data() + first;
  return last - first < many ? any_above(from, last - first, most) : any_of_many_above(from, last - first, most);
}

template <class T>
void fill(std::vector<T>& all, uint32_t first, uint32_t last, T value) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  auto* const to = reinterpret_cast<uint32_t*>(all.data()) + first;
  if (last - first < many)
    std::fill_n(to, last - first, std::bit_cast<uint32_t>(value));
  else
    fill_many(to, last - first, std::bit_cast<uint32_t>(value));
}

}  // namespace

void Shadow::Reads::resize(size_t granules) {
  stamp.assign(granules, 0);
  readers.assign(granules, 0);
}

void Shadow::Reads::start(size_t granules, bool anew) {
  earlier.clear();
  if (anew && !stamp.empty()) resize(granules);
}

void Shadow::start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t first_agent, bool stamps_begin_anew,
                         bool overwrites_reads) {
  first_agent_ = first_agent;
  shift_ = static_cast<uint32_t>(std::countr_zero(granule_bytes));
  const size_t granules = (bytes + granule_bytes - 1) >> shift_;
  const bool anew = write_stamp_.size() != granules || stamps_begin_anew;
  if (anew) {
    for (auto* each : {&write_stamp_, &write_site_, &read_site_}) each->assign(granules, 0);
    writer_.assign(granules, {});
    if (overwrites_reads) reader_.assign(granules, 0);
    weak_.resize(granules);
  }
  weak_.start(granules, anew);
  strong_.start(granules, anew);
  reads_under_way_.clear();
  oldest_read_ = 0;
  reads_done_.clear();
  tidy_at_ = 256;
  tiles_.clear();
  tiled_ = {0, 0};
  swizzle_.clear();
  visits_.clear();
  last_visit_ = 0;
}

// The lanes of an access are taken run by run of consecutive granules. `fast(first, last)` is a loop without branches
// that says whether all is well and, if it is, has done the bookkeeping; only where it is not are the lanes asked one
// by one.
template <class Fast, class Slow>
void Shadow::over_granules(const Lanes& lanes, const Pattern& pattern, Fast fast, Slow slow) {
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  bool well = true;
  for (const Pattern::Run& run : pattern.runs()) {
    const uint64_t from = base + static_cast<uint64_t>(run.offset);
    well &= fast(static_cast<uint32_t>(from >> shift_), static_cast<uint32_t>((from + run.bytes - 1) >> shift_) + 1);
  }
  if (well) return;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule) slow(lane, granule);
  });
}

namespace {

/// What is known of a granule's readers once `mine`, a lane and its warp's reading, has come to those before.
uint32_t with_reader(uint32_t before, uint32_t mine) {
  return mine | ((before ^ mine) - 1 < Pattern::several ? Pattern::several : 0);
}

}  // namespace

/// What a read of the warp notes, from the block's first granule on.
NotedRead Shadow::noted_read(uint32_t warp, uint32_t site, Reads& reads) {
  const uint32_t start = clocks.start(), clear = clear_of_all(warp);
  return {write_stamp_.data(),
          reads.stamp.data(),
          read_site_.data(),
          reads.readers.data(),
          start,
          clear - start,
          clocks.now(),
          clear,
          site,
          1u << (warp - first_agent_) % warp_size};
}

void Shadow::read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, bool strong,
                  ReportTo report) {
  Reads& reads = strong ? strong_ : weak_;
  if (reads.stamp.empty()) reads.resize(write_stamp_.size());
  // A collective load orders the lanes.
  const uint32_t reading = strong || lanes.rows || reader_.empty() ? 0 : clocks.reading(warp);
  const NotedRead noted = noted_read(warp, site, reads);
  if (pattern.takes_neighbours(shift_) && is_own(warp) && noted.clear >= noted.start) {
    const uint32_t first = granule_of(lanes.address[0]);
    if (note_read_of_warp(noted.from(first))) {
      if (reading != 0) note_readers(first, warp_size, reading, Pattern::in_order.data());
      return;
    }
  }
  read_runs(warp, lanes, pattern, strong, noted, reading, report);
}

void Shadow::read_runs(uint32_t warp, const Lanes& lanes, const Pattern& pattern, bool strong, const NotedRead& noted,
                       uint32_t reading, ReportTo report) {
  const bool own = is_own(warp) && noted.clear >= noted.start;
  const uint32_t* lane_of = reading == 0 ? nullptr : pattern.readers(shift_);
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        const uint32_t count = last - first;
        const uint32_t* const lane = lane_of;
        if (lane_of != nullptr) lane_of += count;
        if (!own) return false;
        if (!(count < many ? note_read(noted.from(first), count) : note_read_of_many(noted.from(first), count)))
          return false;
        if (lane != nullptr) note_readers(first, count, reading, lane);
        return true;
      },
      [&](uint32_t lane, uint32_t granule) {
        read_slowly(warp, lane, noted.site, granule, strong, report);
        if (reading != 0) reader_[granule] = with_reader(reader_[granule], reading + lane);
      });
}

/// Notes of neighbouring granules which lane reads each, besides those that have read it before.
void Shadow::note_readers(uint32_t first, uint32_t count, uint32_t reading, const uint32_t* lane) {
  uint32_t* const reader = reader_.data() + first;
#pragma GCC ivdep
  for (uint32_t g = 0; g < count; ++g) reader[g] = with_reader(reader[g], reading + lane[g]);
}

/// Whether an access with this stamp happened before the next one of the lane.
bool Shadow::is_ordered(uint32_t warp, uint32_t lane, Who before, uint32_t stamp) const {
  if (before.agent != warp) return clocks.has_seen(warp, before.agent, before.lane, stamp);
  return before.lane == lane || stamp <= clocks.lanes_met(warp);
}

void Shadow::check_read(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, ReportTo report) const {
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  const auto objection = [&](Objection::What what) {
    report({what, address(granule), lane, writer.agent, writer.lane, write_site_[granule], stamp});
  };
  if (stamp == under_way)
    objection(writer.async ? Objection::What::async_under_way : Objection::What::copy_under_way);
  else if (stamp < clocks.start())
    objection(Objection::What::never_written);
  else if (!(strong && writer.strong) && !is_ordered(warp, lane, writer, stamp))
    objection(Objection::What::read_of_write);
}

void Shadow::read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, bool strong, ReportTo report) {
  check_read(warp, lane, granule, strong, report);
  Reads& reads = strong ? strong_ : weak_;
  const uint32_t now = clocks.now();
  if (!is_own(warp)) {
    SyncClock::raise(reads.earlier[granule], warp, now);
    read_site_[granule] = site;
    return;
  }
  uint32_t& read_stamp = reads.stamp[granule];
  uint32_t& readers = reads.readers[granule];
  const uint32_t bit = 1u << (warp - first_agent_);
  if (read_stamp == now) {
    readers |= bit;
  } else {
    // Readers that are not ordered before this one must be remembered beside it.
    for_lanes(read_stamp >= clocks.start() ? readers & ~bit : 0u, [&](uint32_t other) {
      const uint32_t agent = first_agent_ + other;
      if (clocks.has_seen(warp, agent, LaneStamps::any, read_stamp)) return;
      ByAgent& earlier = reads.earlier[granule];
      SyncClock::raise(earlier, agent, std::max(SyncClock::of(earlier, agent), read_stamp));
    });
    readers = bit;
    read_stamp = now;
  }
  read_site_[granule] = site;
}

/// A lane may overwrite what only it has read since something ordered the lanes of its warp.
void Shadow::check_own_reads(uint32_t warp, uint32_t lane, uint32_t granule, ReportTo report) const {
  if (reader_.empty()) return;
  const uint32_t reader = reader_[granule] - clocks.reading(warp);
  if (reader >= Clocks::reading_step || reader == lane) return;
  report({Objection::What::write_of_read, address(granule), lane, warp, std::min(reader, warp_size),
          read_site_[granule], weak_.stamp[granule]});
}

/// Whether all that was done to these granules has a stamp up to this.
bool Shadow::all_before(uint32_t first, uint32_t last, uint32_t clear) const {
  return !any_above_of(write_stamp_, first, last, clear) && !any_above_of(weak_.stamp, first, last, clear) &&
         (strong_.stamp.empty() || !any_above_of(strong_.stamp, first, last, clear));
}

/// Whether the warp knows of all that was written to these granules, whoever did it, and all reads have a stamp up to
/// this: where some warps have met at a barrier of their own.
bool Shadow::all_known(uint32_t warp, uint32_t first, uint32_t last, uint32_t clear) const {
  if (any_above_of(weak_.stamp, first, last, clear)) return false;
  if (!strong_.stamp.empty() && any_above_of(strong_.stamp, first, last, clear)) return false;
  const uint32_t* const stamp = write_stamp_.data();
  const Who* const writer = writer_.data();
  uint32_t agent = ~0u, known = 0, wrong = 0;
  for (uint32_t g = first; g < last; ++g) {
    if (writer[g].agent != agent) agent = writer[g].agent, known = known_of(warp, agent);
    wrong |= stamp[g] > known ? 1u : 0u;
  }
  return wrong == 0;
}

void Shadow::write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, bool strong,
                   ReportTo report) {
  forget_ordered_reads();
  const bool none_async = tiles_.empty() && reads_under_way_.empty() && reads_done_.empty();
  const bool none_earlier = weak_.earlier.empty() && strong_.earlier.empty();
  const Who who{static_cast<uint16_t>(warp), 0, strong, false};
  if (pattern.takes_neighbours(shift_) && none_async && none_earlier && is_own(warp)) {
    const uint32_t first = granule_of(lanes.address[0]);
    const uint32_t* const read_stamp = weak_.stamp.data() + first;
    if (note_write_of_warp(
            {write_stamp_.data() + first, write_site_.data() + first, reinterpret_cast<uint32_t*>(&writer_[first]),
             read_stamp, strong_.stamp.empty() ? read_stamp : strong_.stamp.data() + first, clocks.now(),
             clear_of_all(warp), site, std::bit_cast<uint32_t>(who), std::bit_cast<uint32_t>(who.of(1))}))
      return;
  }
  write_runs(warp, site, lanes, pattern, who, report);
}

void Shadow::write_runs(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, Who who,
                        ReportTo report) {
  const bool strong = who.strong;
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  const Span all{static_cast<uint32_t>(base + static_cast<uint64_t>(pattern.low())),
                 static_cast<uint32_t>(pattern.high() - pattern.low())};
  forget_tiles(all.begin, all.end());
  if (!strong && any_async_read(warp, all)) {
    for_lanes(lanes.mask, [&](uint32_t lane) {
      check_async_reads(warp, lane, {static_cast<uint32_t>(lanes.address[lane]), lanes.bytes}, report);
    });
  }
  const uint32_t clear = is_own(warp) ? clear_of_all(warp) : 0;
  const bool none_earlier = weak_.earlier.empty() && strong_.earlier.empty();
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        return none_earlier && (all_before(first, last, clear) || all_known(warp, first, last, clear));
      },
      [&](uint32_t lane, uint32_t granule) {
        write_slowly(warp, lane, granule, strong, report);
        check_own_reads(warp, lane, granule, report);
      });
  for (const Pattern::Run& run : pattern.runs()) {
    const uint64_t from = base + static_cast<uint64_t>(run.offset);
    const uint32_t first = granule_of(from), last = granule_of(from + run.bytes - 1) + 1;
    fill(write_stamp_, first, last, clocks.now());
    fill(write_site_, first, last, site);
  }
  if (pattern.takes_neighbours(shift_)) {
    const auto first = std::bit_cast<uint32_t>(who), second = std::bit_cast<uint32_t>(who.of(1));
    fill_by_lane(reinterpret_cast<uint32_t*>(&writer_[granule_of(base)]), first, second - first);
    return;
  }
  Who* const writer = writer_.data();
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule) writer[granule] = who.of(lane);
  });
}

/// The lanes of an atomic act one after the other.
void Shadow::update(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, ReportTo report) {
  forget_ordered_reads();
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  if (!tiles_.empty())
    forget_tiles(base + static_cast<uint64_t>(pattern.low()), base + static_cast<uint64_t>(pattern.high()));
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule) {
      check_read(warp, lane, granule, true, report);
      write_slowly(warp, lane, granule, true, report);
      check_own_reads(warp, lane, granule, report);
      mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), true, false}, site);
    }
  });
}

void Shadow::write_slowly(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, ReportTo report) {
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  const auto objection = [&](Objection::What what) {
    report({what, address(granule), lane, writer.agent, writer.lane, write_site_[granule], stamp});
  };
  if (stamp == under_way) {
    objection(writer.async ? Objection::What::async_under_way : Objection::What::copy_under_way);
  } else if (stamp >= clocks.start() && !(strong && writer.strong) && !is_ordered(warp, lane, writer, stamp)) {
    objection(Objection::What::write_of_write);
  }
  const auto read_before = [&](uint32_t other, uint32_t read_stamp) {
    if (other == warp || clocks.has_seen(warp, other, LaneStamps::any, read_stamp)) return;
    report({Objection::What::write_of_read, address(granule), lane, other, warp_size, read_site_[granule], read_stamp});
  };
  const auto check = [&](Reads& reads) {
    if (reads.stamp[granule] >= clocks.start())
      for_lanes(reads.readers[granule],
                [&](uint32_t other) { read_before(first_agent_ + other, reads.stamp[granule]); });
    if (reads.earlier.empty()) return;
    const auto found = reads.earlier.find(granule);
    if (found == reads.earlier.end()) return;
    for (uint32_t other = 0; other < found->second.size(); ++other) read_before(other, found->second[other]);
    reads.earlier.erase(found);
  };
  check(weak_);
  if (!strong && !strong_.stamp.empty()) check(strong_);
}

void Shadow::write_strongly(uint32_t warp, uint32_t lane, uint32_t site, Span span, ReportTo report) {
  forget_tiles(span.begin, span.end());
  check_async_reads(warp, lane, span, report);
  for (uint32_t granule = granule_of(span.begin); granule <= granule_of(span.end() - 1); ++granule) {
    write_slowly(warp, lane, granule, true, report);
    check_own_reads(warp, lane, granule, report);
    mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), true, false}, site);
  }
}

void Shadow::mark_written(uint32_t granule, Who who, uint32_t site) {
  write_stamp_[granule] = clocks.now();
  write_site_[granule] = site;
  writer_[granule] = who;
}

void Shadow::mark_written(uint32_t first, uint32_t last, Who who, uint32_t site, uint32_t stamp) {
  fill(write_stamp_, first, last + 1, stamp);
  fill(write_site_, first, last + 1, site);
  fill(writer_, first, last + 1, who);
}

/// Where all warps have met since, no earlier read matters any more.
void Shadow::forget_ordered_reads() {
  if (reads_since_ == clocks.last_meeting()) return;
  reads_since_ = clocks.last_meeting();
  weak_.earlier.clear();
  strong_.earlier.clear();
  std::erase_if(reads_done_, [&](const AsyncRead& read) { return read.stamp <= reads_since_; });
}

// --- copies by cp.async ---

void Shadow::begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, ReportTo report) {
  write(warp, site, lanes, pattern, false, report);
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule)
      write_stamp_[granule] = under_way;
  });
}

void Shadow::end_copy(uint32_t agent, uint32_t lane, uint64_t address, uint32_t bytes) {
  const uint32_t last = granule_of(address + bytes - 1);
  for (uint32_t granule = granule_of(address); granule <= last; ++granule)
    mark_written(granule, {static_cast<uint16_t>(agent), static_cast<uint8_t>(lane), false, false},
                 write_site_[granule]);
  if (!is_own(agent)) visit(agent, write_site_[last]);
}

// --- the async proxy ---

void Shadow::begin_async_write(uint32_t warp, uint32_t lane, uint32_t site, Span span, ReportTo report) {
  check_async_reads(warp, lane, span, report);
  // Whoever comes later is ordered after them, or not after this write either.
  std::erase_if(reads_done_,
                [&](const AsyncRead& read) { return span.begin <= read.span.begin && read.span.end() <= span.end(); });
  forget_tiles(span.begin, span.end());
  const uint32_t first = granule_of(span.begin), last = granule_of(span.end() - 1);
  const bool told_apart = !weak_.earlier.empty() || !strong_.earlier.empty();
  const uint32_t clear = is_own(warp) ? clear_of_all(warp) : 0;
  if (told_apart || !all_before(first, last + 1, clear)) {
    // Neighbouring granules mostly have the same past, and a whole tile is asked for at once.
    for (uint32_t granule = first, alike; granule <= last; granule = alike) {
      alike = told_apart ? granule + 1 : end_of_same_past(granule, last);
      write_slowly(warp, lane, granule, false, report);
    }
    for (uint32_t granule = first; granule <= last && !reader_.empty(); ++granule)
      check_own_reads(warp, lane, granule, report);
  }
  mark_written(first, last, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), false, true}, site, under_way);
}

/// One past the granules from `first` to at most `last` of which the same is known as of the first.
uint32_t Shadow::end_of_same_past(uint32_t first, uint32_t last) const {
  constexpr uint32_t at_once = 64;
  const auto same = [first](const auto& all, uint32_t from, uint32_t to) {
    const auto* const each = reinterpret_cast<const uint32_t*>(all.data());
    const uint32_t of_first = each[first];
    uint32_t different = 0;  // without a way out: the compiler makes vectors of it
#pragma GCC ivdep
    for (uint32_t g = from; g < to; ++g) different |= each[g] ^ of_first;
    return different == 0;
  };
  static_assert(sizeof(Who) == sizeof(uint32_t));
  const auto same_past = [&](uint32_t from, uint32_t to) {
    return same(write_stamp_, from, to) && same(writer_, from, to) && same(weak_.stamp, from, to) &&
           same(weak_.readers, from, to) &&
           (strong_.stamp.empty() || (same(strong_.stamp, from, to) && same(strong_.readers, from, to)));
  };
  uint32_t at = first + 1;
  while (at + at_once <= last + 1 && same_past(at, at + at_once)) at += at_once;
  while (at <= last && same_past(at, at + 1)) ++at;
  return at;
}

void Shadow::end_async_write(uint32_t agent, Span span, uint8_t swizzle) {
  const uint32_t first = granule_of(span.begin), last = granule_of(span.end() - 1), site = write_site_[last];
  const Who who{static_cast<uint16_t>(agent), warp_size, false, true};
  fill(write_stamp_, first, last + 1, clocks.now());
  fill(writer_, first, last + 1, who);
  forget_tiles(span.begin, span.end());
  if (tiles_.empty()) tiled_ = span;
  tiles_.push_back({span, agent, clocks.now(), swizzle});
  const uint32_t end = std::max(tiled_.end(), span.end());
  tiled_.begin = std::min(tiled_.begin, span.begin);
  tiled_.bytes = end - tiled_.begin;
  if (!is_own(agent)) visit(agent, site);
}

void Shadow::forget_tiles(uint64_t begin, uint64_t end) {
  if (tiles_.empty() || end <= tiled_.begin || tiled_.end() <= begin) return;
  // Not at its edges, which may share a granule with what is beside it.
  const uint64_t from = begin >> shift_ << shift_, to = ((end - 1) >> shift_ << shift_) + (1u << shift_);
  std::erase_if(tiles_, [&](const Tile& tile) { return tile.span.begin < to && from < tile.span.end(); });
}

bool Shadow::is_landed(uint32_t warp, Span span, uint32_t swizzle) const {
  for (uint32_t at = span.begin; at < span.end();) {
    const auto holds = [&](const Tile& tile) { return tile.span.begin <= at && at < tile.span.end(); };
    const auto tile = std::find_if(tiles_.begin(), tiles_.end(), holds);
    if (tile == tiles_.end() || (tile->swizzle != unknown_swizzle && tile->swizzle != swizzle)) return false;
    if (tile->agent == warp || !clocks.has_seen(warp, tile->agent, LaneStamps::any, tile->stamp)) return false;
    at = tile->span.end();
  }
  return true;
}

/// What the generic proxy wrote is seen if its writer has fenced it since, and the thread that issues the read knows.
void Shadow::begin_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span,
                              ReportTo report) {
  check_async_read(warp, lane, span, report);
  note_async_read(number, warp, lane, site, span);
}

void Shadow::note_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span) {
  reads_under_way_.push_back({number, span, warp, lane, site, under_way});
}

/// Whether the warp knows of all that was written to these granules, and so does the async proxy: whichever lane wrote.
bool Shadow::all_visible(uint32_t warp, uint32_t first, uint32_t last) const {
  const uint32_t* const stamp = write_stamp_.data();
  const Who* const writer = writer_.data();
  const uint32_t start = clocks.start();
  for (uint32_t g = first; g < last;) {
    const uint16_t agent = writer[g].agent;
    const bool async = writer[g].async;
    uint32_t visible = known_of(warp, agent);
    if (!async) visible = std::min(visible, clocks.fenced(warp, agent));
    uint32_t wrong = visible < start ? 1u : 0u;
    for (; g < last && writer[g].agent == agent && writer[g].async == async; ++g)
      wrong |= stamp[g] - start > visible - start ? 1u : 0u;
    if (wrong != 0) return false;
  }
  return true;
}

void Shadow::check_async_read(uint32_t warp, uint32_t lane, Span span, ReportTo report) const {
  bool objected = false;  // neighbouring granules mostly share their fate
  const auto once = [&](const Objection& objection) {
    if (!std::exchange(objected, true)) report(objection);
  };
  const uint32_t first = granule_of(span.begin), last = granule_of(span.end() - 1);
  if (all_visible(warp, first, last + 1)) return;
  for (uint32_t granule = first; granule <= last; ++granule) {
    check_read(warp, lane, granule, false, once);
    const Who writer = writer_[granule];
    const uint32_t stamp = write_stamp_[granule];
    if (writer.async || stamp < clocks.start() || clocks.has_fenced(warp, writer.agent, writer.lane, stamp)) continue;
    once({Objection::What::unfenced, address(granule), lane, writer.agent, writer.lane, write_site_[granule], stamp});
  }
}

void Shadow::note_swizzle(Span span, uint8_t swizzle) {
  if (swizzle == unknown_swizzle && swizzle_.empty()) return;
  constexpr uint32_t unit = 16;
  swizzle_.resize((write_stamp_.size() << shift_) / unit + 1, unknown_swizzle);
  for (uint32_t at = span.begin / unit; at <= (span.end() - 1) / unit; ++at) swizzle_[at] = swizzle;
}

uint8_t Shadow::swizzle_at(uint32_t address) const {
  if (swizzle_.empty() || !writer_[granule_of(address)].async) return unknown_swizzle;
  return swizzle_[address / 16];
}

/// A later read of the same bytes by the same agent stands for an earlier one.
void Shadow::end_async_read(uint64_t number, uint32_t agent) {
  uint32_t site = 0;
  const auto is_before = [](const AsyncRead& read, uint64_t wanted) { return read.number < wanted; };
  const auto oldest = reads_under_way_.begin() + static_cast<ptrdiff_t>(oldest_read_);
  auto ended = std::lower_bound(oldest, reads_under_way_.end(), number, is_before);
  for (; ended != reads_under_way_.end() && ended->number == number; ++ended) {
    AsyncRead read = *ended;
    ended->stamp = 0;
    site = read.site;
    read.agent = agent;
    read.lane = warp_size;
    read.stamp = clocks.now();
    // The warps of a group read the same B one after the other.
    const size_t looked_at = std::min<size_t>(reads_done_.size(), 16);
    const auto same = [&](const AsyncRead& done) {
      return done.agent == agent && done.span.begin == read.span.begin && done.span.bytes == read.span.bytes;
    };
    const auto known = std::find_if(reads_done_.end() - static_cast<ptrdiff_t>(looked_at), reads_done_.end(), same);
    if (known == reads_done_.end())
      reads_done_.push_back(read);
    else
      *known = read;
  }
  while (oldest_read_ < reads_under_way_.size() && reads_under_way_[oldest_read_].stamp == 0) ++oldest_read_;
  if (2 * oldest_read_ >= reads_under_way_.size()) {
    reads_under_way_.erase(reads_under_way_.begin(), reads_under_way_.begin() + static_cast<ptrdiff_t>(oldest_read_));
    oldest_read_ = 0;
  }
  if (reads_done_.size() > tidy_at_) tidy_reads();
  if (!is_own(agent)) visit(agent, site);
}

void Shadow::tidy_reads() {
  std::vector<AsyncRead> kept;
  for (auto read = reads_done_.rbegin(); read != reads_done_.rend(); ++read) {
    const auto stands_for = [&](const AsyncRead& later) {
      return later.agent == read->agent && later.span.begin <= read->span.begin && read->span.end() <= later.span.end();
    };
    if (std::none_of(kept.begin(), kept.end(), stands_for)) kept.push_back(*read);
  }
  std::reverse(kept.begin(), kept.end());
  reads_done_ = std::move(kept);
  tidy_at_ = std::max<size_t>(256, 2 * reads_done_.size());
}

/// Calls body(read) for each asynchronous read of these bytes that is not known to be over.
template <class Body>
void Shadow::for_async_reads(uint32_t warp, Span span, Body body) const {
  for (size_t i = oldest_read_; i < reads_under_way_.size(); ++i) {
    if (const AsyncRead& read = reads_under_way_[i]; read.stamp == under_way && read.span.meets(span)) body(read);
  }
  for (const AsyncRead& read : reads_done_) {
    if (read.span.meets(span) && read.agent != warp && !clocks.has_seen(warp, read.agent, LaneStamps::any, read.stamp))
      body(read);
  }
}

bool Shadow::any_async_read(uint32_t warp, Span span) const {
  bool any = false;
  for_async_reads(warp, span, [&](const AsyncRead&) { any = true; });
  return any;
}

void Shadow::check_async_reads(uint32_t warp, uint32_t lane, Span span, ReportTo report) const {
  for_async_reads(warp, span, [&](const AsyncRead& read) {
    const bool goes_on = read.stamp == under_way;
    report({goes_on ? Objection::What::reads_under_way : Objection::What::write_of_read,
            std::max(read.span.begin, span.begin), lane, read.agent, goes_on ? read.lane : warp_size, read.site,
            read.stamp});
  });
}

// --- those that are not the block's ---

void Shadow::visit(uint32_t agent, uint32_t site) {
  last_visit_ = clocks.now();
  visits_[agent] = {last_visit_, site};
}

void Shadow::unknown_visits(const std::function<void(uint32_t agent, uint32_t site)>& report) const {
  for (const auto& [agent, visit] : visits_) {
    bool known = false;
    for (uint32_t warp = first_agent_; warp < first_agent_ + clocks.warps_per_block(); ++warp)
      known |= clocks.has_seen(warp, agent, LaneStamps::any, visit.stamp);
    if (!known) report(agent, visit.site);
  }
}

}  // namespace sim
