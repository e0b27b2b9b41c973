/// Control flow, barriers, and what the lanes of a warp tell each other (PTX ISA 9.7.9.6, 9.7.12, 9.7.13).
#include <algorithm>
#include <array>

#include "front/decode.h"
#include "machine/block.h"
#include "machine/forms.h"

namespace sim {
namespace {

void branch(Warp& warp, const Instruction& instruction) { warp.branch(instruction.target); }

void build_branch(Builder& builder) {
  if (builder.operands().size() != 1 || builder.operands()[0].kind != ptx::Operand::Kind::label)
    builder.refuse("a label is needed here");
  builder.made().target = builder.operands()[0].index;
}

void leave(Warp& warp, const Instruction&) {
  if (warp.exec == 0) return;
  // Copies that nobody waited for land in the end all the same.
  Block& block = warp.block;
  for (const Copy& copy : block.copies[warp.index]) {
    if (block.launch.options.watch) {
      for_lanes(copy.mask & warp.exec,
                [&](uint32_t lane) { block.shadow.end_copy(warp.index, lane, copy.to[lane], copy.bytes); });
    }
  }
  warp.exit();
}

void trap(Warp& warp, const Instruction&) {
  if (warp.exec == 0) return;
  Block& block = warp.block;
  block.report(Finding::trap, warp.here(), Block::nowhere, [&] {
    return "trap at " + block.where(warp.here()) + " by " + block.thread(warp, first_lane(warp.exec));
  });
  block.launch.given_up = true;
  warp.state = Warp::State::done;
}

/// nanosleep: the other warps' turn.
void sleep(Warp& warp, const Instruction&) {
  if (warp.exec != 0) warp.poll();
}

void build_sleep(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.source(builder.operands()[0], ptx::Width::b32);
}

/// Data are coherent anyway: a fence only orders, for the race detector.
void fence(Warp& warp, const Instruction&) {
  if (warp.exec != 0 && warp.block.launch.options.watch) warp.block.shadow.clocks.fence(warp.index);
}

// --- barriers
// ---------------------------------------------------------------------------------------------------------------

/// Lanes that have ended, or that went another way, do not come: whoever counts on the barrier is wrong.
bool whole_warp_is_here(Warp& warp) {
  if (!warp.gather(all_lanes)) return false;
  if (warp.exec == warp.started) return true;
  Block& block = warp.block;
  const uint32_t absent = first_lane(warp.started & ~warp.exec);
  const bool ended = !(warp.live >> absent & 1);
  block.report(Finding::divergent_barrier, warp.here(), Block::nowhere, [&] {
    return "the barrier at " + block.where(warp.here()) +
           " is reached by part of a warp only: " + block.thread(warp, absent) +
           (ended ? " has ended without it" : " waits elsewhere");
  });
  if (ended) return true;  // the hardware counts threads that have ended as arrived
  block.launch.given_up = true;
  warp.state = Warp::State::done;
  return false;
}

/// bar.sync a, b: operand 0 the barrier, operand 1 the threads, or 0 for all of the block.
template <bool waits>
void barrier(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  if (!whole_warp_is_here(warp)) return;
  Block& block = warp.block;
  const u32 number = warp.lanes<u32>(instruction.operand[0])[first_lane(warp.exec)];
  const u32 threads = warp.lanes<u32>(instruction.operand[1])[first_lane(warp.exec)];
  if (number >= Block::barrier_count || threads % warp_size != 0) {
    block.report(Finding::unsupported, warp.here(), Block::nowhere, [&] {
      return "barrier " + std::to_string(number) + " for " + std::to_string(threads) + " threads at " +
             block.where(warp.here()) + ": there are 16 barriers, for multiples of 32 threads";
    });
    block.launch.given_up = true;
    warp.state = Warp::State::done;
    return;
  }
  block.arrive(warp, number, threads == 0 ? block.launch.warps() : threads / warp_size, waits);
}

void build_barrier(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.empty() || operands.size() > 2)
    builder.refuse("a barrier and, if need be, a count of threads are needed");
  builder.made().operand[0] = builder.source(operands[0], ptx::Width::b32);
  builder.made().operand[1] =
      operands.size() == 2 ? builder.source(operands[1], ptx::Width::b32) : builder.constant(ptx::Width::b32, 0);
}

void warp_barrier(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  const u32 members = warp.lanes<u32>(instruction.operand[0])[first_lane(warp.exec)];
  if (!warp.gather(members)) return;
  if (warp.block.launch.options.watch) warp.block.shadow.clocks.warp_met(warp.index);
}

// --- between lanes
// ----------------------------------------------------------------------------------------------------------

/// Waits for the lanes of a `.sync` instruction's member mask; false when the caller must return.
bool members_are_here(Warp& warp, u32 members) {
  if (!warp.gather(members)) return false;
  const u32 absent = members & warp.started & ~warp.exec;
  if (absent == 0 && (warp.exec & ~members) == 0) return true;
  Block& block = warp.block;
  block.report(Finding::divergent_barrier, warp.here(), Block::nowhere, [&] {
    return block.program.sites[warp.here()].text + " at " + block.where(warp.here()) + ": " +
           (absent
                ? block.thread(warp, first_lane(absent)) + " is named in its mask but does not execute it"
                : block.thread(warp, first_lane(warp.exec & ~members)) + " executes it but is not named in its mask");
  });
  return true;
}

enum class Shuffle { up, down, butterfly, index };

/// shfl.sync d|p, a, b, c, mask: operands 0 to 5.
template <Shuffle mode>
void shuffle(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  if (!members_are_here(warp, warp.lanes<u32>(instruction.operand[5])[first_lane(warp.exec)])) return;
  u32* const to = warp.lanes<u32>(instruction.operand[0]);
  std::array<u32, warp_size> from;
  std::copy_n(warp.lanes<u32>(instruction.operand[2]), warp_size, from.begin());
  const u32* const b = warp.lanes<u32>(instruction.operand[3]);
  const u32* const c = warp.lanes<u32>(instruction.operand[4]);
  u32 within = 0;
  for_lanes(warp.exec, [&](uint32_t lane) {
    const u32 segment = c[lane] >> 8 & 31, clamp = c[lane] & 31, step = b[lane] & 31;
    const u32 last = (lane & segment) | (clamp & ~segment);
    u32 source = 0;
    bool valid = true;
    switch (mode) {
      case Shuffle::up: source = lane - step, valid = static_cast<s32>(source) >= static_cast<s32>(last); break;
      case Shuffle::down: source = lane + step, valid = source <= last; break;
      case Shuffle::butterfly: source = lane ^ step, valid = source <= last; break;
      case Shuffle::index: source = (lane & segment) | (step & ~segment), valid = source <= last; break;
    }
    to[lane] = from[valid ? source : lane];
    within |= u32{valid} << lane;
  });
  u32& predicate = warp.predicate(instruction.operand[1]);
  predicate = (predicate & ~warp.exec) | within;
}

void build_shuffle(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 5) builder.refuse("five operands are needed");
  const bool pair = operands[0].kind == ptx::Operand::Kind::pair;
  builder.made().operand[0] = builder.destination(pair ? operands[0].parts[0] : operands[0], ptx::Width::b32);
  builder.made().operand[1] = builder.destination(
      pair ? operands[0].parts[1] : ptx::Operand{.kind = ptx::Operand::Kind::sink}, ptx::Width::predicate);
  for (size_t i = 1; i < 5; ++i) builder.made().operand[i + 1] = builder.source(operands[i], ptx::Width::b32);
}

