#include "watch/clocks.h"

#include <algorithm>

#include "base/types.h"

namespace sim {

bool Clocks::start(uint32_t warps) {
  const bool from_zero = start_ == 0 || now_ > 0x7fffffff;
  if (from_zero) now_ = 1;
  start_ = now_ + 1;
  now_ = start_ + 1;
  last_meeting_ = start_;
  warps_ = warps;
  flags_.clear();
  for (uint32_t warp = 0; warp < warps_; ++warp) {
    of_[warp].known.seen.fill(start_);
    of_[warp].lanes_met = of_[warp].clear = start_;
    of_[warp].has_fenced = of_[warp].has_observed = false;
  }
  return from_zero;
}

void Clocks::release(uint32_t warp, SyncClock& into) {
  into.join(of_[warp].known);
  into.seen[warp] = now_;
  ++now_;
}

void Clocks::acquire(uint32_t warp, const SyncClock& from) {
  of_[warp].known.join(from);
  update_clear(warp);
}

void Clocks::meet(uint32_t waiting, SyncClock& clock) {
  const uint32_t all = warps_ == max_warps ? all_lanes : (1u << warps_) - 1;
  if (waiting == all) {
    for (uint32_t warp = 0; warp < warps_; ++warp) {
      of_[warp].known.seen.fill(now_);
      of_[warp].lanes_met = of_[warp].clear = now_;
    }
    last_meeting_ = now_++;
    return;
  }
  for_lanes(waiting, [&](uint32_t warp) {
    clock.join(of_[warp].known);
    clock.seen[warp] = now_;
  });
  for_lanes(waiting, [&](uint32_t warp) {
    of_[warp].lanes_met = now_;
    acquire(warp, clock);
  });
  ++now_;
}

void Clocks::warp_met(uint32_t warp) {
  of_[warp].lanes_met = now_;
  ++now_;
  update_clear(warp);
}

void Clocks::fence(uint32_t warp) {
  WarpClock& clock = of_[warp];
  if (clock.has_observed) acquire(warp, clock.observed);
  clock.has_observed = false;
  clock.fenced = {};
  release(warp, clock.fenced);
  clock.has_fenced = true;
}

void Clocks::strong_load(uint32_t warp, uint64_t address, Order order) {
  if (flags_.empty()) return;
  const auto flag = flags_.find(address);
  if (flag == flags_.end()) return;
  if (order == Order::acquire || order == Order::acquire_release) return acquire(warp, flag->second);
  WarpClock& clock = of_[warp];
  if (!clock.has_observed) clock.observed = {};
  clock.has_observed = true;
  clock.observed.join(flag->second);
}

void Clocks::strong_store(uint32_t warp, uint64_t address, Order order, bool update) {
  const bool releases = order == Order::release || order == Order::acquire_release;
  if (!releases && !of_[warp].has_fenced) {
    if (!update && !flags_.empty()) flags_.erase(address);
    return;
  }
  SyncClock& flag = flags_[address];
  if (!update) flag = {};
  if (releases)
    release(warp, flag);
  else
    flag.join(of_[warp].fenced);
}

void Clocks::update_clear(uint32_t warp) {
  WarpClock& clock = of_[warp];
  clock.clear = clock.lanes_met;
  for (uint32_t other = 0; other < warps_; ++other) {
    if (other != warp) clock.clear = std::min(clock.clear, clock.known.seen[other]);
  }
}

}  // namespace sim
