#include "machine/transfer.h"

#include <cstring>

#include "machine/block.h"

namespace sim {

void Transfers::start() {
  for (auto& of_warp : under_way_) of_warp.clear();
  for (auto& of_warp : committed_) of_warp.fill(0);
}

void Transfers::issue(uint32_t warp, Transfer transfer) {
  transfer.group = committed_[warp];
  under_way_[warp].push_back(transfer);
}

void Transfers::commit_group(uint32_t warp, uint32_t lanes) {
  for_lanes(lanes, [&](uint32_t lane) { ++committed_[warp][lane]; });
}

void Transfers::complete_groups(uint32_t warp, uint32_t lanes, uint64_t left) {
  const auto& committed = committed_[warp];
  complete(warp, lanes, block_.first_agent + warp,
           [&](const Transfer& each, uint32_t lane) { return each.group[lane] + left < committed[lane]; });
}

void Transfers::complete_all(uint32_t warp, uint32_t lanes) { complete_for(warp, lanes, block_.first_agent + warp); }

void Transfers::complete_for(uint32_t warp, uint32_t lanes, uint32_t agent) {
  complete(warp, lanes, agent, [](const Transfer&, uint32_t) { return true; });
}

template <class IsDone>
void Transfers::complete(uint32_t warp, uint32_t lanes, uint32_t agent, IsDone is_done) {
  const bool watch = block_.launch.options.watch;
  for (Transfer& transfer : under_way_[warp]) {
    uint32_t done = 0;
    for_lanes(transfer.lanes & lanes, [&](uint32_t lane) { done |= u32{is_done(transfer, lane)} << lane; });
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

void Transfers::arrive_by_lot(Random& random) {
  for (auto& of_warp : under_way_) {
    for (Transfer& transfer : of_warp) {
      const auto chosen = static_cast<uint32_t>(random.next() & random.next());  // a quarter of the lanes
      arrive(transfer, transfer.lanes & ~transfer.arrived & chosen);
    }
  }
}

}  // namespace sim
