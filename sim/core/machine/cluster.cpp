#include "core/machine/cluster.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sim {

Cluster::Cluster(Launch& launch) : launch(launch), async(*this), doubtful(*this) {
  for (uint32_t rank = 0; rank < launch.cluster.count(); ++rank)
    blocks_.push_back(std::make_unique<Block>(*this, rank));
  order_.resize(blocks_.size());
  std::iota(order_.begin(), order_.end(), 0u);
}

void Cluster::start(uint64_t number) {
  number_ = number;
  random_ = Random(launch.options.seed * 0x9e3779b97f4a7c15u + number);
  events = launch.events && launch.events->asked.cluster == number ? launch.events : nullptr;
  accesses_.clear();
  if (events && events->asked.accesses) {
    for (uint32_t agent = 0; agent < blocks_.size() * launch.warps(); ++agent) accesses_.emplace_back(agent, *events);
  }
  GridFlags* const flags = launch.global && launch.program.syncs_grid ? &launch.global->flags : nullptr;
  const bool stamps_begin_anew =
      clocks.start(static_cast<uint32_t>(blocks_.size()), launch.warps(), flags, static_cast<uint32_t>(number));
  if (launch.global) launch.global->begins(number, clocks.start());
  async.start();
  waits.start();
  phase_ = 0;
  arrived_ = ended_ = futile_ = 0;
  gathering_.clear();
  met_.clear();
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank)
    blocks_[rank]->start(launch.index_of(number, rank), stamps_begin_anew);
}

Cluster::Progress Cluster::round() {
  if (launch.options.seed != 0) {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    async.land_by_lot(random_);
  }
  Block::Round sum;
  for (const uint32_t rank : order_) {
    const Block::Round round = blocks_[rank]->round();
    if (launch.given_up) return Progress::done;
    sum.ran |= round.ran;
    sum.progress |= round.progress;
    sum.alive |= round.alive;
  }
  if (!sum.alive) {
    async.land_all();
    return Progress::done;
  }
  if (!sum.ran) return unstick();
  if (sum.progress) return Progress::running;
  return async.land_oldest() ? Progress::running : Progress::polling;
}

bool Cluster::step(uint32_t rank, uint32_t warp, uint64_t instructions) {
  Warp& stepped = blocks_[rank]->warps()[warp];
  if (launch.given_up || stepped.state != Warp::State::running) return false;
  stepped.run(instructions);
  return true;
}

Cluster::Progress Cluster::settle() {
  if (launch.given_up) return Progress::done;
  bool alive = false;
  for (const auto& block : blocks_) {
    for (const Warp& warp : block->warps()) {
      if (warp.state == Warp::State::running) return Progress::running;
      alive |= warp.state != Warp::State::done;
    }
  }
  if (alive) return unstick();
  async.land_all();
  return Progress::done;
}

/// No warp can run, and not all have ended: what is under way lands, or some wait for others that have ended, or for
/// each other.
Cluster::Progress Cluster::unstick() {
  if (async.land_oldest()) return Progress::running;
  for (const auto& block : blocks_) {
    if (block->release_abandoned()) return Progress::running;
  }
  if (time_out() || let_others_pass()) return Progress::running;
  report_deadlock();
  launch.given_up = true;
  return Progress::done;
}

/// A try_wait does not wait for ever: some programs use it to look ahead, and go on all the same.
bool Cluster::time_out() {
  constexpr uint32_t most_futile = 8;
  if (++futile_ > most_futile) return false;
  bool some = false;
  for (const auto& block : blocks_) {
    for (Warp& warp : block->warps()) {
      if (warp.state != Warp::State::waiting || warp.waits_for.kind != Warp::Wait::Kind::mbarrier) continue;
      warp.timed_out = some = true;
      warp.state = Warp::State::running;
    }
  }
  return some;
}

/// Lanes may wait for others of their warp that are ahead of them.
bool Cluster::let_others_pass() {
  constexpr uint32_t most_futile = 64;
  if (++futile_ > most_futile) return false;
  bool some = false;
  for (const auto& block : blocks_) {
    for (Warp& warp : block->warps()) some |= warp.pass_over();
  }
  return some;
}

void Cluster::wake(Warp::Wait::Kind kind, const Block* block, uint32_t number) {
  futile_ = 0;
  for (const auto& each : blocks_) {
    for (Warp& warp : each->warps()) {
      const Warp::Wait& wait = warp.waits_for;
      if (warp.state == Warp::State::waiting && wait.kind == kind && wait.block == block &&
          (wait.number == number || kind == Warp::Wait::Kind::registers))
        warp.state = Warp::State::running;
    }
  }
}

// --- the cluster's barrier ---

