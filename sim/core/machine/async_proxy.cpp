#include "core/machine/async_proxy.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/machine/access.h"
#include "core/machine/cluster.h"

namespace sim {

void AsyncProxy::start() {
  under_way_.clear();
  committed_.clear();
}

void AsyncProxy::issue(Warp& warp, uint32_t lane, AsyncTransfer transfer) {
  const Thread thread(warp.agent, lane, transfer.kind);
  UnderWay each{std::move(transfer), thread, issued_++, committed_[thread], warp.here()};
  if (cluster_.launch.options.watch) {
    for (const auto& [block, span] : each.transfer.reads) {
      if (each.transfer.checked) {
        block->shadow.note_async_read(each.number, warp.agent, lane, each.site, span);
        continue;
      }
      block->shadow.begin_async_read(
          each.number, warp.agent, lane, each.site, span,
          [&, to = block](const Objection& objection) { report_objection(warp, *to, objection); });
    }
    for (const auto& [block, span] : each.transfer.writes) {
      block->check_is_alive(warp.agent, each.site);
      block->shadow.begin_async_write(warp.agent, lane, each.site, span, [&, to = block](const Objection& objection) {
        report_objection(warp, *to, objection);
      });
      block->shadow.note_swizzle(span, each.transfer.swizzle);
    }
    watch_races_of_copy(warp, lane, each.transfer.reads_global, false, Scope::none);
    watch_races_of_copy(warp, lane, each.transfer.writes_global, true, each.transfer.scope);
  }
  if (cluster_.events) [[unlikely]] {
    Event event{.kind = each.transfer.kind == AsyncKind::wgmma ? Event::Kind::wgmma_issue : Event::Kind::copy_issue,
                .copy = each.number};
    const auto& [reads, writes, signal] = std::tie(each.transfer.reads, each.transfer.writes, each.transfer.signal);
    const auto& parts = writes.empty() ? reads : writes;
    event.owner = parts.empty() ? warp.block.rank : parts.front().block->rank;
    if (each.transfer.kind == AsyncKind::wgmma) {
      event.group = each.group;
    } else {
      if (!parts.empty()) event.shared = parts.front().span.begin;
      if (signal) event.owner = signal->block->rank, event.barrier = signal->mbarrier, event.bytes = signal->bytes;
      if (!signal) event.group = each.group;
    }
    cluster_.note(warp, std::move(event));
  }
  under_way_.push_back(std::move(each));
}

void AsyncProxy::commit(const Warp& warp, uint32_t lane, AsyncKind kind) {
  const uint64_t group = committed_[{warp.agent, lane, kind}]++;
  if (!cluster_.events) return;
  cluster_.note(warp, {.kind = kind == AsyncKind::wgmma ? Event::Kind::wgmma_commit : Event::Kind::bulk_commit,
                       .owner = warp.block.rank,
                       .group = group});
}

void AsyncProxy::wait(Warp& warp, uint32_t lane, AsyncKind kind, uint64_t left) {
  const uint64_t committed = committed_[{warp.agent, lane, kind}];
  if (committed > left) complete(warp, lane, kind, committed - left, warp.agent);
  if (cluster_.events) [[unlikely]] {
    cluster_.note(
        warp,
        {.kind = Event::Kind::bulk_wait, .owner = warp.block.rank, .group = committed > left ? committed - left : 0});
  }
}

void AsyncProxy::complete(const Warp& warp, uint32_t lane, AsyncKind kind, uint64_t groups, uint32_t agent) {
  const Thread thread(warp.agent, lane, kind);
  std::erase_if(under_way_, [&](UnderWay& each) {
    if (each.transfer.signal || each.thread != thread || each.group >= groups) return false;
    land(each);
    end(each, agent);
    return true;
  });
}

bool AsyncProxy::land_oldest() {
  const auto oldest = std::find_if(under_way_.begin(), under_way_.end(),
                                   [](const UnderWay& each) { return each.transfer.signal.has_value(); });
  if (oldest == under_way_.end()) return false;
  UnderWay each = std::move(*oldest);
  under_way_.erase(oldest);
  land(each);
  return true;
}

/// Bulk transfers land in any order, products of one warp in the order of their issue.
void AsyncProxy::land_by_lot(Random& random) {
  std::set<Thread> waiting;
  std::erase_if(under_way_, [&](UnderWay& each) {
    const bool in_order = std::get<AsyncKind>(each.thread) == AsyncKind::wgmma;
    if (!each.landed && (random.below(4) != 0 || (in_order && waiting.contains(each.thread)))) {
      if (in_order) waiting.insert(each.thread);
      return false;
    }
    land(each);
    return each.transfer.signal.has_value();
  });
}

void AsyncProxy::end_block(const Block& block) {
  for (const UnderWay& each : under_way_) {
    const auto is_here = [&](const auto& part) { return part.block == &block; };
    const auto any = [&](const auto& parts) { return std::any_of(parts.begin(), parts.end(), is_here); };
    const bool signals = each.transfer.signal && each.transfer.signal->block == &block;
    if (!signals && !any(each.transfer.reads) && !any(each.transfer.writes)) continue;
    cluster_.report(Finding::exited_block, each.site, nowhere, [&] {
      return "block " + block.name() + " ends while what " +
             cluster_.thread(std::get<0>(each.thread), std::get<1>(each.thread)) + " started at " +
             block.where(each.site) + " still uses its shared memory: nobody has waited for it";
    });
  }
}

int64_t AsyncProxy::bytes_under_way(const Block& block, uint32_t mbarrier) const {
  int64_t bytes = 0;
  for (const UnderWay& each : under_way_) {
    const auto& signal = each.transfer.signal;
    if (signal && signal->block == &block && signal->mbarrier == mbarrier) bytes += signal->bytes;
  }
  return bytes;
}

uint32_t AsyncProxy::stores_under_way(const Block& block) const {
  return static_cast<uint32_t>(std::count_if(under_way_.begin(), under_way_.end(), [&](const UnderWay& each) {
    const AsyncTransfer& transfer = each.transfer;
    return transfer.kind == AsyncKind::bulk && !transfer.signal && !transfer.reads.empty() &&
           transfer.reads.front().block == &block;
  }));
}

void AsyncProxy::land_all() {
  for (UnderWay& each : under_way_) {
    if (!each.landed) each.transfer.move();
  }
  under_way_.clear();
}

/// Moves the bytes, and tells the mbarriers: with that, one that they wait for is complete.
void AsyncProxy::land(UnderWay& each) {
  if (each.landed) return;
  each.landed = true;
  each.transfer.move();
  if (cluster_.events && each.transfer.kind == AsyncKind::bulk) [[unlikely]]
    note_landing(each);
  if (!each.transfer.signal) return;
  Mbarriers& mbarriers = each.transfer.signal->block->mbarriers;
  Mbarrier* const mbarrier = mbarriers.signalled(each.site, each.transfer.signal->mbarrier);
  if (!mbarrier) return;
  const uint32_t agent = mbarriers.agent(*mbarrier);
  end(each, agent);
  cluster_.clocks.act(agent, mbarrier->gathering);
  mbarriers.complete_bytes(*mbarrier, each.transfer.signal->bytes, each.site);
}

void AsyncProxy::note_landing(const UnderWay& each) {
  Event event{.kind = Event::Kind::copy_land, .copy = each.number, .cause = cluster_.events->issue(each.number)};
  if (each.transfer.signal) {
    event.owner = each.transfer.signal->block->rank;
    event.barrier = each.transfer.signal->mbarrier;
    event.bytes = each.transfer.signal->bytes;
  }
  cluster_.note(std::move(event));
}

/// Whoever knows what the agent did knows from now on of the transfer.
void AsyncProxy::end(UnderWay& each, uint32_t agent) {
  if (!cluster_.launch.options.watch) return;
  const Block* told = nullptr;
  for (const auto& [block, span] : each.transfer.reads) {
    if (std::exchange(told, block) != block) block->shadow.end_async_read(each.number, agent);
  }
  for (const auto& [block, span] : each.transfer.writes)
    block->shadow.end_async_write(agent, span, each.transfer.swizzle);
  const auto [warp, lane, kind] = each.thread;
  end_copy_of_global(cluster_, warp, lane, agent, each.transfer.reads_global, false);
  end_copy_of_global(cluster_, warp, lane, agent, each.transfer.writes_global, true);
}

std::vector<AsyncProxy::State> AsyncProxy::under_way() const {
  std::vector<State> states;
  for (const UnderWay& each : under_way_) {
    const auto [agent, lane, kind] = each.thread;
    states.push_back({each.number, agent, lane, each.site, kind, each.landed, each.transfer});
  }
  return states;
}

}  // namespace sim
