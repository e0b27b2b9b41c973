#include "core/checks/shadow.h"

#include <algorithm>
#include <utility>

namespace sim {

void Shadow::start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t first_agent, bool stamps_begin_anew) {
  first_agent_ = first_agent;
  shift_ = static_cast<uint32_t>(std::countr_zero(granule_bytes));
  const size_t granules = (bytes + granule_bytes - 1) >> shift_;
  if (write_stamp_.size() != granules || stamps_begin_anew) {
    for (auto* each : {&write_stamp_, &write_site_, &read_stamp_, &read_site_, &readers_}) each->assign(granules, 0);
    writer_.assign(granules, {});
  }
  earlier_reads_.clear();
  strong_reads_.clear();
  async_reads_.clear();
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

void Shadow::touch(Touch touch, uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern,
                   const ReportTo& report) {
  if (!is_own(warp)) visit(warp, site);
  if (touch == Touch::read) return read(warp, site, lanes, pattern, report);
  if (touch == Touch::write) return write(warp, site, lanes, pattern, report);
  forget_ordered_reads();
  const auto never_fast = [](uint32_t, uint32_t) { return false; };
  over_granules(lanes, pattern, never_fast, [&](uint32_t lane, uint32_t granule) {
    if (touch != Touch::strong_write) check_read(warp, lane, granule, true, report);
    if (touch == Touch::strong_read) {
      SyncClock::raise(strong_reads_[granule], warp, clocks.now());
      read_site_[granule] = site;
    } else {
      write_slowly(warp, lane, granule, true, report);
      mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), true, false}, site);
    }
  });
}

void Shadow::read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report) {
  const uint32_t start = clocks.start(), clear = clear_of_all(warp), now = clocks.now();
  const bool own = is_own(warp) && clear >= start;
  const uint32_t bit = 1u << (warp - first_agent_) % warp_size;
  const uint32_t written_by = clear - start;
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        uint32_t* const write_stamp = write_stamp_.data();
        uint32_t* const read_stamp = read_stamp_.data();
        uint32_t* const read_site = read_site_.data();
        uint32_t* const readers = readers_.data();
        uint32_t wrong = 0;  // a word: the compiler makes no vectors of a loop that ends in a bool
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) {
          wrong |= write_stamp[g] - start > written_by ? 1u : 0u;
          wrong |= (read_stamp[g] != now) & (read_stamp[g] > clear) ? 1u : 0u;
        }
        if (wrong != 0 || !own) return false;
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) {
          readers[g] = (read_stamp[g] == now ? readers[g] : 0u) | bit;
          read_stamp[g] = now;
          read_site[g] = site;
        }
        return true;
      },
      [&](uint32_t lane, uint32_t granule) { read_slowly(warp, lane, site, granule, report); });
}

/// Whether an access with this stamp happened before the next one of the lane.
bool Shadow::is_ordered(uint32_t warp, uint32_t lane, Who before, uint32_t stamp) const {
  if (before.agent != warp) return clocks.has_seen(warp, before.agent, before.lane, stamp);
  return before.lane == lane || stamp <= clocks.lanes_met(warp);
}

void Shadow::check_read(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report) const {
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

void Shadow::read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const ReportTo& report) {
  check_read(warp, lane, granule, false, report);
  const uint32_t now = clocks.now();
  if (!is_own(warp)) {
    SyncClock::raise(earlier_reads_[granule], warp, now);
    read_site_[granule] = site;
    return;
  }
  const uint32_t bit = 1u << (warp - first_agent_);
  if (read_stamp_[granule] == now) {
    readers_[granule] |= bit;
  } else {
    // Readers that are not ordered before this one must be remembered beside it.
    for_lanes(read_stamp_[granule] >= clocks.start() ? readers_[granule] & ~bit : 0u, [&](uint32_t other) {
      const uint32_t agent = first_agent_ + other;
      if (clocks.has_seen(warp, agent, LaneStamps::any, read_stamp_[granule])) return;
      ByAgent& earlier = earlier_reads_[granule];
      SyncClock::raise(earlier, agent, std::max(SyncClock::of(earlier, agent), read_stamp_[granule]));
    });
    readers_[granule] = bit;
    read_stamp_[granule] = now;
  }
  read_site_[granule] = site;
}

void Shadow::write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report) {
  forget_ordered_reads();
  if (!async_reads_.empty()) {
    for_lanes(lanes.mask, [&](uint32_t lane) {
      check_async_reads(warp, lane, {static_cast<uint32_t>(lanes.address[lane]), lanes.bytes}, report);
    });
  }
  const uint32_t clear = is_own(warp) ? clear_of_all(warp) : 0;
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        const uint32_t* const write_stamp = write_stamp_.data();
        const uint32_t* const read_stamp = read_stamp_.data();
        uint32_t wrong = 0;
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) wrong |= (write_stamp[g] > clear) | (read_stamp[g] > clear) ? 1u : 0u;
        return wrong == 0 && earlier_reads_.empty() && strong_reads_.empty();
      },
      [&](uint32_t lane, uint32_t granule) { write_slowly(warp, lane, granule, false, report); });
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule)
      mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), false, false}, site);
  });
}

