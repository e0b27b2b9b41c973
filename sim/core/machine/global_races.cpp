#include "core/machine/global_races.h"

#include <cstring>

#include "core/base/readable.h"
#include "core/machine/cluster.h"

namespace sim {
namespace {

using What = GlobalObjection::What;

std::string triple(const Dim3& at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
}

/// "thread (3,0,0) of block (1,0,0)", of any cluster of the launch.
std::string spoken(const Launch& launch, const GlobalWho& who) {
  const uint32_t warps = launch.warps(), rank = who.agent / warps;
  const uint64_t cluster = who.cluster - 1;
  if (rank >= launch.cluster.count()) return "a copy of block " + triple(launch.index_of(cluster, 0));
  const std::string block = " of block " + triple(launch.index_of(cluster, rank));
  const uint32_t warp = who.agent % warps;
  if (who.lane >= warp_size) return "warp " + std::to_string(warp) + block;
  const uint32_t thread = warp * warp_size + who.lane;
  const Dim3 size = launch.block;
  return "thread " + triple({thread % size.x, thread / size.x % size.y, thread / size.x / size.y}) + block;
}

std::string named(const Program& program, uint32_t site) {
  return program.sites[site].text + " at " + program.where(program.sites[site].location);
}

const char* name(Scope scope) { return scope == Scope::cta ? ".cta" : ".cluster"; }

/// What would have ordered both accesses.
std::string remedy(const Warp& warp, const GlobalObjection& objection, Scope scope, const GlobalWho& own) {
  const Program& program = warp.block.program;
  const uint32_t warps = warp.block.launch.warps();
  if (objection.under_way || program.sites[objection.other_site].text.find("async.bulk") != std::string::npos) {
    if (objection.what == GlobalObjection::What::write_of_read)
      return ". Whoever writes there has to wait for the mbarrier that the copy tells of its bytes, or for somebody "
             "who "
             "has";
    return ". The thread that asked for the copy has to execute cp.async.bulk.wait_group 0 before it, or a barrier or "
           "flag that follows, tells others";
  }
  if (objection.other.cluster == own.cluster) {
    return objection.other.agent / warps == own.agent / warps ? ", with no __syncthreads() between"
                                                              : ", with no barrier of the cluster between";
  }
  if (objection.noticed) {
    return ". This block has seen the flag that tells of it, but has executed no fence since: __threadfence() "
           "(fence.acq_rel.gpu) has to follow the atomic or volatile load that sees a flag, or that has to be an "
           "acquire. "
           "Without, the order of both accesses is left to luck";
  }
  const std::string two = ": blocks of one launch run in any order, and at the same time";
  if (scope != Scope::none && objection.other.scope != Scope::none) {
    const bool here = scope != Scope::gpu;
    return two + ". Both are strong, but " + (here ? "here" : "there") + " the scope is " +
           name(here ? scope : objection.other.scope) +
           ", and reaches no other cluster: .gpu does (atomicAdd, not atomicAdd_block)";
  }
  if (scope != Scope::none || objection.other.scope != Scope::none) {
    const bool here = scope == Scope::none;
    return two + ". One is strong, but the one " + (here ? "here" : "there") +
           " is an ordinary access: as an atomic, or volatile, it would be no race either; else a flag, or a launch of "
           "its own, has to order it";
  }
  if (program.syncs_grid) {
    return two +
           ", and no flag orders these two. A thread that writes comes to __syncthreads() if another one raises the "
           "flag, which executes __threadfence() before it; who reads sees the flag by an atomic or a volatile load, "
           "executes __threadfence(), and lets the others of its block read after __syncthreads()";
  }
  if (program.narrow_fence != ~0u) {
    return two + ", and the fence at " + program.where(program.sites[program.narrow_fence].location) +
           " reaches no other cluster: its scope has to be .gpu (__threadfence)";
  }
  return two +
         ", and nothing in this kernel orders them: a flag with __threadfence() on both sides, grid.sync() of a "
         "cooperative launch, or a kernel of its own for what comes later";
}

std::string message(const Warp& warp, uint32_t lane, const GlobalObjection& objection, Scope scope,
                    const GlobalWho& own) {
  const Block& block = warp.block;
  const char* const does = objection.what == What::read_of_write ? "reads " : "writes ";
  const char* const did = objection.what == What::write_of_read ? "read" : "written";
  return block.what_it_does(warp, lane) + ": " + does + "global address " + hexadecimal(objection.address) + " (" +
         block.launch.allocations.describe(objection.address) + "), " + did + " by " +
         named(block.program, objection.other_site) + " by " + spoken(block.launch, objection.other) +
         remedy(warp, objection, scope, own);
}

/// Both accesses' clocks. Of another cluster the second may know something by flags.
Unordered clocks_of(const Warp& warp, const GlobalObjection& objection) {
  const Cluster& cluster = warp.block.cluster;
  const GlobalWho& other = objection.other;
  if (other.cluster == cluster.number() + 1) return cluster.unordered(other.agent, objection.other_stamp, warp.agent);
  const Launch& launch = warp.block.launch;
  const uint64_t its = other.cluster - 1;
  const auto since = [&](uint32_t stamp) { return launch.global->since_start(its, stamp); };
  const uint32_t agent = other.agent, warps = launch.warps(), rank = agent / warps;
  const bool copy = rank >= launch.cluster.count();
  const std::string name =
      copy ? "a transfer" : "warp " + std::to_string(agent % warps) + " of block " + triple(launch.index_of(its, rank));
  Unordered made{
      {its, agent, name, since(objection.other_stamp)},
      {cluster.number(), warp.agent, cluster.agent_name(warp.agent), cluster.clocks.since_start(cluster.clocks.now())},
      cluster.clocks.known_of_other(warp.agent, other.cluster - 1)};
  for (uint32_t& stamp : made.seen) stamp = since(stamp);
  return made;
}

/// The lane of an access that touches this address.
uint32_t lane_at(const Lanes& lanes, uint64_t address, uint32_t bytes) {
  uint32_t found = first_lane(lanes.mask);
  for_lanes(lanes.mask, [&](uint32_t lane) {
    if (lanes.address[lane] < address + bytes && address < lanes.address[lane] + lanes.bytes) found = lane;
  });
  return found;
}

void object(Warp& warp, uint32_t lane, const GlobalObjection& objection, Touch touch, Scope scope,
            const GlobalWho& own) {
  Cluster& cluster = warp.block.cluster;
  const auto& sites = warp.block.program.sites;
  const uint32_t here = warp.here();
  const bool both_plain = scope == Scope::none && objection.other.scope == Scope::none;
  const bool by_atomic = sites[objection.other_site].counted_as == Class::atomic;
  const Unordered two = clocks_of(warp, objection);
  if (objection.noticed)
    return cluster.warn(
        Finding::race, here, objection.other_site, [&] { return message(warp, lane, objection, scope, own); }, two);
  if (objection.what == What::write_of_write && touch == Touch::write && both_plain && !objection.under_way)
    return cluster.doubtful.overwritten(here, objection, message(warp, lane, objection, scope, own), two);
  if (objection.what == What::read_of_write && touch == Touch::read && by_atomic)
    return cluster.doubtful.unverified(own.agent, here, objection, message(warp, lane, objection, scope, own), two);
  const bool swaps = sites[here].text.find(".cas") != std::string::npos;
  const auto text = [&] { return message(warp, lane, objection, scope, own); };
  if (objection.what == What::write_of_read && swaps)  // which will fail there if the other one checks by its own
    cluster.warn(Finding::race, here, objection.other_site, text, two);
  else
    cluster.report(Finding::race, here, objection.other_site, text, two);
}

/// Before it has waited for it, a launch that may overlap with the one in front keeps off what that one accesses.
void watch_launch_before(Warp& warp, uint32_t lane, bool writes, GlobalSpan span) {
  Block& block = warp.block;
  GlobalShadow& before = *block.launch.before;
  const auto site = before.touched(span, !writes);
  if (!site) return;
  block.report(Finding::race, warp.here(), nowhere, [&] {
    return block.what_it_does(warp, lane) + (writes ? ": writes" : ": reads") + " global address " +
           hexadecimal(span.begin) + " (" + block.launch.allocations.describe(span.begin) +
           "), which the kernel in front accesses by " + before.where(*site) +
           ". This launch may begin while that one still runs (programmatic stream serialization): "
           "griddepcontrol.wait (cudaGridDependencySynchronize) has to come first";
  });
}

GlobalWho who_is(const Warp& warp, uint32_t lane, Scope scope) {
  const auto number = static_cast<uint32_t>(warp.block.cluster.number());
  return {number + 1, static_cast<uint16_t>(warp.agent), static_cast<uint8_t>(lane), scope};
}

}  // namespace

void watch_races(Warp& warp, Pattern& pattern, const Lanes& lanes, Touch touch, Scope scope) {
  GlobalShadow* const shadow = warp.block.launch.global.get();
  if (!shadow) return;
  if (!pattern.region) pattern.region = shadow->region(lanes.address[first_lane(lanes.mask)]);
  if (!pattern.region || (!writes(touch) && pattern.region->is_quiet())) return;
  if (const Cluster& cluster = warp.block.cluster;
      warp.block.launch.before && !cluster.waits.has_waited(cluster.clocks, warp.agent)) {
    for_lanes(lanes.mask, [&](uint32_t lane) {
      watch_launch_before(warp, lane, writes(touch), {lanes.address[lane], lanes.bytes});
    });
  }
  const GlobalWho own = who_is(warp, GlobalWho::any_lane, scope);
  shadow->touch({warp.block.cluster.clocks, own, warp.here()}, touch, *pattern.region, lanes, pattern,
                [&](const GlobalObjection& objection) {
                  const uint32_t lane = lane_at(lanes, objection.address, objection.bytes);
                  object(warp, lane, objection, touch, scope, own);
                });
}

bool need_not_know(Warp& warp, uint64_t address) {
  GlobalShadow* const shadow = warp.block.launch.global.get();
  const GlobalRegion* const region = shadow ? shadow->region(address) : nullptr;
  return !region || region->is_quiet();
}

void watch_races_of_copy(Warp& warp, uint32_t lane, const std::vector<GlobalSpan>& spans, bool writes, Scope scope) {
  GlobalShadow* const shadow = warp.block.launch.global.get();
  GlobalRegion* const region = shadow && !spans.empty() ? shadow->region(spans.front().begin) : nullptr;
  if (!region) return;
  const GlobalWho own = who_is(warp, lane, scope);
  const Touch touch = !writes ? Touch::read : scope == Scope::none ? Touch::write : Touch::update;
  if (!writes) region->count_reads(static_cast<uint32_t>(spans.size()));
  const Cluster& cluster = warp.block.cluster;
  const bool early = warp.block.launch.before && !cluster.waits.has_waited(cluster.clocks, warp.agent);
  for (const GlobalSpan& span : spans) {
    if (early) watch_launch_before(warp, lane, writes, span);
    shadow->touch(
        {warp.block.cluster.clocks, own, warp.here()}, touch, *region, span,
        [&](const GlobalObjection& objection) {
          warp.block.cluster.report(
              Finding::race, warp.here(), objection.other_site,
              [&] { return message(warp, lane, objection, scope, own); }, clocks_of(warp, objection));
        },
        true);
  }
}

void end_copy_of_global(Cluster& cluster, uint32_t agent, uint32_t lane, uint32_t by,
                        const std::vector<GlobalSpan>& spans, bool writes) {
  GlobalShadow* const shadow = cluster.launch.global.get();
  GlobalRegion* const region = shadow && !spans.empty() ? shadow->region(spans.front().begin) : nullptr;
  if (!region) return;
  GlobalWho who;
  who.cluster = static_cast<uint32_t>(cluster.number()) + 1;
  who.agent = static_cast<uint16_t>(agent);
  who.lane = static_cast<uint8_t>(lane);
  for (const GlobalSpan& span : spans) {
    if (writes)
      shadow->end_write(who, by, cluster.clocks.now(), *region, span);
    else
      shadow->end_read(who, by, cluster.clocks.now(), *region, span);
  }
}

bool WaitsForLaunches::has_waited(const Clocks& clocks, uint32_t warp) const {
  for (const auto& [agent, stamp] : waits_) {
    if (agent == warp || clocks.has_seen(warp, agent, LaneStamps::any, stamp)) return true;
  }
  return false;
}

// --- what is doubtful ---

uint64_t DoubtfulRaces::value(const GlobalObjection& objection) {
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void*>(static_cast<uintptr_t>(objection.address)), objection.bytes);
  return bits;
}

