#include "core/machine/access.h"

#include "core/base/host.h"
#include "core/base/readable.h"

namespace sim {
namespace {

WITH_THE_HOSTS_VECTORS void add_to_each(const u64* from, u64 add, u64* to) {
#pragma GCC ivdep
  for (uint32_t lane = 0; lane < warp_size; ++lane) to[lane] = from[lane] + add;
}
WITH_THE_HOSTS_VECTORS void add_to_each(const u32* from, u32 add, u64* to) {
#pragma GCC ivdep
  for (uint32_t lane = 0; lane < warp_size; ++lane) to[lane] = from[lane] + add;
}

/// Takes misaligned lanes out, each reported.
void refuse_misaligned(Warp& warp, Lanes& lanes, const char* space) {
  for_lanes(lanes.mask, [&](uint32_t lane) {
    if (lanes.address[lane] % lanes.bytes == 0) return;
    Block& block = warp.block;
    block.report(Finding::misaligned, warp.here(), nowhere, [&] {
      return block.what_it_does(warp, lane) + ": " + space + " address " + hexadecimal(lanes.address[lane]) +
             " is no multiple of " + std::to_string(lanes.bytes);
    });
    lanes.mask &= ~(1u << lane);
  });
}

void refuse_outside_shared(Warp& warp, Lanes& lanes, bool store) {
  Block& block = warp.block;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane];
    if (address + lanes.bytes <= block.shared.size() && address + lanes.bytes >= address) return;
    block.report(Finding::out_of_bounds, warp.here(), nowhere, [&] {
      return block.what_it_does(warp, lane) + (store ? ": writes " : ": reads ") + std::to_string(lanes.bytes) +
             " bytes at shared address " + hexadecimal(address) + "; the block has " +
             std::to_string(block.shared.size()) + " bytes of shared memory";
    });
    lanes.mask &= ~(1u << lane);
  });
}

void refuse_outside_global(Warp& warp, Lanes& lanes, bool store) {
  Block& block = warp.block;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane];
    const auto range = block.launch.allocations.holding(address);
    if (range && range->holds(address, address + lanes.bytes) && !(store && range->read_only)) return;
    block.report(Finding::out_of_bounds, warp.here(), nowhere, [&] {
      const std::string place =
          range && store && range->read_only ? "in constant memory" : block.launch.allocations.describe(address);
      return block.what_it_does(warp, lane) + (store ? ": writes " : ": reads ") + std::to_string(lanes.bytes) +
             " bytes at global address " + hexadecimal(address) + ", " + place;
    });
    lanes.mask &= ~(1u << lane);
  });
}

std::string started(const Block& block, const Objection& objection, const std::string& by) {
  return block.program.sites[objection.other_site].text + " at " + block.where(objection.other_site) + " by " + by;
}

}  // namespace

void read_addresses(Warp& warp, uint32_t mask, const AddressOperand& from, Lanes& lanes) {
  lanes.mask = mask;
  const uint64_t base_of_own = from.place == Place::shared ? warp.block.shared_base() : 0;
  const uint64_t add = static_cast<uint64_t>(from.offset) - base_of_own;
  if (from.wide) {
    add_to_each(warp.lanes<u64>(from.base), add, lanes.address.data());
  } else {
    add_to_each(warp.lanes<u32>(from.base), static_cast<u32>(add), lanes.address.data());
  }
  if (mask != all_lanes) fill_inactive(lanes);
}

void fill_inactive(Lanes& lanes) {
  if (lanes.mask == 0) return;
  const uint64_t first = lanes.address[first_lane(lanes.mask)];
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(lanes.mask >> lane & 1)) lanes.address[lane] = first;
  }
}

