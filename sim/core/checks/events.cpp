#include "core/checks/events.h"

#include <algorithm>
#include <cstring>

namespace sim {

const char* name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::barrier_arrive: return "barrier_arrive";
    case Event::Kind::barrier_complete: return "barrier_complete";
    case Event::Kind::mbarrier_init: return "mbarrier_init";
    case Event::Kind::mbarrier_expect: return "mbarrier_expect";
    case Event::Kind::mbarrier_arrive: return "mbarrier_arrive";
    case Event::Kind::mbarrier_wait: return "mbarrier_wait";
    case Event::Kind::mbarrier_pass: return "mbarrier_pass";
    case Event::Kind::mbarrier_complete: return "mbarrier_complete";
    case Event::Kind::copy_issue: return "copy_issue";
    case Event::Kind::copy_land: return "copy_land";
    case Event::Kind::bulk_commit: return "bulk_commit";
    case Event::Kind::bulk_wait: return "bulk_wait";
    case Event::Kind::cp_async_issue: return "cp_async_issue";
    case Event::Kind::cp_async_commit: return "cp_async_commit";
    case Event::Kind::cp_async_wait: return "cp_async_wait";
    case Event::Kind::wgmma_issue: return "wgmma_issue";
    case Event::Kind::wgmma_commit: return "wgmma_commit";
    case Event::Kind::wgmma_wait: return "wgmma_wait";
    case Event::Kind::fence: return "fence";
    case Event::Kind::registers: return "registers";
    case Event::Kind::registers_wait: return "registers_wait";
    case Event::Kind::warpgroup_wait: return "warpgroup_wait";
    case Event::Kind::cluster_arrive: return "cluster_arrive";
    case Event::Kind::cluster_wait: return "cluster_wait";
    case Event::Kind::cluster_pass: return "cluster_pass";
    case Event::Kind::cluster_complete: return "cluster_complete";
    case Event::Kind::access: return "access";
    case Event::Kind::exit: return "exit";
    case Event::Kind::left_out: return "left_out";
  }
  return "?";
}

/// The last event, where it is kept.
Event* Events::last() { return !events_.empty() && events_.size() == next_ ? &events_.back() : nullptr; }

/// Whether this is what the last event did, by the next lane or the next instruction of a group.
bool Events::is_again(const Event& event) {
  using Kind = Event::Kind;
  const Event* const before = last();
  if (before == nullptr || before->agent != event.agent || before->owner != event.owner) return false;
  const bool left_out = before->kind == Kind::left_out && event.kind == Kind::mbarrier_arrive;
  if (before->kind != event.kind && !left_out) return false;
  switch (event.kind) {
    case Kind::cp_async_issue:
    case Kind::wgmma_issue: return before->group == event.group;
    case Kind::bulk_commit:
    case Kind::bulk_wait:
    case Kind::mbarrier_arrive:
    case Kind::mbarrier_pass:
      return before->site == event.site && before->barrier == event.barrier && before->phase == event.phase &&
             before->group == event.group;
    default: return false;
  }
}

uint64_t Events::add(Event event) {
  using Kind = Event::Kind;
  if (is_again(event)) {
    Event& before = *last();
    ++before.times;
    if (event.bytes) before.bytes = before.bytes.value_or(0) + *event.bytes;
    before.missing = event.missing;
    if (event.copy) issues_[*event.copy] = next_ - 1;
    return next_ - 1;
  }
  if (event.agent != Event::nobody) stopped_.erase(event.agent);
  if (event.kind == Kind::copy_issue || event.kind == Kind::wgmma_issue) issues_[*event.copy] = next_;
  if (next_ < asked.first + asked.most) events_.push_back(std::move(event));
  return next_++;
}

bool Events::leaves_out(const Event& arrival) {
  if (!asked.without) return false;
  if (is_again(arrival)) {
    const bool out = last()->kind == Event::Kind::left_out;
    if (out) ++last()->times;
    return out;
  }
  if (next_ != *asked.without) return false;
  Event out = arrival;
  out.kind = Event::Kind::left_out;
  add(std::move(out));
  return true;
}

void Events::waits(Event event) {
  const auto known = stopped_.find(event.agent);
  const auto same = [&](const Event& before) {
    return before.kind == event.kind && before.owner == event.owner && before.barrier == event.barrier &&
           before.phase == event.phase && before.site == event.site;
  };
  if (known != stopped_.end() && same(known->second)) return;
  const Event copy = event;
  add(std::move(event));
  stopped_[copy.agent] = copy;
}

uint64_t Events::completion(uint32_t owner, uint32_t barrier, int64_t phase) const {
  const auto found = completions_.find({owner, barrier, phase});
  return found == completions_.end() ? Event::none : found->second;
}

void Events::completes(uint32_t owner, uint32_t barrier, int64_t phase, uint64_t number) {
  completions_[{owner, barrier, phase}] = number;
}

uint64_t Events::issue(uint64_t copy) const {
  const auto found = issues_.find(copy);
  return found == issues_.end() ? Event::none : found->second;
}

void Events::accesses(uint32_t agent, uint32_t site, const Lanes& lanes, bool shared, bool store) {
  Event event{.kind = Event::Kind::access, .agent = agent, .site = site};
  event.access = Event::Access{lanes, shared, store};
  add(std::move(event));
  access_open_ = true;
}

void Events::executed(const std::byte* registers) {
  if (!std::exchange(access_open_, false)) return;
  Event* const event = last();
  if (event == nullptr || !event->access || event->site >= named.size()) return;
  for (const Named& each : named[event->site]) {
    Event::Register& made = event->access->registers.emplace_back(Event::Register{each.name, {}});
    for (uint32_t lane = 0; lane < warp_size; ++lane)
      std::memcpy(&made.lanes[lane], registers + each.offset + lane * each.bytes, each.bytes);
  }
}

std::vector<Event> Events::kept() const {
  if (asked.first >= events_.size()) return {};
  return {events_.begin() + static_cast<std::ptrdiff_t>(asked.first), events_.end()};
}

}  // namespace sim
