#include "core/checks/pattern.h"

#include <algorithm>

namespace sim {
namespace {

constexpr uint32_t bank_count = 32, bank_bytes = 4, sector_bytes = 32;

/// Most distinct words in one bank, over the lanes of `mask`.
uint32_t passes(const Lanes& lanes, uint32_t mask) {
  std::array<std::array<uint64_t, warp_size * 4>, bank_count> words;
  std::array<uint32_t, bank_count> distinct{};
  uint32_t most = 0;
  for_lanes(mask, [&](uint32_t lane) {
    const uint64_t first = lanes.address[lane] / bank_bytes;
    const uint64_t last = (lanes.address[lane] + lanes.bytes - 1) / bank_bytes;
    for (uint64_t word = first; word <= last; ++word) {
      auto& seen = words[word % bank_count];
      uint32_t& count = distinct[word % bank_count];
      if (std::find(seen.begin(), seen.begin() + count, word) != seen.begin() + count) continue;
      seen[count++] = word;
      most = std::max(most, count);
    }
  });
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

}  // namespace

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
    const uint32_t group = static_cast<uint32_t>(((uint64_t{1} << group_lanes) - 1) << from) & lanes.mask;
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

void Pattern::learn(const Lanes& lanes) {
  mask_ = lanes.mask;
  const uint64_t base = lanes.address[first_lane(mask_)];
  phase_ = base;
  phase_mask_ = std::max(lanes.bytes, bank_bytes) - 1;
  low_ = 0, high_ = lanes.bytes;
  aligned_ = true;
  std::vector<Run> pieces;
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
    pieces.push_back({offset, lanes.bytes});
  });
  std::sort(pieces.begin(), pieces.end(), [](const Run& a, const Run& b) { return a.offset < b.offset; });
  runs_.clear();
  for (const Run& piece : pieces) {
    const int64_t end = runs_.empty() ? 0 : runs_.back().offset + runs_.back().bytes;
    if (!runs_.empty() && piece.offset <= end) {
      runs_.back().bytes = static_cast<uint32_t>(std::max(end, piece.offset + piece.bytes) - runs_.back().offset);
    } else {
      runs_.push_back(piece);
    }
  }
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
