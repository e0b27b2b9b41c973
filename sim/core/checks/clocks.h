/// What happens before what: vector clocks of a cluster's agents, and of the things that synchronise them.
///
/// An agent is whoever accesses memory on its own: a warp, or what carries out asynchronous work for an mbarrier. Every
/// access carries a stamp, the cluster's logical time, which moves on with each synchronisation. An agent's clock says,
/// for every agent, up to which stamp its accesses happened before this one's next. A thing that synchronises (a
/// barrier, an mbarrier, a flag in memory) owns a clock, too: who arrives there releases into it what it knows, and who
/// waits there takes all that has been released.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/types.h"
#include "core/checks/grid_flags.h"

namespace sim {

/// Stamps of single lanes, for those that released or fenced without the rest of their warp.
class LaneStamps {
 public:
  static constexpr uint32_t any = 32;  ///< as a lane: one of the warp, it is not known which

  bool empty() const { return keys_.empty(); }
  void clear() {
    keys_.clear();
    stamps_.clear();
  }
  uint32_t of(uint32_t agent, uint32_t lane) const;
  void raise(uint32_t agent, uint32_t lane, uint32_t stamp);
  void join(const LaneStamps& other);

 private:
  static uint32_t key(uint32_t agent, uint32_t lane) { return agent << 6 | lane; }
  void insert(size_t at, uint32_t key, uint32_t stamp);

  std::vector<uint32_t> keys_;    ///< of agents and their lanes, in order
  std::vector<uint32_t> stamps_;  ///< theirs
};

/// For every agent, up to which stamp its accesses are known to have happened before.
struct SyncClock {
  std::vector<uint32_t> seen;    ///< by agent; nothing of those beyond its end
  std::vector<uint32_t> fenced;  ///< the same of writes that a fence.proxy.async has made visible to the async proxy
  LaneStamps lanes_seen, lanes_fenced;  ///< what is later, of lanes that acted alone
  KnownOthers others;                   ///< what is known of other clusters; mostly nothing
  KnownOthers noticed;                  ///< and what would be, had a fence followed the load of a flag

  void join(const SyncClock& other) {
    join(seen, other.seen);
    if (other.others) others = joined(others, other.others);
    if (other.noticed) noticed = joined(noticed, other.noticed);
    if (!other.fenced.empty()) join(fenced, other.fenced);
    if (!other.lanes_seen.empty()) lanes_seen.join(other.lanes_seen);
    if (!other.lanes_fenced.empty()) lanes_fenced.join(other.lanes_fenced);
  }
  void clear() {
    seen.clear();
    fenced.clear();
    lanes_seen.clear();
    lanes_fenced.clear();
    others.reset();
    noticed.reset();
  }
  static uint32_t of(const std::vector<uint32_t>& stamps, uint32_t agent) {
    return agent < stamps.size() ? stamps[agent] : 0;
  }
  static void raise(std::vector<uint32_t>& stamps, uint32_t agent, uint32_t stamp) {
    if (stamps.size() <= agent) stamps.resize(agent + 1);
    stamps[agent] = stamp;
  }

 private:
  static void join(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t agent = 0; agent < from.size(); ++agent) to[agent] = to[agent] < from[agent] ? from[agent] : to[agent];
  }
};

/// How an access orders others around it (PTX ISA 8.4). Strong accesses, all but the weak ones, are no race with each
/// other.
enum class Order : uint8_t { weak, relaxed, acquire, release, acquire_release };

/// Whom a strong access or a fence reaches (PTX ISA 8.5): none if it is weak, the threads of its block, of its cluster,
/// or all (.gpu and .sys, and volatile).
enum class Scope : uint8_t { none, cta, cluster, gpu };
inline constexpr std::array<Scope, 3> scopes = {Scope::cta, Scope::cluster, Scope::gpu};

class Clocks {
 public:
  /// Begins a cluster of blocks of so many warps each: its first agents, block by block. Its stamps are above those of
  /// the cluster before; true where they begin anew.
  /// `grid` where the kernel has what orders blocks of different clusters; `cluster` is this one's number there.
  bool start(uint32_t blocks, uint32_t warps_per_block, GridFlags* grid = nullptr, uint32_t cluster = 0);

