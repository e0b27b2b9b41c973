#include "watch/shadow.h"

#include <algorithm>

namespace sim {

void Shadow::start_block(uint32_t bytes, uint32_t granule_bytes, uint32_t warps) {
  shift_ = static_cast<uint32_t>(std::countr_zero(granule_bytes));
  const size_t granules = (bytes + granule_bytes - 1) >> shift_;
  if (write_stamp_.size() != granules || now_ > 0x7fffffff) {
    for (auto* each : {&write_stamp_, &write_site_, &read_stamp_, &read_site_, &readers_}) each->assign(granules, 0);
    writer_.assign(granules, {});
    now_ = 1;
  }
  // Stamps of the block before are below the start, which no access has itself: what has one counts as untouched.
  start_ = now_ + 1;
  now_ = start_ + 1;
  warps_ = warps;
  earlier_reads_.clear();
  for (uint32_t warp = 0; warp < warps_; ++warp) {
    clock_[warp].seen.fill(start_);
    clock_[warp].lanes_met = clock_[warp].clear = start_;
  }
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
    const auto first = static_cast<uint32_t>(lanes.address[lane] >> shift_);
    const auto last = static_cast<uint32_t>((lanes.address[lane] + lanes.bytes - 1) >> shift_);
    for (uint32_t granule = first; granule <= last; ++granule) slow(lane, granule);
  });
}

void Shadow::read(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const Object& object) {
  const uint32_t written_by = clock_[warp].clear - start_, clear = clock_[warp].clear, now = now_, bit = 1u << warp;
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
          wrong |= (write_stamp[g] - start_ > written_by) | ((read_stamp[g] != now) & (read_stamp[g] > clear));
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
      [&](uint32_t lane, uint32_t granule) { read_slowly(warp, lane, site, granule, object); });
}

void Shadow::read_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const Object& object) {
  const Clock& clock = clock_[warp];
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  const auto objection = [&](Objection::What what) {
    object({what, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  };
  if (stamp == under_way)
    objection(Objection::What::copy_under_way);
  else if (stamp < start_)
    objection(Objection::What::never_written);
  else if (writer.warp != warp && stamp > clock.seen[writer.warp])
    objection(Objection::What::read_of_write);
  else if (writer.warp == warp && writer.lane != lane && stamp > clock.lanes_met)
    objection(Objection::What::read_of_write);

  const uint32_t bit = 1u << warp;
  if (read_stamp_[granule] == now_) {
    readers_[granule] |= bit;
  } else {
    // Readers that are not ordered before this one must be remembered beside it.
    for_lanes(read_stamp_[granule] >= start_ ? readers_[granule] & ~bit : 0u, [&](uint32_t other) {
      if (read_stamp_[granule] <= clock.seen[other]) return;
      uint32_t& earlier = earlier_reads_[granule][other];
      earlier = std::max(earlier, read_stamp_[granule]);
    });
    readers_[granule] = bit;
    read_stamp_[granule] = now_;
  }
  read_site_[granule] = site;
}

void Shadow::write(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern, const Object& object) {
  const uint32_t clear = clock_[warp].clear, now = now_;
  over_granules(
      lanes, pattern,
      [&](uint32_t first, uint32_t last) {
        const uint32_t* const write_stamp = write_stamp_.data();
        const uint32_t* const read_stamp = read_stamp_.data();
        bool wrong = false;
#pragma GCC ivdep
        for (uint32_t g = first; g < last; ++g) wrong |= (write_stamp[g] > clear) | (read_stamp[g] > clear);
        return !wrong && earlier_reads_.empty();
      },
      [&](uint32_t lane, uint32_t granule) { write_slowly(warp, lane, site, granule, object); });
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const auto first = static_cast<uint32_t>(lanes.address[lane] >> shift_);
    const auto last = static_cast<uint32_t>((lanes.address[lane] + lanes.bytes - 1) >> shift_);
    for (uint32_t granule = first; granule <= last; ++granule) mark_written(granule, now, warp, lane, site);
  });
}

