#include "core/checks/pattern.h"

#include <algorithm>
#include <bit>

#include "core/base/host.h"
#include "core/checks/served_words.h"

namespace sim {
namespace {

constexpr uint32_t bank_count = 32, bank_bytes = 4, sector_bytes = 32;

/// Calls body(lane, word, turn) for each word that a lane of `mask` wants: it is number `turn` of its bank's words.
template <class Body>
void for_words(const Lanes& lanes, uint32_t mask, Body body) {
  std::array<std::array<uint64_t, warp_size * 4>, bank_count> words;
  std::array<uint32_t, bank_count> distinct{};
  for_lanes(mask, [&](uint32_t lane) {
    const uint64_t first = lanes.address[lane] / bank_bytes;
    const uint64_t last = (lanes.address[lane] + lanes.bytes - 1) / bank_bytes;
    for (uint64_t word = first; word <= last; ++word) {
      auto& seen = words[word % bank_count];
      uint32_t& count = distinct[word % bank_count];
      const auto turn = static_cast<uint32_t>(std::find(seen.begin(), seen.begin() + count, word) - seen.begin());
      if (turn == count) seen[count++] = word;
      body(lane, word, turn);
    }
  });
}

/// Most distinct words in one bank, over the lanes of `mask`.
uint32_t passes(const Lanes& lanes, uint32_t mask) {
  uint32_t most = 0;
  for_words(lanes, mask, [&](uint32_t, uint64_t, uint32_t turn) { most = std::max(most, turn + 1); });
  return most;
}

/// Whether every active lane of `mask` has the address of lane^distance, as far as that one is active.
bool paired(const Lanes& lanes, uint32_t mask, uint32_t distance) {
  bool same = true;
  for_lanes(mask, [&](uint32_t lane) {
    const uint32_t other = lane ^ distance;
    if (mask >> other & 1) same &= lanes.address[lane] == lanes.address[other];
  });
  return same;
}

using OfLanes = std::array<uint64_t, warp_size>;

WITH_THE_HOSTS_VECTORS bool differ(const OfLanes& address, const OfLanes& offset, uint64_t base) {
  uint64_t different = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) different |= (address[lane] - base) ^ offset[lane];
  return different != 0;
}

}  // namespace

bool are_moved(const OfLanes& address, const OfLanes& offset, uint64_t base) { return !differ(address, offset, base); }

uint32_t sectors(const Lanes& lanes) {
  std::array<uint64_t, warp_size * 2> seen;
  uint32_t count = 0;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t first = lanes.address[lane] / sector_bytes;
    const uint64_t last = (lanes.address[lane] + lanes.bytes - 1) / sector_bytes;
    for (uint64_t sector = first; sector <= last; ++sector) {
      if (std::find(seen.begin(), seen.begin() + count, sector) == seen.begin() + count) seen[count++] = sector;
    }
  });
  return count;
}

namespace {

/// The active lanes of some, both ends included.
uint32_t active(const Lanes& lanes, uint32_t first, uint32_t last) {
  return static_cast<uint32_t>(((uint64_t{2} << (last - first)) - 1) << first) & lanes.mask;
}

/// Calls body(first lane, last lane, active lanes) for each group of lanes that go together.
template <class Body>
void for_groups(const Lanes& lanes, bool store, Body body) {
  const uint32_t parts = std::max(1u, lanes.bytes / bank_bytes);  // 1, 2 or 4
  const uint32_t part_lanes = warp_size / parts;
  const bool merges =
      !store && !lanes.rows && parts > 1 && (paired(lanes, lanes.mask, 1) || paired(lanes, lanes.mask, 2));

  // What goes together: two neighbouring parts where they merge, else each part alone.
  const uint32_t group_lanes = merges ? 2 * part_lanes : part_lanes;
  for (uint32_t from = 0; from < warp_size; from += group_lanes) {
    const uint32_t group = active(lanes, from, from + group_lanes - 1);
    if (group != 0) body(from, from + group_lanes - 1, group);
  }
}

}  // namespace

Wavefronts wavefronts(const Lanes& lanes, bool store) {
  Wavefronts result;
  uint32_t ideal = 0;
  for_groups(lanes, store, [&](uint32_t, uint32_t, uint32_t group) {
    result.count += passes(lanes, group);
    ++ideal;
  });
  // A pattern that repeats between parts without merging still takes a pass for each of them: those are not conflicts.
  result.conflicts = result.count - ideal;
  return result;
}

std::vector<LaneGroup> lane_groups(const Lanes& lanes, bool store) {
  std::vector<LaneGroup> groups;
  for_groups(lanes, store, [&](uint32_t first, uint32_t last, uint32_t group) {
    groups.push_back({first, last, passes(lanes, group)});
  });
  return groups;
}

std::vector<std::vector<ServedWord>> served_words(const Lanes& lanes, const LaneGroup& group) {
  std::vector<std::vector<ServedWord>> served(group.wavefronts);
  for_words(lanes, active(lanes, group.first, group.last), [&](uint32_t lane, uint64_t word, uint32_t turn) {
    auto& words = served[turn];
    auto found = std::find_if(words.begin(), words.end(), [&](const ServedWord& each) { return each.word == word; });
    if (found == words.end()) found = words.insert(found, {word, static_cast<uint32_t>(word % bank_count), 0});
    found->lanes |= 1u << lane;
  });
  return served;
}