  uint32_t now() const { return now_; }      ///< stamp of the accesses that are made now
  uint32_t start() const { return start_; }  ///< this cluster's stamps are above: what has none of them is untouched
  uint32_t warps() const { return static_cast<uint32_t>(of_.size()); }
  uint32_t warps_per_block() const { return warps_per_block_; }

  /// One more agent that is no warp.
  uint32_t add_agent() { return agents_++; }
  /// The stamp of an access that such an agent makes now; it is released into `into`.
  uint32_t act(uint32_t agent, SyncClock& into);

  /// Whether an access of an agent's lane with this stamp happened before the next one of the warp `observer`. Of
  /// accesses whose lane is not known (LaneStamps::any), a release by any lane is taken to be enough.
  bool has_seen(uint32_t observer, uint32_t agent, uint32_t lane, uint32_t stamp) const {
    const SyncClock& known = of_[observer].known;
    return stamp <= SyncClock::of(known.seen, agent) ||
           (!known.lanes_seen.empty() && stamp <= known.lanes_seen.of(agent, lane));
  }
  /// Up to which stamp that holds whatever the lane; and the same of has_fenced.
  uint32_t seen(uint32_t observer, uint32_t agent) const { return SyncClock::of(of_[observer].known.seen, agent); }
  uint32_t fenced(uint32_t observer, uint32_t agent) const { return SyncClock::of(of_[observer].known.fenced, agent); }
  /// The same of an agent of another cluster.
  bool has_seen_other(uint32_t observer, uint32_t cluster, uint32_t agent, uint32_t lane, uint32_t stamp) const {
    return knows(of_[observer].known.others, cluster, agent, lane, stamp);
  }
  /// Whether it would have, had a fence followed the load that saw the other's flag.
  bool has_noticed_other(uint32_t observer, uint32_t cluster, uint32_t agent, uint32_t lane, uint32_t stamp) const {
    return knows(of_[observer].known.noticed, cluster, agent, lane, stamp);
  }
  /// Whether such a write is visible to the async proxy, too, if it acts for the observer.
  bool has_fenced(uint32_t observer, uint32_t agent, uint32_t lane, uint32_t stamp) const {
    const SyncClock& known = of_[observer].known;
    return stamp <= SyncClock::of(known.fenced, agent) ||
           (!known.lanes_fenced.empty() && stamp <= known.lanes_fenced.of(agent, lane));
  }
  /// The warp's clock: of each agent up to which stamp it knows, from the cluster's start on.
  std::vector<uint32_t> known(uint32_t warp) const {
    std::vector<uint32_t> seen = of_[warp].known.seen;
    for (uint32_t& stamp : seen) stamp = since_start(stamp);
    return seen;
  }
  /// The same of the agents of another cluster, in the stamps that it had; empty where nothing is known of it.
  std::vector<uint32_t> known_of_other(uint32_t warp, uint32_t cluster) const {
    const KnownOthers& others = of_[warp].known.others;
    const SyncClock* const known = others ? others->of(cluster) : nullptr;
    return known ? known->seen : std::vector<uint32_t>{};
  }
  /// When the warp's clock has last grown.
  uint32_t learnt(uint32_t warp) const { return of_[warp].learnt; }
  uint32_t since_start(uint32_t stamp) const { return stamp < start_ ? 0 : stamp - start_; }
  /// The same between the lanes of the observer itself.
  uint32_t lanes_met(uint32_t warp) const { return of_[warp].lanes_met; }
  /// A number for what the lanes read until something next orders them, above all a collective instruction: until then
  /// none of them may overwrite what another one reads. A multiple of `reading_step`, never 0.
  uint32_t reading(uint32_t warp) const { return of_[warp].reading; }
  void begin_reading(uint32_t warp) { of_[warp].reading = readings_ += reading_step; }
  static constexpr uint32_t reading_step = 64;
  /// Whatever has a stamp up to this happened before the warp's next access, whichever warp of its block did it.
  uint32_t clear(uint32_t warp) const { return of_[warp].clear; }
  /// The same of all that is not a warp of its block.
  uint32_t clear_of_others(uint32_t warp) const;
  /// The stamp at which all agents of the cluster last met.
  uint32_t last_meeting() const { return last_meeting_; }

