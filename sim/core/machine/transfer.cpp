#include "core/machine/transfer.h"

#include <algorithm>
#include <cstring>

#include "core/machine/cluster.h"

namespace sim {

void Transfers::start() {
  for (auto& of_warp : under_way_) of_warp.clear();
  for (auto& of_warp : committed_) of_warp.fill(0);
  for (auto& of_warp : handed_over_) of_warp.clear();
  std::fill(agents_.begin(), agents_.end(), ~0u);
}

void Transfers::issue(uint32_t warp, Transfer transfer) {
  transfer.group = committed_[warp];
  transfer.stamp = block_.shadow.clocks.now();
  if (block_.cluster.events && transfer.lanes != 0) [[unlikely]] {
    const uint32_t lane = first_lane(transfer.lanes);
    note(warp, {.kind = Event::Kind::cp_async_issue,
                .bytes = int64_t{transfer.bytes} * std::popcount(transfer.lanes),
                .group = transfer.group[lane],
                .shared = transfer.destination[lane]});
  }
  under_way_[warp].push_back(transfer);
}

void Transfers::note(uint32_t warp, Event event) {
  event.owner = block_.rank;
  block_.cluster.note(block_.warps()[warp], std::move(event));
}

void Transfers::commit_group(uint32_t warp, uint32_t lanes) {
  if (block_.cluster.events && lanes != 0) [[unlikely]]
    note(warp, {.kind = Event::Kind::cp_async_commit, .group = committed_[warp][first_lane(lanes)]});
  for_lanes(lanes, [&](uint32_t lane) { ++committed_[warp][lane]; });
}

void Transfers::complete_groups(uint32_t warp, uint32_t lanes, uint64_t left) {
  const auto& committed = committed_[warp];
  wait(warp, lanes, [&](uint32_t group, uint32_t lane) { return group + left < committed[lane]; });
  if (block_.cluster.events && lanes != 0) [[unlikely]] {
    const uint64_t all = committed[first_lane(lanes)];
    note(warp, {.kind = Event::Kind::cp_async_wait, .group = all > left ? all - left : 0});
  }
}

void Transfers::wait_all(uint32_t warp, uint32_t lanes) {
  complete_all(warp, lanes);
  if (block_.cluster.events && lanes != 0) [[unlikely]]
    note(warp, {.kind = Event::Kind::cp_async_wait, .group = committed_[warp][first_lane(lanes)]});
}

void Transfers::complete_all(uint32_t warp, uint32_t lanes) {
  wait(warp, lanes, [](uint32_t, uint32_t) { return true; });
}

void Transfers::hand_over(uint32_t warp, uint32_t lane, SyncClock& arrivals) {
  Clocks& clocks = block_.shadow.clocks;
  if (agents_[warp] == ~0u) agents_[warp] = clocks.add_agent();
  std::vector<HandedOver>& known = handed_over_[warp];
  const uint32_t stamp = clocks.now();
  for (const Transfer& transfer : under_way_[warp]) {
    if (!(transfer.lanes >> lane & 1)) continue;
    const uint32_t group = transfer.group[lane];
    const auto same = [&](const HandedOver& each) { return each.lane == lane && each.group == group; };
    const auto found = std::find_if(known.begin(), known.end(), same);
    if (found != known.end())
      found->stamp = stamp;
    else
      known.push_back({lane, group, stamp});
  }
  complete(warp, 1u << lane, agents_[warp], [](uint32_t, uint32_t) { return true; });
  clocks.act(agents_[warp], arrivals);
}

/// The lanes wait for what is_done(group, lane) says: copies under way, and those that an mbarrier was told of.
template <class IsDone>
void Transfers::wait(uint32_t warp, uint32_t lanes, IsDone is_done) {
  complete(warp, lanes, block_.first_agent + warp, is_done);
  if (handed_over_[warp].empty()) return;
  SyncClock arrived;
  std::erase_if(handed_over_[warp], [&](const HandedOver& each) {
    if (!(lanes >> each.lane & 1) || !is_done(each.group, each.lane)) return false;
    SyncClock::raise(arrived.seen, agents_[warp], std::max(each.stamp, SyncClock::of(arrived.seen, agents_[warp])));
    return true;
  });
  if (!arrived.seen.empty()) block_.shadow.clocks.acquire(block_.first_agent + warp, arrived);
}

template <class IsDone>
void Transfers::complete(uint32_t warp, uint32_t lanes, uint32_t agent, IsDone is_done) {
  const bool watch = block_.launch.options.watch;
  for (Transfer& transfer : under_way_[warp]) {
    uint32_t done = 0;
    for_lanes(transfer.lanes & lanes, [&](uint32_t lane) { done |= u32{is_done(transfer.group[lane], lane)} << lane; });
    arrive(transfer, done & ~transfer.arrived);
    transfer.lanes &= ~done;
    if (!watch) continue;
    for_lanes(done,
              [&](uint32_t lane) { block_.shadow.end_copy(agent, lane, transfer.destination[lane], transfer.bytes); });
  }
  std::erase_if(under_way_[warp], [](const Transfer& transfer) { return transfer.lanes == 0; });
}

void Transfers::arrive(Transfer& transfer, uint32_t lanes) {
  for_lanes(lanes, [&](uint32_t lane) {
    std::byte* const to = block_.shared.data() + transfer.destination[lane];
    const uint32_t read = transfer.read[lane];
    if (read != 0) std::memcpy(to, reinterpret_cast<const std::byte*>(transfer.source[lane]), read);
    std::memset(to + read, 0, transfer.bytes - read);
  });
  transfer.arrived |= lanes;
}

uint32_t Transfers::issued(uint32_t warp, uint32_t lane, uint64_t address) const {
  const auto& all = under_way_[warp];
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Transfer& each) {
    return (each.lanes >> lane & 1) && address - each.destination[lane] < each.bytes;
  });
  return found == all.rend() ? 0 : found->stamp;
}

void Transfers::arrive_by_lot(Random& random) {
  for (auto& of_warp : under_way_) {
    for (Transfer& transfer : of_warp) {
      const auto chosen = static_cast<uint32_t>(random.next() & random.next());  // a quarter of the lanes
      arrive(transfer, transfer.lanes & ~transfer.arrived & chosen);
    }
  }
}

}  // namespace sim