void Pattern::learn(const Lanes& lanes) {
  mask_ = lanes.mask;
  const uint64_t base = lanes.address[first_lane(mask_)];
  phase_ = base;
  phase_mask_ = std::max(lanes.bytes, bank_bytes) - 1;
  low_ = 0, high_ = lanes.bytes;
  lane_bytes_ = lanes.bytes;
  readers_.clear();
  aligned_ = true;
  bool same = mask_ == all_lanes, side_by_side = same;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    offset_[lane] = lanes.address[lane] - base;
    same &= offset_[lane] == 0;
    side_by_side &= offset_[lane] == uint64_t{lane} * lanes.bytes;
  }
  spread_ = same ? Spread::same : side_by_side ? Spread::side_by_side : Spread::any;
  for_lanes(mask_, [&](uint32_t lane) {
    const auto offset = static_cast<int64_t>(offset_[lane]);
    low_ = std::min(low_, offset);
    high_ = std::max(high_, offset + lanes.bytes);
    aligned_ &= lanes.address[lane] % lanes.bytes == 0;
  });
  runs_.clear();
  find_runs(lanes.bytes);
}

/// `bytes`: of a lane.
void Pattern::find_runs(uint32_t bytes) {
  // Lanes that lie near each other take places of a lane's size, a bit each.
  std::array<uint64_t, 4> taken{};
  constexpr uint32_t word = 64;
  const uint64_t extent = static_cast<uint64_t>(high_) - static_cast<uint64_t>(low_);
  if (aligned_ && std::has_single_bit(bytes) && extent <= uint64_t{word} * taken.size() * bytes) {
    const auto shift = std::countr_zero(bytes);
    for_lanes(mask_, [&](uint32_t lane) {
      const auto place = static_cast<uint32_t>((static_cast<int64_t>(offset_[lane]) - low_) >> shift);
      taken[place / word] |= uint64_t{1} << place % word;
    });
    for (uint32_t i = 0; i < taken.size(); ++i) {
      for (uint64_t left = taken[i]; left != 0;) {
        const auto first = static_cast<uint32_t>(std::countr_zero(left));
        const auto places = static_cast<uint32_t>(std::countr_one(left >> first));
        add_run(low_ + int64_t{i * word + first} * bytes, places * bytes);
        if (first + places == word) break;
        left = left >> (first + places) << (first + places);
      }
    }
    return;
  }
  std::array<int64_t, warp_size> offsets;
  uint32_t count = 0;
  for (uint32_t left = mask_; left != 0; left &= left - 1)
    offsets[count++] = static_cast<int64_t>(offset_[first_lane(left)]);
  std::sort(offsets.begin(), offsets.begin() + count);
  for (uint32_t i = 0; i < count; ++i) add_run(offsets[i], bytes);
}

/// In the order of their offsets.
void Pattern::add_run(int64_t offset, uint32_t bytes) {
  const int64_t end = runs_.empty() ? 0 : runs_.back().offset + runs_.back().bytes;
  if (!runs_.empty() && offset <= end)
    runs_.back().bytes = static_cast<uint32_t>(std::max(end, offset + bytes) - runs_.back().offset);
  else
    runs_.push_back({offset, bytes});
}

constinit const std::array<uint32_t, warp_size> Pattern::in_order = [] {
  std::array<uint32_t, warp_size> lanes{};
  for (uint32_t lane = 0; lane < warp_size; ++lane) lanes[lane] = lane;
  return lanes;
}();

void Pattern::learn_readers(uint32_t granule_shift) const {
  constexpr uint32_t nobody = ~0u;
  granule_shift_ = granule_shift;
  uint32_t granules = 0;
  for (const Run& run : runs_) granules += run.bytes >> granule_shift;
  readers_.assign(granules, nobody);
  const uint32_t of_lane = lane_bytes_ >> granule_shift;
  for_lanes(mask_, [&](uint32_t lane) {
    const auto offset = static_cast<int64_t>(offset_[lane]);
    uint32_t before = 0;  // granules of the runs in front
    for (const Run& run : runs_) {
      if (offset < run.offset + run.bytes) {
        before += static_cast<uint32_t>((offset - run.offset) >> granule_shift);
        break;
      }
      before += run.bytes >> granule_shift;
    }
    for (uint32_t granule = before; granule < before + of_lane; ++granule)
      readers_[granule] = readers_[granule] == nobody ? lane : several;
  });
}

uint8_t Pattern::sectors_of_runs(uint64_t base) const {
  uint64_t next = 0, count = 0;  // none before this sector is counted again
  for (const Run& run : runs_) {
    const uint64_t begin = base + static_cast<uint64_t>(run.offset);
    const uint64_t first = std::max(begin / sector_bytes, next), last = (begin + run.bytes - 1) / sector_bytes;
    if (last < first) continue;
    count += last - first + 1;
    next = last + 1;
  }
  return static_cast<uint8_t>(count);
}

void Pattern::learn_global(const Lanes& lanes) {
  learn(lanes);
  sectors_.fill(0);
}

void Pattern::learn_shared(const Lanes& lanes, bool store) {
  learn(lanes);
  wavefronts_ = sim::wavefronts(lanes, store);
}

}  // namespace sim