Pattern& check_global(Warp& warp, uint32_t memo, Lanes& lanes, bool store) {
  Pattern& pattern = warp.block.memos[memo];
  if (!pattern.matches(lanes)) pattern.learn_global(lanes);
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  const uint64_t low = base + static_cast<uint64_t>(pattern.low()), high = base + static_cast<uint64_t>(pattern.high());
  if (low < pattern.allowed_low || high > pattern.allowed_high || !pattern.aligned()) {
    const auto range = warp.block.launch.allocations.holding(low);
    if (range && range->holds(low, high) && pattern.aligned() && !(store && range->read_only)) {
      pattern.allowed_low = range->begin, pattern.allowed_high = range->end;
      pattern.region = nullptr;
    } else {
      refuse_misaligned(warp, lanes, "global");
      refuse_outside_global(warp, lanes, store);
      fill_inactive(lanes);
      pattern.region = nullptr;
      if (lanes.mask != 0) pattern.learn_global(lanes);
    }
  }
  return pattern;
}

void watch_global(Warp& warp, uint32_t memo, Lanes& lanes, Touch touch, Scope scope) {
  const bool store = writes(touch);
  Pattern& pattern = check_global(warp, memo, lanes, store);
  if (lanes.mask == 0) return;
  Tally& tally = warp.block.tallies.of[warp.here()];
  ++tally.global_requests;
  tally.global_sectors += pattern.sectors(lanes);
  if (warp.trace != nullptr) [[unlikely]]
    warp.trace->global(warp.here(), warp.executions(), lanes, store);
  if (!store && pattern.region && pattern.region->is_quiet()) [[likely]]
    return;
  watch_races(warp, pattern, lanes, touch, scope);
}

namespace {

/// The lanes that may go on, where not all of them may.
[[gnu::cold, gnu::noinline]] void refuse_in_shared(Warp& warp, Pattern& pattern, Lanes& lanes, bool store) {
  refuse_misaligned(warp, lanes, "shared");
  refuse_outside_shared(warp, lanes, store);
  fill_inactive(lanes);
  if (lanes.mask != 0) pattern.learn_shared(lanes, store);
}

[[gnu::always_inline]] inline const Pattern& checked_shared(Warp& warp, uint32_t memo, Lanes& lanes, bool store) {
  Block& block = warp.block;
  Pattern& pattern = block.memos[memo];
  if (!pattern.matches(lanes)) pattern.learn_shared(lanes, store);
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  const int64_t low = static_cast<int64_t>(base) + pattern.low(), high = static_cast<int64_t>(base) + pattern.high();
  if (!pattern.aligned() || low < 0 || high > static_cast<int64_t>(block.shared.size())) [[unlikely]]
    refuse_in_shared(warp, pattern, lanes, store);
  return pattern;
}

}  // namespace

const Pattern& check_shared(Warp& warp, uint32_t memo, Lanes& lanes, bool store) {
  return checked_shared(warp, memo, lanes, store);
}

void watch_shared(Warp& warp, uint32_t memo, Lanes& lanes, Touch touch) {
  const bool store = writes(touch);
  const Pattern& pattern = checked_shared(warp, memo, lanes, store);
  if (lanes.mask == 0) return;
  Block& block = warp.block;
  Tally& tally = block.tallies.of[warp.here()];
  ++tally.shared_requests;
  tally.shared_wavefronts += pattern.wavefronts().count;
  tally.shared_conflicts += pattern.wavefronts().conflicts;
  if (warp.trace != nullptr) [[unlikely]]
    warp.trace->shared(warp.here(), warp.executions(), lanes, store);
  block.shadow.touch(touch, warp.agent, warp.here(), lanes, pattern,
                     [&](const Objection& objection) { report_objection(warp, block, objection); });
}

void watch_remote(Warp& warp, Block& owner, uint32_t memo, Lanes& lanes, Touch touch) {
  // All blocks of a cluster have as much shared memory.
  const bool store = writes(touch);
  const Pattern& pattern = check_shared(warp, memo, lanes, store);
  if (lanes.mask == 0) return;
  owner.check_is_alive(warp.agent, warp.here());
  owner.shadow.touch(touch, warp.agent, warp.here(), lanes, pattern,
                     [&](const Objection& objection) { report_objection(warp, owner, objection); });
}