void Cluster::arrive(Warp& warp, uint32_t lanes, bool releases) {
  if (events) [[unlikely]] {
    Event event{.kind = Event::Kind::cluster_arrive, .phase = static_cast<int64_t>(phase_)};
    event.agent = warp.agent, event.site = warp.here();
    if (events->leaves_out(event)) return;
    event.missing = static_cast<uint32_t>(blocks_.size() * launch.threads()) - arrived_ - ended_ -
                    static_cast<uint32_t>(std::popcount(lanes));
    note(warp, std::move(event));
  }
  if (launch.options.watch) clocks.arrive(warp.agent, gathering_, releases, warp.acting());
  arrived_ += static_cast<uint32_t>(std::popcount(lanes));
  meet_if_all_have_come();
}

void Cluster::leave(uint32_t lanes) {
  ended_ += static_cast<uint32_t>(std::popcount(lanes));
  if (arrived_ != 0) meet_if_all_have_come();
}

void Cluster::meet_if_all_have_come() {
  if (arrived_ + ended_ < blocks_.size() * launch.threads()) return;
  arrived_ = 0;
  if (events) [[unlikely]] {
    const uint64_t number = note(
        {.kind = Event::Kind::cluster_complete, .phase = static_cast<int64_t>(phase_), .cause = events->count() - 1});
    events->completes(0, Event::nobody, static_cast<int64_t>(phase_), number);
  }
  ++phase_;
  met_.join(gathering_);
  wake(Warp::Wait::Kind::cluster, nullptr, 0);
}

std::string Cluster::arrivals() const {
  return std::to_string(arrived_ + ended_) + " of " + std::to_string(blocks_.size() * launch.threads()) +
         " threads have come";
}

// --- events ---

uint64_t Cluster::note(Event event) {
  event.stamp = clocks.now() - clocks.start();
  return events->add(std::move(event));
}

uint64_t Cluster::note(const Warp& warp, Event event) {
  event.agent = warp.agent;
  event.site = warp.here();
  if (events->asked.clocks && launch.options.watch) event.seen = clocks.known(warp.agent);
  return note(std::move(event));
}

void Cluster::note_wait(const Warp& warp, const Warp::Wait& wait) {
  using Kind = Event::Kind;
  Event event{.agent = warp.agent, .site = warp.here(), .stamp = clocks.now() - clocks.start()};
  switch (wait.kind) {
    case Warp::Wait::Kind::barrier: return;  // its arrival says so
    case Warp::Wait::Kind::mbarrier:
      event.kind = Kind::mbarrier_wait;
      event.owner = wait.block->rank;
      event.barrier = wait.number;
      event.phase = static_cast<int64_t>(wait.phase);
      break;
    case Warp::Wait::Kind::cluster:
      event.kind = Kind::cluster_wait;
      event.phase = static_cast<int64_t>(warp.cluster_phase);
      break;
    case Warp::Wait::Kind::registers: event.kind = Kind::registers_wait; break;
    case Warp::Wait::Kind::warpgroup: event.kind = Kind::warpgroup_wait; break;
  }
  events->waits(std::move(event));
}

// --- reports ---

template <class Visit>
void Cluster::for_waiting(Visit visit) const {
  for (const auto& block : blocks_) {
    for (const Warp& warp : block->warps()) {
      if (warp.state == Warp::State::waiting) visit(*block, warp);
    }
  }
}

/// The name of the mistake, where what the warps wait for tells it.
Finding Cluster::kind_of_deadlock() const {
  bool bytes = false, parity = false, registers = false, others = false, only_first_phases = true;
  for_waiting([&](const Block&, const Warp& warp) {
    const Warp::Wait& wait = warp.waits_for;
    registers |= wait.kind == Warp::Wait::Kind::registers;
    if (wait.kind == Warp::Wait::Kind::cluster) return;  // whoever has nothing to do waits there for all others to end
    const Mbarrier* const mbarrier =
        wait.kind == Warp::Wait::Kind::mbarrier ? wait.block->mbarriers.find(wait.number) : nullptr;
    others = true;
    only_first_phases &= mbarrier && mbarrier->phase == 0 && mbarrier->pending == mbarrier->expected;
    if (!mbarrier) return;
    bytes |= mbarrier->pending == 0 && mbarrier->bytes != 0;
    // The phase before, which this warp has not waited for, is complete; for this one nobody has come.
    const auto passed = mbarrier->passed.find(warp.agent);
    const bool missed = mbarrier->phase > (passed == mbarrier->passed.end() ? 0 : passed->second);
    parity |= missed && mbarrier->pending == mbarrier->expected;
  });
  if (registers) return Finding::registers;
  if (bytes) return Finding::transaction_count;
  return parity || (others && only_first_phases) ? Finding::wrong_parity : Finding::deadlock;
}

