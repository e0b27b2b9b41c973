#include "core/checks/clocks.h"

#include <algorithm>

namespace sim {

uint32_t LaneStamps::of(uint32_t agent, uint32_t lane) const {
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), key(agent, lane));
  return found == keys_.end() || *found != key(agent, lane) ? 0 : stamps_[static_cast<size_t>(found - keys_.begin())];
}

void LaneStamps::insert(size_t at, uint32_t key, uint32_t stamp) {
  keys_.insert(keys_.begin() + static_cast<ptrdiff_t>(at), key);
  stamps_.insert(stamps_.begin() + static_cast<ptrdiff_t>(at), stamp);
}

void LaneStamps::raise(uint32_t agent, uint32_t lane, uint32_t stamp) {
  const uint32_t wanted = key(agent, lane);
  const auto at = static_cast<size_t>(std::lower_bound(keys_.begin(), keys_.end(), wanted) - keys_.begin());
  if (at == keys_.size() || keys_[at] != wanted) return insert(at, wanted, stamp);
  stamps_[at] = std::max(stamps_[at], stamp);
}

void LaneStamps::join(const LaneStamps& other) {
  if (keys_ == other.keys_) {  // mostly: those that have met before
    for (size_t i = 0; i < stamps_.size(); ++i) stamps_[i] = std::max(stamps_[i], other.stamps_[i]);
    return;
  }
  size_t at = 0;
  for (size_t i = 0; i < other.keys_.size(); ++i) {
    const uint32_t wanted = other.keys_[i];
    while (at < keys_.size() && keys_[at] < wanted) ++at;
    if (at == keys_.size() || keys_[at] != wanted)
      insert(at, wanted, other.stamps_[i]);
    else
      stamps_[at] = std::max(stamps_[at], other.stamps_[i]);
  }
}

bool Clocks::start(uint32_t blocks, uint32_t warps_per_block, GridFlags* grid, uint32_t cluster) {
  grid_ = grid;
  cluster_ = cluster;
  const bool from_zero = start_ == 0 || std::max(now_, readings_) > 0x7fffffff;
  if (from_zero) now_ = 1, readings_ = 0;
  start_ = now_ + 1;
  now_ = start_ + 1;
  last_meeting_ = start_;
  warps_per_block_ = warps_per_block;
  agents_ = blocks * warps_per_block;
  only_stamps_ = true;
  flags_.clear();
  of_.resize(agents_);
  for (WarpClock& clock : of_) {
    clock.reading = readings_ += reading_step;
    clock.known.clear();
    clock.known.seen.assign(agents_, start_);
    clock.lanes_met = clock.learnt = clock.clear = start_;
    clock.has_fenced = Scope::none;
    clock.has_observed = {};
  }
  return from_zero;
}

uint32_t Clocks::act(uint32_t agent, SyncClock& into) {
  SyncClock::raise(into.seen, agent, now_);
  return now_++;
}

void Clocks::release(uint32_t warp, SyncClock& into, uint32_t lanes) {
  into.join(of_[warp].known);
  if (lanes == all_lanes) {
    into.seen[warp] = now_;
  } else {
    only_stamps_ = false;
    into.seen[warp] = std::max(into.seen[warp], of_[warp].lanes_met);
    into.lanes_seen.raise(warp, LaneStamps::any, now_);
    for_lanes(lanes, [&](uint32_t lane) { into.lanes_seen.raise(warp, lane, now_); });
  }
  ++now_;
}

void Clocks::acquire(uint32_t warp, const SyncClock& from) {
  of_[warp].known.join(from);
  of_[warp].learnt = now_;
  begin_reading(warp);
  update_clear(warp);
}

void Clocks::arrive(uint32_t warp, SyncClock& into, bool releases, uint32_t lanes) {
  if (releases) return release(warp, into, lanes);
  if (of_[warp].has_fenced != Scope::none) into.join(of_[warp].fenced[0]);
}

void Clocks::wait(uint32_t warp, const SyncClock& from, bool acquires) {
  if (acquires) return acquire(warp, from);
  observe(warp, from, Scope::cta);
}

/// What is known by the next fence of this scope, or of a narrower one: each takes what it reaches.
void Clocks::observe(uint32_t warp, const SyncClock& from, Scope scope) {
  const size_t i = static_cast<size_t>(scope) - 1;
  WarpClock& clock = of_[warp];
  if (!clock.has_observed[i]) clock.observed[i].clear();
  clock.has_observed[i] = true;
  clock.observed[i].join(from);
}

void Clocks::meet(uint32_t first, uint32_t waiting, SyncClock& clock) {
  const uint32_t all = warps_per_block_ == warp_size ? all_lanes : (1u << warps_per_block_) - 1;
  if (waiting == all && agents_ == warps_per_block_ && only_stamps_) {  // everybody there is, with nothing but stamps
    for (WarpClock& each : of_) {
      each.known.seen.assign(agents_, now_);
      each.lanes_met = each.learnt = each.clear = now_;
      each.reading = readings_ += reading_step;
    }
    last_meeting_ = now_++;
    return;
  }
  for_lanes(waiting, [&](uint32_t warp) {
    clock.join(of_[first + warp].known);
    clock.seen[first + warp] = now_;
  });
  for_lanes(waiting, [&](uint32_t warp) {
    of_[first + warp].lanes_met = now_;
    acquire(first + warp, clock);
  });
  ++now_;
}

void Clocks::warp_met(uint32_t warp) {
  of_[warp].lanes_met = now_;
  begin_reading(warp);
  ++now_;
  update_clear(warp);
}