void DoubtfulRaces::overwritten(uint32_t here, const GlobalObjection& objection, std::string message, Unordered two) {
  overwritten_.push_back({objection, here, value(objection), std::move(message), std::move(two)});
}

void DoubtfulRaces::settle() {
  for (const Doubt& each : overwritten_) {
    if (value(each.objection) != each.before) {
      cluster_.report(Finding::race, each.here, each.objection.other_site, [&] { return each.message; }, each.two);
    } else {
      cluster_.warn(
          Finding::race, each.here, each.objection.other_site,
          [&] { return each.message + ". Both store the same value here, so that it does no harm"; }, each.two);
    }
  }
  overwritten_.clear();
}

void DoubtfulRaces::unverified(uint32_t agent, uint32_t here, const GlobalObjection& objection, std::string message,
                               Unordered two) {
  unverified_.try_emplace({agent, objection.address}, Doubt{objection, here, 0, std::move(message), std::move(two)});
}

void DoubtfulRaces::verify(uint32_t agent, const Lanes& lanes) {
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const auto first = unverified_.lower_bound({agent, lanes.address[lane]});
    const auto last = unverified_.lower_bound({agent, lanes.address[lane] + lanes.bytes});
    unverified_.erase(first, last);
  });
}

void DoubtfulRaces::end(uint32_t agent) {
  const auto first = unverified_.lower_bound({agent, 0}), last = unverified_.lower_bound({agent + 1, 0});
  for (auto each = first; each != last; ++each) {
    const Doubt& doubt = each->second;
    cluster_.report(Finding::race, doubt.here, doubt.objection.other_site, [&] { return doubt.message; }, doubt.two);
  }
  unverified_.erase(first, last);
}

}  // namespace sim