enum class Vote { all, any, uniform, ballot };

template <Vote mode>
void vote(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  if (!members_are_here(warp, warp.lanes<u32>(instruction.operand[2])[first_lane(warp.exec)])) return;
  const u32 yes = (warp.predicate(instruction.operand[1]) ^ static_cast<u32>(instruction.immediate)) & warp.exec;
  if constexpr (mode == Vote::ballot) {
    u32* const to = warp.lanes<u32>(instruction.operand[0]);
    for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = yes; });
  } else {
    const bool result = mode == Vote::all   ? yes == warp.exec
                        : mode == Vote::any ? yes != 0
                                            : yes == 0 || yes == warp.exec;
    u32& to = warp.predicate(instruction.operand[0]);
    to = (to & ~warp.exec) | (result ? warp.exec : 0);
  }
}

template <Vote mode>
void build_vote(Builder& builder) {
  if (builder.operands().size() != 3) builder.refuse("three operands are needed");
  ptx::Operand asked = builder.operands()[1];
  builder.made().immediate = asked.negated ? -1 : 0;
  asked.negated = false;
  builder.made().operand[0] =
      builder.destination(builder.operands()[0], mode == Vote::ballot ? ptx::Width::b32 : ptx::Width::predicate);
  builder.made().operand[1] = builder.source(asked, ptx::Width::predicate);
  builder.made().operand[2] = builder.source(builder.operands()[2], ptx::Width::b32);
}