/// Of a deadlock, where it tells the mistake: an mbarrier at which nobody has ever arrived.
std::string Cluster::nobody_arrives() const {
  std::string text;
  for_waiting([&](const Block&, const Warp& warp) {
    const Warp::Wait& wait = warp.waits_for;
    const Mbarrier* const mbarrier =
        wait.kind == Warp::Wait::Kind::mbarrier ? wait.block->mbarriers.find(wait.number) : nullptr;
    if (!mbarrier || mbarrier->last_site != ~0u || !text.empty()) return;
    text = "nobody has ever arrived at the mbarrier that " + warp.block.where(wait.site) +
           " waits for, initialised at " + warp.block.where(mbarrier->site) +
           ": the arrival that releases it is missing, or is not reached. ";
  });
  return text;
}

void Cluster::report_deadlock() {
  uint32_t site = nowhere;
  for_waiting([&](const Block&, const Warp& warp) { site = std::min(site, warp.waits_for.site); });
  const Finding kind = kind_of_deadlock();
  report(kind, site == nowhere ? 0 : site, nowhere, [&] {
    std::string text = kind == Finding::deadlock ? nobody_arrives() : "";
    if (kind == Finding::wrong_parity) {
      text =
          "a wait takes the wrong parity, or an arrival is missing: nobody has come to the phase that is waited for. A "
          "wait for parity p ends when the phase of parity p is complete; before the first phase, a wait for parity 1 "
          "ends at once, as a producer's first wait for an empty slot should. ";
    } else if (kind == Finding::transaction_count) {
      text =
          "the bytes that arrivals expect (expect_tx) and those that copies bring are not as many, or a copy is "
          "missing. ";
    }
    text += "deadlock in ";
    for (const auto& block : blocks_) {
      text += (block == blocks_.front() ? "block " : "; block ") + block->name() + ":";
      const std::vector<Warp>& warps = block->warps();
      for (size_t first = 0, last; first < warps.size(); first = last) {
        const std::string state = block->state_of(warps[first]);
        for (last = first + 1; last < warps.size() && block->state_of(warps[last]) == state;) ++last;
        text += (first == 0 ? " warp " : "; warp ") + std::to_string(first);
        if (last - first > 1) text += " (and those up to " + std::to_string(last - 1) + ")";
        text += state;
      }
    }
    return text;
  });
}

void Cluster::report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
                     const std::optional<Unordered>& unordered) {
  add_report(kind, here, there, message, false, unordered);
}

void Cluster::warn(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
                   const std::optional<Unordered>& unordered) {
  add_report(kind, here, there, message, true, unordered);
}

Unordered Cluster::unordered(uint32_t first, uint32_t stamp, uint32_t warp) const {
  const uint32_t since = stamp == Unordered::none ? stamp : clocks.since_start(stamp);
  Unordered made{{number_, first, agent_name(first), since},
                 {number_, warp, agent_name(warp), clocks.since_start(clocks.now())},
                 clocks.known(warp)};
  if (first >= clocks.warps()) return made;
  made.first_seen = clocks.known(first);
  made.first_learnt = clocks.since_start(clocks.learnt(first));
  return made;
}

void Cluster::add_report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message,
                         bool warning, const std::optional<Unordered>& unordered) {
  if (const auto [known, fresh] = reported_.try_emplace({kind, here, there}, 0u); !fresh) {
    ++known->second;
    return;
  }
  if (events && unordered) events->unordered.push_back({events->count(), kind, warning, *unordered});
  launch.reports.add(kind, launch.program.name, places(here, there), message, warning, 1, unordered);
}

SourceLines Cluster::places(uint32_t here, uint32_t there) const {
  const Program& program = launch.program;
  const auto where = [&](uint32_t site, bool own) {
    if (site == nowhere) return std::string();
    ptx::Location location = program.sites[site].location;
    if (own && location.caller_line != 0) location = {location.caller_file, location.caller_line};
    return program.where(location);
  };
  return {where(here, false), where(there, false), where(here, true), where(there, true)};
}

void Cluster::count_reports() {
  for (auto& [key, times] : reported_) {
    const auto& [kind, here, there] = key;
    if (times != 0) launch.reports.add(kind, launch.program.name, places(here, there), nullptr, false, times);
    times = 0;
  }
}

std::string Cluster::agent_name(uint32_t agent) const {
  if (agent >= clocks.warps()) return "a transfer";
  const Block& block = *blocks_[agent / launch.warps()];
  return "warp " + std::to_string(agent % launch.warps()) + " of block " + block.name();
}

std::string Cluster::thread(uint32_t agent, uint32_t lane) const {
  if (agent >= clocks.warps() || lane >= warp_size) return agent_name(agent);
  return blocks_[agent / launch.warps()]->thread(agent % launch.warps() * warp_size + lane);
}

}  // namespace sim
