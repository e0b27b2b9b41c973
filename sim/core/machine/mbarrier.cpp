#include "core/machine/mbarrier.h"

#include <algorithm>
#include <cstring>

#include "core/machine/access.h"
#include "core/machine/cluster.h"

namespace sim {

uint64_t Mbarrier::word() const {
  const auto negated = [](uint32_t count) { return uint64_t{-count & most_arrivals}; };
  const uint64_t transactions = static_cast<uint64_t>(bytes) & ((uint64_t{1} << 21) - 1);
  return (phase & 1) << 63 | negated(pending) << 43 | transactions << 21 | negated(expected) << 1;
}

void Mbarriers::start() {
  at_.clear();
  waits_.clear();
  agents_.clear();
}

std::byte* Mbarriers::word_at(uint32_t address) const { return block_.shared.data() + address; }

void Mbarriers::store(const Mbarrier& mbarrier) {
  const uint64_t word = mbarrier.word();
  std::memcpy(word_at(mbarrier.address), &word, sizeof word);
}

bool Mbarriers::is_intact(const Mbarrier& mbarrier) const {
  const uint64_t word = mbarrier.word();
  return std::memcmp(word_at(mbarrier.address), &word, sizeof word) == 0;
}

const Mbarrier* Mbarriers::find(uint32_t address) const {
  const auto found = at_.find(address);
  return found == at_.end() ? nullptr : &found->second;
}

void Mbarriers::init(Warp& warp, uint32_t lane, uint32_t address, uint32_t count) {
  const auto who = [&] { return block_.what_it_does(warp, lane); };
  if (address % 8 != 0 || !block_.holds({address, 8})) {
    return block_.give_up(warp, address % 8 != 0 ? Finding::misaligned : Finding::out_of_bounds, [&] {
      return who() + ": an mbarrier takes 8 bytes at a multiple of 8 of the block's shared memory, not at " +
             std::to_string(address);
    });
  }
  if (count == 0 || count > Mbarrier::most_arrivals) {
    return block_.give_up(warp, Finding::mbarrier, [&] {
      return who() + ": an mbarrier for " + std::to_string(count) + " arrivals; from 1 to " +
             std::to_string(Mbarrier::most_arrivals) + " are possible";
    });
  }
  Clocks& clocks = block_.shadow.clocks;
  if (block_.launch.options.watch) {
    block_.shadow.write_strongly(warp.agent, lane, warp.here(), {address, 8},
                                 [&](const Objection& objection) { report_objection(warp, block_, objection); });
  }
  Mbarrier& made = at_[address] = {};
  made.address = address;
  made.expected = made.pending = count;
  made.site = warp.here();
  made.initialiser = {warp.agent, lane};
  made.initialised = clocks.now();
  store(made);
  if (block_.cluster.events) [[unlikely]] {
    warp.block.cluster.note(warp, {.kind = Event::Kind::mbarrier_init,
                                   .owner = block_.rank,
                                   .barrier = address,
                                   .phase = 0,
                                   .missing = count,
                                   .expected = count});
  }
}

void Mbarriers::invalidate(Warp& warp, uint32_t lane, uint32_t address) {
  if (used(warp, lane, address)) at_.erase(address);
}

void Mbarriers::fence_inits(const Warp& warp, uint32_t lanes) {
  for (auto& [address, mbarrier] : at_) {
    if (mbarrier.initialiser.agent == warp.agent && (lanes >> mbarrier.initialiser.lane & 1)) mbarrier.fenced = true;
  }
}

void Mbarriers::check_init_fence(Warp& warp, uint32_t lane, const Mbarrier& mbarrier) {
  const Mbarrier::Thread by = mbarrier.initialiser;
  if (mbarrier.fenced || block_.shadow.clocks.has_fenced(warp.agent, by.agent, by.lane, mbarrier.initialised)) return;
  warp.block.cluster.warn(Finding::unfenced, warp.here(), mbarrier.site, [&] {
    return block_.what_it_does(warp, lane) + ": will tell the mbarrier at " + block_.place(mbarrier.address) +
           ", initialised at " + block_.where(mbarrier.site) + " by " + block_.cluster.thread(by.agent, by.lane) +
           ", with no fence between: fence.mbarrier_init.release.cluster after the initialisation, or "
           "fence.proxy.async, "
           "makes sure that the async proxy sees it";
  });
}

Mbarrier* Mbarriers::used(Warp& warp, uint32_t lane, uint64_t address, bool visits) {
  const auto found = at_.find(static_cast<uint32_t>(address));
  const auto what = [&] {
    return block_.what_it_does(warp, lane) + ": there is no mbarrier at " + block_.place(address);
  };
  if (address > block_.shared.size() || found == at_.end()) {
    warp.block.give_up(warp, Finding::mbarrier, [&] { return what() + ": nothing has initialised one"; });
    return nullptr;
  }
  Mbarrier& mbarrier = found->second;
  if (!is_intact(mbarrier)) {
    warp.block.give_up(
        warp, Finding::mbarrier,
        [&] {
          return what() + " any more: the one that " + block_.where(mbarrier.site) + " initialised is overwritten";
        },
        mbarrier.site);
    return nullptr;
  }
  if (!block_.launch.options.watch) return &mbarrier;
  const Clocks& clocks = block_.shadow.clocks;
  if (&warp.block != &block_) {
    block_.check_is_alive(warp.agent, warp.here());
    if (visits) block_.shadow.visit(warp.agent, warp.here());
  }
  const auto& [initialiser, its_lane] = mbarrier.initialiser;
  if (initialiser != warp.agent && !clocks.has_seen(warp.agent, initialiser, its_lane, mbarrier.initialised)) {
    warp.block.report(Finding::race, warp.here(), mbarrier.site, [&] {
      return block_.what_it_does(warp, lane) + ": uses the mbarrier at " + block_.place(address) + ", initialised at " +
             block_.where(mbarrier.site) + " by " +
             block_.cluster.thread(mbarrier.initialiser.agent, mbarrier.initialiser.lane) +
             ", with no barrier between: __syncthreads, or the cluster's barrier, after the initialisation";
    });
  }
  return &mbarrier;
}

Mbarrier* Mbarriers::signalled(uint32_t site, uint32_t address) {
  const auto found = at_.find(address);
  if (found != at_.end() && is_intact(found->second)) return &found->second;
  block_.cluster.report(Finding::mbarrier, site, nowhere, [&] {
    return "what " + block_.where(site) + " started should tell the mbarrier at " + block_.place(address) +
           ": there is none, or its word is overwritten";
  });
  block_.launch.given_up = true;
  return nullptr;
}

uint32_t Mbarriers::agent(const Mbarrier& mbarrier) {
  const auto [entry, made] = agents_.try_emplace(mbarrier.address, 0u);
  if (made) entry->second = block_.shadow.clocks.add_agent();
  return entry->second;
}

void Mbarriers::arrive(Warp& warp, uint32_t lane, Mbarrier& mbarrier, uint32_t count, bool releases, bool drops) {
  if (block_.cluster.events) [[unlikely]] {
    Event event = event_of(Event::Kind::mbarrier_arrive, mbarrier);
    event.agent = warp.agent, event.site = warp.here();
    if (block_.cluster.events->leaves_out(event)) return;
  }
  if (count > mbarrier.pending || count == 0) {
    return warp.block.give_up(
        warp, Finding::mbarrier,
        [&] {
          const bool again = mbarrier.pending == 0 && mbarrier.last_site != ~0u;
          std::string text = block_.what_it_does(warp, lane) + ": " + (again ? why_again(warp, mbarrier) : "") +
                             std::to_string(count) + " arrivals where " + std::to_string(mbarrier.pending) + " of " +
                             std::to_string(mbarrier.expected) + " are missing, at " + describe(mbarrier.address);
          if (!again && count != 0)
            text += ". More threads arrive than the initialisation at " + block_.where(mbarrier.site) + " says";
          return text;
        },
        mbarrier.site);
  }
  if (block_.launch.options.watch)
    block_.shadow.clocks.arrive(warp.agent, mbarrier.gathering, releases,
                                warp.acting() == all_lanes ? all_lanes : 1u << lane);
  mbarrier.last_site = warp.here();
  mbarrier.last = {warp.agent, lane};
  mbarrier.last_order = ++order_;
  mbarrier.pending -= count;
  if (drops) mbarrier.expected -= count;
  if (block_.cluster.events) [[unlikely]]
    block_.cluster.note(warp, event_of(Event::Kind::mbarrier_arrive, mbarrier));
  advance(mbarrier);
}

Event Mbarriers::event_of(Event::Kind kind, const Mbarrier& mbarrier) const {
  return {.kind = kind,
          .owner = block_.rank,
          .barrier = mbarrier.address,
          .phase = static_cast<int64_t>(mbarrier.phase),
          .missing = mbarrier.pending,
          .expected = mbarrier.expected,
          .missing_bytes = -mbarrier.bytes};
}

void Mbarriers::passed(const Warp& warp, Mbarrier& mbarrier, uint32_t parity) {
  if (block_.cluster.events) [[unlikely]] {
    Event event = event_of(Event::Kind::mbarrier_pass, mbarrier);
    --*event.phase;
    event.missing.reset();
    event.cause = block_.cluster.events->completion(block_.rank, mbarrier.address, *event.phase);
    block_.cluster.note(warp, std::move(event));
  }
  mbarrier.passed[warp.agent] = mbarrier.phase;
  waits_[warp.agent] = {warp.here(), mbarrier.address, parity, ++order_};
}

std::string Mbarriers::why_again(const Warp& warp, const Mbarrier& mbarrier) const {
  std::string text = "comes round again before the phase is complete to which ";
  text += block_.where(mbarrier.last_site) + " has arrived last";
  const auto waited = waits_.find(warp.agent);
  if (waited == waits_.end() || waited->second.order < mbarrier.last_order)
    return text + ". Its warp has waited for no mbarrier since: the wait until the place is free again is missing. ";
  const Passed& wait = waited->second;
  return text + ". The wait between, at " + block_.where(wait.site) + " for parity " + std::to_string(wait.parity) +
         " of the mbarrier at " + block_.place(wait.address) +
         ", has ended too early: the parity is that of a phase before, or what arrives there does not wait for this "
         "phase. ";
}

void Mbarriers::expect_bytes(Warp& warp, uint32_t lane, Mbarrier& mbarrier, uint32_t bytes) {
  mbarrier.bytes -= bytes;
  if (block_.cluster.events) [[unlikely]] {
    Event event = event_of(Event::Kind::mbarrier_expect, mbarrier);
    event.bytes = bytes;
    block_.cluster.note(warp, std::move(event));
  }
  if (-mbarrier.bytes > Mbarrier::most_bytes) {
    return warp.block.give_up(
        warp, Finding::transaction_count,
        [&] {
          return block_.what_it_does(warp, lane) + ": an mbarrier can expect " + std::to_string(Mbarrier::most_bytes) +
                 " bytes at most; " + describe(mbarrier.address);
        },
        mbarrier.site);
  }
  advance(mbarrier);
}

void Mbarriers::complete_bytes(Mbarrier& mbarrier, uint32_t bytes, uint32_t site) {
  mbarrier.bytes += bytes;
  if (mbarrier.bytes > Mbarrier::most_bytes) {
    block_.cluster.report(Finding::transaction_count, site, mbarrier.site, [&] {
      return "bytes that " + block_.where(site) + " completes are more than an mbarrier can count; " +
             describe(mbarrier.address);
    });
    block_.launch.given_up = true;
  }
  advance(mbarrier);
}

/// The phase is complete when nothing is missing: the next begins, and those that wait look again.
void Mbarriers::advance(Mbarrier& mbarrier) {
  if (mbarrier.pending == 0 && mbarrier.bytes == 0) {
    if (block_.cluster.events) [[unlikely]] {
      Event event = event_of(Event::Kind::mbarrier_complete, mbarrier);
      event.cause = block_.cluster.events->count() - 1;
      const int64_t phase = *event.phase;
      block_.cluster.events->completes(block_.rank, mbarrier.address, phase, block_.cluster.note(std::move(event)));
    }
    ++mbarrier.phase;
    mbarrier.pending = mbarrier.expected;
    mbarrier.completed.join(mbarrier.gathering);
    block_.cluster.wake(Warp::Wait::Kind::mbarrier, &block_, mbarrier.address);
  }
  store(mbarrier);
}

void Mbarriers::end() {
  for (const auto& [address, mbarrier] : at_) {
    if (mbarrier.bytes + block_.cluster.async.bytes_under_way(block_, address) == 0) continue;
    block_.report(Finding::transaction_count, mbarrier.site, nowhere, [&, at = address] {
      return "block " + block_.name() + " ends with a transaction count that does not balance: " + describe(at);
    });
  }
}

std::string Mbarriers::describe(uint32_t address) const {
  const Mbarrier* const mbarrier = find(address);
  if (!mbarrier) return "an mbarrier at " + block_.place(address) + ", which is gone";
  std::string text = "phase " + std::to_string(mbarrier->phase) + " (parity " + std::to_string(mbarrier->phase & 1) +
                     ") of the mbarrier at " + block_.place(address) + ", initialised at " +
                     block_.where(mbarrier->site) + ": " + std::to_string(mbarrier->expected - mbarrier->pending) +
                     " of " + std::to_string(mbarrier->expected) + " arrivals have come";
  if (mbarrier->last_site != ~0u) {
    text += " (the last in any phase at " + block_.where(mbarrier->last_site) + " by " +
            block_.cluster.thread(mbarrier->last.agent, mbarrier->last.lane) + ")";
  }
  if (mbarrier->bytes < 0)
    text += ", " + std::to_string(-mbarrier->bytes) + " bytes are expected that have not come";
  else if (mbarrier->bytes > 0)
    text += ", " + std::to_string(mbarrier->bytes) + " bytes have come that nobody expects";
  return text;
}

std::vector<const Mbarrier*> Mbarriers::all() const {
  std::vector<const Mbarrier*> found;
  for (const auto& [address, mbarrier] : at_) found.push_back(&mbarrier);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->address < b->address; });
  return found;
}

}  // namespace sim