void report_objection(Warp& warp, const Block& owner, const Objection& objection) {
  Block& block = warp.block;
  const uint32_t here = warp.here();
  const std::string address = owner.place(objection.address);
  const auto other = [&] { return block.cluster.thread(objection.other_agent, objection.other_lane); };
  using What = Objection::What;
  const auto report = [&](Finding kind, const std::function<std::string()>& message) {
    block.cluster.report(kind, here, objection.other_site, message,
                         block.cluster.unordered(objection.other_agent, objection.other_stamp, warp.agent));
  };
  switch (objection.what) {
    case What::never_written:
      // CUB's merges read one element past the valid ones and drop it.
      if (block.program.name.starts_with("_ZN3cub") || block.program.name.starts_with("_ZN6thrust")) {
        return block.cluster.warn(Finding::uninitialised, here, nowhere, [&] {
          return block.what_it_does(warp, objection.lane) + ": reads " + address +
                 ", which nothing has written before; kernels of CUB and Thrust drop such values";
        });
      }
      return block.report(Finding::uninitialised, here, nowhere, [&] {
        return block.what_it_does(warp, objection.lane) + ": reads " + address +
               ", which nothing has written before: a barrier is missing, or the wait for the copy that writes it, or "
               "nobody does";
      });
    case What::copy_under_way:
      // Where no barrier has told the warp that the copy has begun, a barrier is missing; else the wait is.
      if (objection.other_agent != warp.agent &&
          !owner.shadow.clocks.has_seen(warp.agent, objection.other_agent, objection.other_lane,
                                        owner.transfers.issued(objection.other_agent - owner.first_agent,
                                                               objection.other_lane, objection.address))) {
        return report(Finding::race, [&] {
          return block.what_it_does(warp, objection.lane) + ": touches " + address + " while the copy started at " +
                 block.where(objection.other_site) + " by " + other() +
                 " is under way, with no barrier between. Who uses what was there before needs one before the copy "
                 "starts; who uses what is copied needs one after its wait (cp.async.wait_group)";
        });
      }
      return report(Finding::unwaited, [&] {
        return block.what_it_does(warp, objection.lane) + ": touches " + address + " while the copy started at " +
               block.where(objection.other_site) + " by " + other() +
               " is under way: no cp.async wait has covered it. The thread that copied must wait "
               "(cp.async.wait_group), "
               "and a barrier must follow before others read";
      });
    case What::async_under_way:
      return report(Finding::unwaited, [&] {
        return block.what_it_does(warp, objection.lane) + ": touches " + address + ", which " +
               started(block, objection, other()) +
               " is writing: nobody has waited for its mbarrier, or the wait ended at once because its parity is that "
               "of "
               "the phase before";
      });
    case What::reads_under_way:
      return report(Finding::unwaited, [&] {
        return block.what_it_does(warp, objection.lane) + ": writes " + address + ", which " +
               started(block, objection, other()) +
               " may still be reading: nobody has waited for it (cp.async.bulk.wait_group of the thread that asked, or "
               "wgmma.wait_group), with a barrier after that";
      });
    case What::unfenced:
      return block.report(Finding::unfenced, here, objection.other_site, [&] {
        return block.what_it_does(warp, objection.lane) + ": reads " + address +
               " through the async proxy, written at " + block.where(objection.other_site) + " by " + other() +
               ", with no fence.proxy.async between (by the writer after its write, or by this thread once a barrier "
               "has told it of the write)";
      });
    default: break;
  }
  const char* const did = objection.what == What::write_of_read ? "read" : "written";
  const char* const does = objection.what == What::read_of_write ? "reads " : "writes ";
  const auto message = [&] {
    const bool same_warp = objection.other_agent == warp.agent;
    const std::string before = block.what_it_does(warp, objection.lane) + ": " + does + address + ", ";
    const std::string& its = block.program.sites[objection.other_site].text;
    if (objection.what != What::write_of_read && its.starts_with("cp.async") && !its.starts_with("cp.async.bulk")) {
      return before + "copied by " + its + " at " + block.where(objection.other_site) + " by " + other() +
             ", with no barrier between that thread's cp.async wait and this access: the wait is missing before the "
             "barrier, leaves too many groups under way, or no barrier follows it";
    }
    const char* const by = same_warp && objection.other_lane == warp_size ? " by several threads of " : " by ";
    return before + did + " at " + block.where(objection.other_site) + by + other() + ", with no " +
           (same_warp ? "__syncwarp" : "barrier") + " between";
  };
  report(Finding::race, message);
}

}  // namespace sim
