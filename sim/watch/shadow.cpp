#include "watch/shadow.h"

#include <algorithm>

namespace sim {

void Shadow::start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t warps) {
  shift_ = static_cast<uint32_t>(std::countr_zero(granule_bytes));
  const size_t granules = (bytes + granule_bytes - 1) >> shift_;
  const bool stamps_begin_anew = clocks.start(warps);
  if (write_stamp_.size() != granules || stamps_begin_anew) {
    for (auto* each : {&write_stamp_, &write_site_, &read_stamp_, &read_site_, &readers_}) each->assign(granules, 0);
    writer_.assign(granules, {});
  }
  earlier_reads_.clear();
  strong_reads_.clear();
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
  if (touch == Touch::read) return read(warp, site, lanes, pattern, report);
  if (touch == Touch::write) return write(warp, site, lanes, pattern, report);
  forget_ordered_reads();
  const auto never_fast = [](uint32_t, uint32_t) { return false; };
  over_granules(lanes, pattern, never_fast, [&](uint32_t lane, uint32_t granule) {
    if (touch != Touch::strong_write) check_read(warp, lane, granule, true, report);
    if (touch == Touch::strong_read) {
      strong_reads_[granule][warp] = clocks.now();
      read_site_[granule] = site;
    } else {
      write_slowly(warp, lane, granule, true, report);
      mark_written(granule, warp, lane, true, site);
    }
  });
}

void Shadow::read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report) {
  const uint32_t start = clocks.start(), clear = clocks.clear(warp), now = clocks.now(), bit = 1u << warp;
  const uint32_t written_by = clear - start;
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        uint32_t* const write_stamp = write_stamp_.data();
        uint32_t* const read_stamp = read_stamp_.data();
        uint32_t* const read_site = read_site_.data();
        uint32_t* const readers = readers_.data();
        bool wrong = false;
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) {
          wrong |= (write_stamp[g] - start > written_by) | ((read_stamp[g] != now) & (read_stamp[g] > clear));
        }
        if (wrong) return false;
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
  if (before.warp != warp) return stamp <= clocks.seen(warp, before.warp);
  return before.lane == lane || stamp <= clocks.lanes_met(warp);
}

void Shadow::check_read(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report) const {
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  const auto objection = [&](Objection::What what) {
    report({what, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  };
  if (stamp == under_way)
    objection(Objection::What::copy_under_way);
  else if (stamp < clocks.start())
    objection(Objection::What::never_written);
  else if (!(strong && writer.strong) && !is_ordered(warp, lane, writer, stamp))
    objection(Objection::What::read_of_write);
}

void Shadow::read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const ReportTo& report) {
  check_read(warp, lane, granule, false, report);
  const uint32_t bit = 1u << warp, now = clocks.now();
  if (read_stamp_[granule] == now) {
    readers_[granule] |= bit;
  } else {
    // Readers that are not ordered before this one must be remembered beside it.
    for_lanes(read_stamp_[granule] >= clocks.start() ? readers_[granule] & ~bit : 0u, [&](uint32_t other) {
      if (read_stamp_[granule] <= clocks.seen(warp, other)) return;
      uint32_t& earlier = earlier_reads_[granule][other];
      earlier = std::max(earlier, read_stamp_[granule]);
    });
    readers_[granule] = bit;
    read_stamp_[granule] = now;
  }
  read_site_[granule] = site;
}

void Shadow::write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const ReportTo& report) {
  forget_ordered_reads();
  const uint32_t clear = clocks.clear(warp);
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        const uint32_t* const write_stamp = write_stamp_.data();
        const uint32_t* const read_stamp = read_stamp_.data();
        bool wrong = false;
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) wrong |= (write_stamp[g] > clear) | (read_stamp[g] > clear);
        return !wrong && earlier_reads_.empty() && strong_reads_.empty();
      },
      [&](uint32_t lane, uint32_t granule) { write_slowly(warp, lane, granule, false, report); });
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule)
      mark_written(granule, warp, lane, false, site);
  });
}

void Shadow::write_slowly(uint32_t warp, uint32_t lane, uint32_t granule, bool strong, const ReportTo& report) {
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  if (stamp == under_way) {
    report({Objection::What::copy_under_way, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  } else if (stamp >= clocks.start() && !(strong && writer.strong) && !is_ordered(warp, lane, writer, stamp)) {
    report({Objection::What::write_of_write, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  }
  const auto read_before = [&](uint32_t other, uint32_t read_stamp) {
    if (other == warp || read_stamp <= clocks.seen(warp, other)) return;
    report({Objection::What::write_of_read, address(granule), lane, other, warp_size, read_site_[granule]});
  };
  if (read_stamp_[granule] >= clocks.start())
    for_lanes(readers_[granule], [&](uint32_t other) { read_before(other, read_stamp_[granule]); });
  const auto forget = [&](std::unordered_map<uint32_t, ByWarp>& reads) {
    const auto found = reads.find(granule);
    if (found == reads.end()) return;
    for (uint32_t other = 0; other < clocks.warps(); ++other) read_before(other, found->second[other]);
    reads.erase(found);
  };
  forget(earlier_reads_);
  if (!strong) forget(strong_reads_);
}

void Shadow::mark_written(uint32_t granule, uint32_t warp, uint32_t lane, bool strong, uint32_t site) {
  write_stamp_[granule] = clocks.now();
  write_site_[granule] = site;
  writer_[granule] = {static_cast<uint8_t>(warp), static_cast<uint8_t>(lane & 0x7f), strong};
}

/// Where all warps have met since, no earlier read matters any more.
void Shadow::forget_ordered_reads() {
  if (reads_since_ == clocks.last_meeting()) return;
  reads_since_ = clocks.last_meeting();
  earlier_reads_.clear();
  strong_reads_.clear();
}

void Shadow::begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern,
                        const ReportTo& report) {
  write(warp, site, lanes, pattern, report);
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t last = granule_of(lanes.address[lane] + lanes.bytes - 1);
    for (uint32_t granule = granule_of(lanes.address[lane]); granule <= last; ++granule)
      write_stamp_[granule] = under_way;
  });
}

void Shadow::end_copy(uint32_t warp, uint32_t lane, uint64_t address, uint32_t bytes) {
  const uint32_t last = granule_of(address + bytes - 1);
  for (uint32_t granule = granule_of(address); granule <= last; ++granule)
    mark_written(granule, warp, lane, false, write_site_[granule]);
}

}  // namespace sim