  /// What these lanes have done and the warp knows is released into `into`; what it does from now on is later. All
  /// lanes: whatever the warp has done.
  void release(uint32_t warp, SyncClock& into, uint32_t lanes = all_lanes);
  /// The warp learns what was released into `from`.
  void acquire(uint32_t warp, const SyncClock& from);
  /// Whether neither a relaxed load nor a relaxed store of the warp, to whichever flag, hands anything on.
  [[gnu::always_inline]] bool is_idle(uint32_t warp) const {
    return flags_.empty() && !grid_ && of_[warp].has_fenced == Scope::none;
  }
  /// The same at a barrier whose arrivals and waits may be .relaxed: a fence before or after then orders.
  void arrive(uint32_t warp, SyncClock& into, bool releases, uint32_t lanes = all_lanes);
  void wait(uint32_t warp, const SyncClock& from, bool acquires);
  /// The warps of `waiting`, counted from `first`, a block's first, have met at a barrier, none has gone on. `clock`:
  /// what others have released there.
  void meet(uint32_t first, uint32_t waiting, SyncClock& clock);
  /// The lanes of one warp have synchronised.
  void warp_met(uint32_t warp);

  /// A fence: strong stores after it release what was before it, and what strong loads before it have read is acquired,
  /// each as far as the narrower of both scopes.
  void fence(uint32_t warp, uint32_t lanes = all_lanes, Scope scope = Scope::gpu);
  /// fence.proxy.async: the async proxy sees what these lanes have written so far, and what the warp knows of others.
  void fence_proxy(uint32_t warp, uint32_t lanes = all_lanes);
  /// A strong load from, or a strong store to, the flag at a generic address. A store takes the flag over; an `update`
  /// (an atomic) hands on what others have released there before. The others of the grid must find what is released
  /// before they can read the flag: a store comes before the write itself, a load after the read.
  void strong_load(uint32_t warp, uint64_t address, Order order, Scope scope = Scope::gpu);
  void strong_store(uint32_t warp, uint64_t address, Order order, bool update, uint32_t lanes = all_lanes,
                    Scope scope = Scope::gpu);

 private:
  struct WarpClock {
    SyncClock known;
    uint32_t lanes_met = 0;
    uint32_t learnt = 0;
    uint32_t reading = 0;
    uint32_t clear = 0;
    Scope has_fenced = Scope::none;                  ///< the widest
    std::array<bool, scopes.size()> has_observed{};  ///< by scope
    std::array<SyncClock, scopes.size()> fenced;     ///< what the last fence of this scope or a wider one released
    std::array<SyncClock, scopes.size()> observed;   ///< what strong loads have read, for the next fence to acquire
    KnownOthers published;                           ///< what the last fence of all released to other clusters
  };
  /// What was released at an address: to the cluster, and to each block of it.
  struct Flag {
    SyncClock of_cluster;
    std::vector<SyncClock> of_block;
  };

  static bool knows(const KnownOthers& others, uint32_t cluster, uint32_t agent, uint32_t lane, uint32_t stamp) {
    const SyncClock* const known = others ? others->of(cluster) : nullptr;
    return known && (stamp <= SyncClock::of(known->seen, agent) || stamp <= known->lanes_seen.of(agent, lane));
  }
  void observe(uint32_t warp, const SyncClock& from, Scope scope);
  void take(uint32_t warp, const SyncClock& from, Order order, Scope scope);
  SyncClock* part(Flag& flag, uint32_t warp, Scope scope);
  void update_clear(uint32_t warp);
  uint32_t first_of_block(uint32_t warp) const { return warp / warps_per_block_ * warps_per_block_; }

  uint32_t warps_per_block_ = 1, agents_ = 0;
  uint32_t start_ = 0, now_ = 0, last_meeting_ = 0;
  uint32_t readings_ = 0;
  bool only_stamps_ = true;  ///< nobody has executed a fence.proxy.async, or released without the rest of its warp
  std::vector<WarpClock> of_;
  std::unordered_map<uint64_t, Flag> flags_;  ///< by generic address
  GridFlags* grid_ = nullptr;
  uint32_t cluster_ = 0;
};

}  // namespace sim