void Shadow::write_slowly(uint32_t warp, uint32_t lane, uint32_t site, uint32_t granule, const Object& object) {
  (void)site;
  const Clock& clock = clock_[warp];
  const uint32_t stamp = write_stamp_[granule];
  const Who writer = writer_[granule];
  if (stamp == under_way) {
    object({Objection::What::copy_under_way, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  } else if (stamp >= start_ && ((writer.warp != warp && stamp > clock.seen[writer.warp]) ||
                                 (writer.warp == warp && writer.lane != lane && stamp > clock.lanes_met))) {
    object({Objection::What::write_of_write, address(granule), lane, writer.warp, writer.lane, write_site_[granule]});
  }
  const auto read_before = [&](uint32_t other) {
    object({Objection::What::write_of_read, address(granule), lane, other, warp_size, read_site_[granule]});
  };
  if (read_stamp_[granule] >= start_) {
    for_lanes(readers_[granule] & ~(1u << warp), [&](uint32_t other) {
      if (read_stamp_[granule] > clock.seen[other]) read_before(other);
    });
  }
  if (const auto found = earlier_reads_.find(granule); found != earlier_reads_.end()) {
    for (uint32_t other = 0; other < warps_; ++other) {
      if (other != warp && found->second[other] > clock.seen[other]) read_before(other);
    }
    earlier_reads_.erase(found);
  }
}

void Shadow::mark_written(uint32_t granule, uint32_t stamp, uint32_t warp, uint32_t lane, uint32_t site) {
  write_stamp_[granule] = stamp;
  write_site_[granule] = site;
  writer_[granule] = {static_cast<uint8_t>(warp), static_cast<uint8_t>(lane)};
}

void Shadow::begin_copy(uint32_t warp, uint32_t site, const Lanes& lanes, const Pattern& pattern,
                        const Object& object) {
  write(warp, site, lanes, pattern, object);
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const auto first = static_cast<uint32_t>(lanes.address[lane] >> shift_);
    const auto last = static_cast<uint32_t>((lanes.address[lane] + lanes.bytes - 1) >> shift_);
    for (uint32_t granule = first; granule <= last; ++granule) write_stamp_[granule] = under_way;
  });
}

void Shadow::end_copy(uint32_t warp, uint32_t lane, uint64_t address, uint32_t bytes) {
  const auto first = static_cast<uint32_t>(address >> shift_),
             last = static_cast<uint32_t>((address + bytes - 1) >> shift_);
  for (uint32_t granule = first; granule <= last; ++granule) {
    mark_written(granule, now_, warp, lane, write_site_[granule]);
  }
}

void Shadow::update_clear(uint32_t warp) {
  Clock& clock = clock_[warp];
  clock.clear = clock.lanes_met;
  for (uint32_t other = 0; other < warps_; ++other) {
    if (other != warp) clock.clear = std::min(clock.clear, clock.seen[other]);
  }
}

void Shadow::all_met() {
  for (uint32_t warp = 0; warp < warps_; ++warp) {
    clock_[warp].seen.fill(now_);
    clock_[warp].lanes_met = clock_[warp].clear = now_;
  }
  earlier_reads_.clear();
  ++now_;
}

void Shadow::leave_behind(uint32_t warp) {
  clock_[warp].released = clock_[warp].seen;
  clock_[warp].released[warp] = now_;
  ++now_;
}

void Shadow::some_met(uint32_t arrived, uint32_t waiting) {
  std::array<uint32_t, max_warps> joined{};
  for_lanes(arrived, [&](uint32_t warp) {
    if (waiting >> warp & 1) leave_behind(warp);
    for (uint32_t other = 0; other < warps_; ++other)
      joined[other] = std::max(joined[other], clock_[warp].released[other]);
  });
  for_lanes(waiting, [&](uint32_t warp) {
    for (uint32_t other = 0; other < warps_; ++other)
      clock_[warp].seen[other] = std::max(clock_[warp].seen[other], joined[other]);
    clock_[warp].lanes_met = now_ - 1;
    update_clear(warp);
  });
}

void Shadow::warp_met(uint32_t warp) {
  clock_[warp].lanes_met = now_;
  ++now_;
  update_clear(warp);
}

}  // namespace sim