void active_mask(Warp& warp, const Instruction& instruction) {
  u32* const to = warp.lanes<u32>(instruction.operand[0]);
  for_lanes(warp.exec, [to, mask = warp.exec](uint32_t lane) { to[lane] = mask; });
}

/// redux.sync: one value of all the member lanes.
template <auto combine, class T>
void reduce(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  if (!members_are_here(warp, warp.lanes<u32>(instruction.operand[2])[first_lane(warp.exec)])) return;
  const T* const from = warp.lanes<T>(instruction.operand[1]);
  T result = from[first_lane(warp.exec)];
  for_lanes(warp.exec & (warp.exec - 1), [&](uint32_t lane) { result = combine(result, from[lane]); });
  T* const to = warp.lanes<T>(instruction.operand[0]);
  for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = result; });
}

}  // namespace

void add_control(Table& table) {
  table.add("{bra,bra.uni}", {"", Class::branch, branch, build_branch});
  table.add("{ret,exit,ret.uni}", {"", Class::branch, leave});
  table.add("trap", {"", Class::other, trap});
  table.add("{bar.sync,barrier.sync,barrier.sync.aligned,bar.cta.sync,barrier.cta.sync,barrier.cta.sync.aligned}",
            {"", Class::barrier, barrier<true>, build_barrier});
  table.add("{bar.arrive,barrier.arrive,barrier.arrive.aligned,bar.cta.arrive,barrier.cta.arrive.aligned}",
            {"", Class::barrier, barrier<false>, build_barrier});
  table.add("bar.warp.sync", {"w", Class::barrier, warp_barrier});
  table.add("nanosleep.u32", {"", Class::other, sleep, build_sleep});
  table.add("membar.{cta,gl,sys}", {"", Class::other, fence});
  table.add("fence{,.sc,.acq_rel}.{cta,cluster,gpu,sys}", {"", Class::other, fence});
  table.add("shfl.sync.up.b32", {"", Class::shuffle, shuffle<Shuffle::up>, build_shuffle});
  table.add("shfl.sync.down.b32", {"", Class::shuffle, shuffle<Shuffle::down>, build_shuffle});
  table.add("shfl.sync.bfly.b32", {"", Class::shuffle, shuffle<Shuffle::butterfly>, build_shuffle});
  table.add("shfl.sync.idx.b32", {"", Class::shuffle, shuffle<Shuffle::index>, build_shuffle});
  table.add("vote.sync.all.pred", {"", Class::shuffle, vote<Vote::all>, build_vote<Vote::all>});
  table.add("vote.sync.any.pred", {"", Class::shuffle, vote<Vote::any>, build_vote<Vote::any>});
  table.add("vote.sync.uni.pred", {"", Class::shuffle, vote<Vote::uniform>, build_vote<Vote::uniform>});
  table.add("vote.sync.ballot.b32", {"", Class::shuffle, vote<Vote::ballot>, build_vote<Vote::ballot>});
  table.add("activemask.b32", {"W", Class::shuffle, active_mask});
  table.add("redux.sync.add.{u32,s32}", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return a + b; }, u32>});
  table.add("redux.sync.min.u32", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return std::min(a, b); }, u32>});
  table.add("redux.sync.max.u32", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return std::max(a, b); }, u32>});
  table.add("redux.sync.min.s32", {"Www", Class::shuffle, reduce<[](s32 a, s32 b) { return std::min(a, b); }, s32>});
  table.add("redux.sync.max.s32", {"Www", Class::shuffle, reduce<[](s32 a, s32 b) { return std::max(a, b); }, s32>});
  table.add("redux.sync.and.b32", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return a & b; }, u32>});
  table.add("redux.sync.or.b32", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return a | b; }, u32>});
  table.add("redux.sync.xor.b32", {"Www", Class::shuffle, reduce<[](u32 a, u32 b) { return a ^ b; }, u32>});
}

}  // namespace sim
