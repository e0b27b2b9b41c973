/// Clusters: addresses of other blocks' shared memory, and the barrier of all blocks (PTX ISA 9.7.9.22, 9.7.13.4).
#include "core/machine/cluster.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// The same address in the block of that rank.
constexpr uint64_t with_rank(uint64_t address, uint32_t rank) {
  return within_block(address) | uint64_t{rank} << rank_shift;
}

/// isspacep.shared: shared memory of this block, not of another in the cluster.
void is_own_shared(Warp& warp, const Operands& operands) {
  const u64* const from = warp.lanes<const u64>(operands.at[1]);
  uint32_t own = 0;
  for_lanes(warp.exec, [&](uint32_t lane) {
    const Reached reached = reach(warp.block, from[lane]);
    own |= u32{reached.place == Place::shared && reached.block == &warp.block} << lane;
  });
  uint32_t& to = warp.predicate(operands.at[0]);
  to = (to & ~warp.exec) | own;
}

struct ClusterBarrier {
  bool orders;   ///< releases or acquires, not .relaxed
  bool aligned;  ///< all of the warp executes it together
};

bool may_go_on(Warp& warp, const ClusterBarrier& barrier, bool has_come, const char* mistake) {
  Block& block = warp.block;
  const uint32_t absent = warp.started & ~warp.exec;
  if (barrier.aligned && absent != 0) {
    block.give_up(warp, Finding::divergent_barrier, [&] {
      return block.what_it_does(warp, first_lane(warp.exec)) +
             ": an .aligned barrier is reached by part of a warp only; " + block.thread(warp, first_lane(absent)) +
             " does not come";
    });
    return false;
  }
  const uint32_t wrong = warp.exec & (has_come ? ~warp.came_to_cluster_barrier : warp.came_to_cluster_barrier);
  if (wrong == 0) return true;
  block.give_up(warp, Finding::divergent_barrier,
                [&] { return block.what_it_does(warp, first_lane(wrong)) + ": " + mistake; });
  return false;
}

void cluster_arrive(Warp& warp, const ClusterBarrier& barrier) {
  if (warp.exec == 0) return;
  if (!may_go_on(warp, barrier, false, "arrives at the cluster barrier again without having waited there")) return;
  warp.came_to_cluster_barrier |= warp.exec;
  warp.cluster_phase = warp.block.cluster.phase();
  warp.block.cluster.arrive(warp, warp.exec, barrier.orders);
}

void cluster_wait(Warp& warp, const ClusterBarrier& barrier) {
  if (warp.exec == 0) return;
  if (!may_go_on(warp, barrier, true, "waits at the cluster barrier without having arrived")) return;
  Cluster& cluster = warp.block.cluster;
  if (!cluster.is_complete(warp.cluster_phase)) return warp.wait_again({.kind = Warp::Wait::Kind::cluster});
  warp.came_to_cluster_barrier &= ~warp.exec;
  if (cluster.events) [[unlikely]] {
    const auto phase = static_cast<int64_t>(warp.cluster_phase);
    cluster.note(warp, {.kind = Event::Kind::cluster_pass,
                        .phase = phase,
                        .cause = cluster.events->completion(0, Event::nobody, phase)});
  }
  if (!cluster.launch.options.watch) return;
  cluster.clocks.wait(warp.agent, cluster.met(), barrier.orders);
  if (warp.exec == warp.live) cluster.clocks.warp_met(warp.agent);
}

void build_cluster_barrier(Builder& builder) {
  if (!builder.operands().empty()) builder.refuse("it takes no operands");
  builder.made<ClusterBarrier>() = {!builder.has("relaxed"), builder.has("aligned")};
}

}  // namespace

[[gnu::cold]] void add_cluster(Table& table) {
  table.lanewise<[](u32 a, u32 b) -> u32 { return static_cast<u32>(with_rank(a, b)); }>("mapa.shared::cluster.u32",
                                                                                        Class::integer);
  table.lanewise<[](u64 a, u32 b) -> u64 { return with_rank(a, b); }>("mapa.shared::cluster.u64", Class::integer);
  table.lanewise<[](u64 a, u32 b) -> u64 { return shared_window | with_rank(a, b); }>("mapa.u64", Class::integer);
  table.lanewise<[](u32 a) -> u32 { return static_cast<u32>(rank_of(a)); }>("getctarank.shared::cluster.u32",
                                                                            Class::integer);
  table.lanewise<[](u64 a) -> u32 { return static_cast<u32>(rank_of(within_window(a))); }>(
      "getctarank{,.shared::cluster}.u64", Class::integer);
  table.add("isspacep.shared{,::cta}", {"Pd", Class::predicate, handle<is_own_shared>});

  const Handler arrive = handle<cluster_arrive>, wait = handle<cluster_wait>;
  table.add("barrier.cluster.arrive{,.release,.relaxed}", {"", Class::barrier, arrive, build_cluster_barrier});
  table.add("barrier.cluster.wait{,.acquire}", {"", Class::barrier, wait, build_cluster_barrier});
  table.add("barrier.cluster.arrive{,.release,.relaxed}.aligned",
            {"", Class::barrier, handle_together<every_lane<ClusterBarrier>, cluster_arrive>, build_cluster_barrier});
  table.add("barrier.cluster.wait{,.acquire}.aligned",
            {"", Class::barrier, handle_together<every_lane<ClusterBarrier>, cluster_wait>, build_cluster_barrier});
}

}  // namespace sim