void Shadow::write_slowly(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report) {
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
  if (read_stamp_[granule] >= clocks.start())
    for_lanes(readers_[granule], [&](uint32_t other) { read_before(first_agent_ + other, read_stamp_[granule]); });
  const auto forget = [&](std::unordered_map<uint32_t, ByAgent>& reads) {
    const auto found = reads.find(granule);
    if (found == reads.end()) return;
    for (uint32_t other = 0; other < found->second.size(); ++other) read_before(other, found->second[other]);
    reads.erase(found);
  };
  forget(earlier_reads_);
  if (!strong) forget(strong_reads_);
}

void Shadow::write_strongly(uint32_t warp, uint32_t lane, uint32_t site, Span span, const ReportTo& report) {
  check_async_reads(warp, lane, span, report);
  for (uint32_t granule = granule_of(span.begin); granule <= granule_of(span.end() - 1); ++granule) {
    write_slowly(warp, lane, granule, true, report);
    mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), true, false}, site);
  }
}

void Shadow::mark_written(uint32_t granule, Who who, uint32_t site) {
  write_stamp_[granule] = clocks.now();
  write_site_[granule] = site;
  writer_[granule] = who;
}

/// Where all warps have met since, no earlier read matters any more.
void Shadow::forget_ordered_reads() {
  if (reads_since_ == clocks.last_meeting()) return;
  reads_since_ = clocks.last_meeting();
  earlier_reads_.clear();
  strong_reads_.clear();
}

/// Whatever has a stamp up to this happened before the warp's next access to this memory, whoever did it.
uint32_t Shadow::clear_of_all(uint32_t warp) const {
  const uint32_t clear = clocks.clear(warp);
  if (last_visit_ == 0) return clear;
  const uint32_t clear_of_others = clocks.clear_of_others(warp);
  return last_visit_ <= clear_of_others ? clear : std::min(clear, clear_of_others);
}

// --- copies by cp.async ---

void Shadow::begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern,
                        const ReportTo& report) {
  write(warp, site, lanes, pattern, report);
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

void Shadow::begin_async_write(uint32_t warp, uint32_t lane, uint32_t site, Span span, const ReportTo& report) {
  check_async_reads(warp, lane, span, report);
  const uint32_t first = granule_of(span.begin), last = granule_of(span.end() - 1);
  // Neighbouring granules mostly have the same past, and a whole tile is asked for at once.
  const auto same_past = [&](uint32_t a, uint32_t b) {
    return write_stamp_[a] == write_stamp_[b] && writer_[a] == writer_[b] && read_stamp_[a] == read_stamp_[b] &&
           readers_[a] == readers_[b];
  };
  const bool told_apart = !earlier_reads_.empty() || !strong_reads_.empty();
  for (uint32_t granule = first; granule <= last; ++granule) {
    if (granule == first || told_apart || !same_past(granule, granule - 1))
      write_slowly(warp, lane, granule, false, report);
  }
  for (uint32_t granule = first; granule <= last; ++granule) {
    mark_written(granule, {static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), false, true}, site);
    write_stamp_[granule] = under_way;
  }
}

void Shadow::end_async_write(uint32_t agent, Span span) {
  uint32_t site = 0;
  for (uint32_t granule = granule_of(span.begin); granule <= granule_of(span.end() - 1); ++granule) {
    site = write_site_[granule];
    mark_written(granule, {static_cast<uint16_t>(agent), warp_size, false, true}, site);
  }
  if (!is_own(agent)) visit(agent, site);
}

/// What the generic proxy wrote is seen if its writer has fenced it since, and the thread that issues the read knows.
void Shadow::begin_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span,
                              const ReportTo& report) {
  check_async_read(warp, lane, span, report);
  note_async_read(number, warp, lane, site, span);
}

void Shadow::note_async_read(uint64_t number, uint32_t warp, uint32_t lane, uint32_t site, Span span) {
  async_reads_.push_back({number, span, warp, lane, site, under_way});
}

void Shadow::check_async_read(uint32_t warp, uint32_t lane, Span span, const ReportTo& report) const {
  bool objected = false;  // neighbouring granules mostly share their fate
  const ReportTo once = [&](const Objection& objection) {
    if (!std::exchange(objected, true)) report(objection);
  };
  for (uint32_t granule = granule_of(span.begin); granule <= granule_of(span.end() - 1); ++granule) {
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
  std::vector<Span> ended;
  uint32_t site = 0;
  for (AsyncRead& read : async_reads_) {
    if (read.number != number || read.stamp != under_way) continue;
    ended.push_back(read.span);
    site = read.site;
    read.agent = agent;
    read.lane = warp_size;
    read.stamp = clocks.now();
  }
  std::erase_if(async_reads_, [&](const AsyncRead& read) {
    if (read.agent != agent || read.stamp >= clocks.now()) return false;  // or under way, which is above
    return std::any_of(ended.begin(), ended.end(), [&](const Span& span) {
      return span.begin <= read.span.begin && read.span.end() <= span.end();
    });
  });
  if (!is_own(agent)) visit(agent, site);
}

void Shadow::check_async_reads(uint32_t warp, uint32_t lane, Span span, const ReportTo& report) const {
  for (const AsyncRead& read : async_reads_) {
    if (!read.span.meets(span)) continue;
    const uint32_t at = std::max(read.span.begin, span.begin);
    if (read.stamp == under_way)
      report({Objection::What::reads_under_way, at, lane, read.agent, read.lane, read.site, read.stamp});
    else if (read.agent != warp && !clocks.has_seen(warp, read.agent, LaneStamps::any, read.stamp))
      report({Objection::What::write_of_read, at, lane, read.agent, warp_size, read.site, read.stamp});
  }
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