void Clocks::fence(uint32_t warp, uint32_t lanes, Scope scope) {
  WarpClock& clock = of_[warp];
  for (const Scope each : scopes) {
    const size_t i = static_cast<size_t>(each) - 1;
    if (each > scope) break;
    if (clock.has_observed[i]) acquire(warp, clock.observed[i]);
    clock.has_observed[i] = false;
  }
  SyncClock released;
  release(warp, released, lanes);
  for (const Scope each : scopes) {
    if (each <= scope) clock.fenced[static_cast<size_t>(each) - 1] = released;
  }
  clock.has_fenced = std::max(clock.has_fenced, scope);
  if (grid_ && scope == Scope::gpu) clock.published = released_by(cluster_, released);
}

void Clocks::fence_proxy(uint32_t warp, uint32_t lanes) {
  only_stamps_ = false;
  SyncClock& known = of_[warp].known;
  if (lanes == all_lanes)
    SyncClock::raise(known.fenced, warp, now_);
  else
    for_lanes(lanes, [&](uint32_t lane) { known.lanes_fenced.raise(warp, lane, now_); });
  // And what it knows of others: the writer may fence, or whoever has been told of the write, before the async proxy
  // acts for it. PTX says of this fence only that it takes effect within one thread, and composes.
  for (uint32_t agent = 0; agent < known.seen.size(); ++agent) {
    const uint32_t seen = agent == warp ? std::max(known.seen[agent], of_[warp].lanes_met) : known.seen[agent];
    SyncClock::raise(known.fenced, agent, std::max(SyncClock::of(known.fenced, agent), seen));
  }
  if (!known.lanes_seen.empty()) known.lanes_fenced.join(known.lanes_seen);
  ++now_;
}

SyncClock* Clocks::part(Flag& flag, uint32_t warp, Scope scope) {
  if (scope == Scope::cluster) return &flag.of_cluster;
  const uint32_t block = warp / warps_per_block_;
  if (flag.of_block.size() <= block) flag.of_block.resize(block + 1);
  return &flag.of_block[block];
}

void Clocks::take(uint32_t warp, const SyncClock& from, Order order, Scope scope) {
  if (order == Order::acquire || order == Order::acquire_release)
    acquire(warp, from);
  else
    observe(warp, from, scope);
}

void Clocks::strong_load(uint32_t warp, uint64_t address, Order order, Scope scope) {
  if (const auto flag = flags_.empty() ? flags_.end() : flags_.find(address); flag != flags_.end()) {
    take(warp, *part(flag->second, warp, Scope::cta), order, Scope::cta);
    if (scope >= Scope::cluster) take(warp, flag->second.of_cluster, order, Scope::cluster);
  }
  if (!grid_ || scope != Scope::gpu) return;
  SyncClock from;
  from.others = grid_->load(address);
  if (!from.others) return;
  only_stamps_ = false;
  KnownOthers& noticed = of_[warp].known.noticed;
  noticed = joined(noticed, from.others);
  if (const SyncClock* const own = from.others->of(cluster_)) from.join(*own);
  take(warp, from, order, Scope::gpu);
}

void Clocks::strong_store(uint32_t warp, uint64_t address, Order order, bool update, uint32_t lanes, Scope scope) {
  const bool releases = order == Order::release || order == Order::acquire_release;
  const WarpClock& clock = of_[warp];
  Scope reach = releases ? scope : std::min(scope, clock.has_fenced);
  // Of others whose fence the warp knows of, too: who writes may fence before the barrier, and another one raise the
  // flag behind it.
  KnownOthers fenced_by_others;
  if (grid_ && !releases && scope == Scope::gpu) {
    for (uint32_t other = 0; other < of_.size(); ++other) {
      const WarpClock& its = of_[other];
      if (other == warp || its.has_fenced != Scope::gpu) continue;
      const SyncClock& fenced = its.fenced.back();
      const uint32_t stamp = std::max(SyncClock::of(fenced.seen, other), fenced.lanes_seen.of(other, LaneStamps::any));
      if (!has_seen(warp, other, LaneStamps::any, stamp)) continue;
      fenced_by_others = joined(fenced_by_others, its.published);
      reach = Scope::gpu;
    }
  }
  if (!releases && reach == Scope::none) {
    if (update) return;
    if (grid_ && scope == Scope::gpu) grid_->store(address, nullptr, false);
    if (!flags_.empty()) flags_.erase(address);
    return;
  }
  SyncClock released;
  if (releases) release(warp, released, lanes);
  if (grid_ && scope == Scope::gpu) {
    const KnownOthers mine = releases              ? released_by(cluster_, released)
                             : reach == Scope::gpu ? joined(fenced_by_others, clock.published)
                                                   : nullptr;
    grid_->store(address, mine, update);
  }
  Flag& flag = flags_[address];
  if (!update) flag = {};
  for (const Scope each : {Scope::cta, Scope::cluster}) {
    if (each > reach || (!releases && each > clock.has_fenced)) continue;
    part(flag, warp, each)->join(releases ? released : clock.fenced[static_cast<size_t>(each) - 1]);
  }
}

void Clocks::update_clear(uint32_t warp) {
  WarpClock& clock = of_[warp];
  clock.clear = clock.lanes_met;
  const uint32_t first = first_of_block(warp);
  for (uint32_t other = first; other < first + warps_per_block_; ++other) {
    if (other != warp) clock.clear = std::min(clock.clear, clock.known.seen[other]);
  }
}

uint32_t Clocks::clear_of_others(uint32_t warp) const {
  const std::vector<uint32_t>& seen = of_[warp].known.seen;
  if (seen.size() < agents_) return 0;
  const auto first = seen.begin() + first_of_block(warp);
  const uint32_t before = first == seen.begin() ? ~0u : *std::min_element(seen.begin(), first);
  const auto after = first + warps_per_block_;
  return after == seen.end() ? before : std::min(before, *std::min_element(after, seen.end()));
}

}  // namespace sim
