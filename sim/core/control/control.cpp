/// Control flow, barriers, and what the lanes of a warp tell each other (PTX ISA 9.7.9.6, 9.7.12, 9.7.13).
#include <algorithm>
#include <array>
#include <atomic>

#include "core/control/members.h"
#include "core/machine/barrier.h"
#include "core/machine/cluster.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {

uint32_t barrier_number(Warp& warp, const BarrierOperands& operands) {
  return warp.lanes<u32>(operands.barrier)[first_lane(warp.exec)];
}

bool whole_warp_is_here(Warp& warp) {
  if (warp.exec == warp.started) return true;
  Block& block = warp.block;
  const uint32_t absent = first_lane(warp.started & ~warp.exec);
  const bool ended = !(warp.live >> absent & 1);
  const auto message = [&] {
    return "the barrier at " + block.where(warp.here()) +
           " is reached by part of a warp only: " + block.thread(warp, absent) +
           (ended ? " has ended without it" : " waits elsewhere");
  };
  // The hardware counts threads that have ended as arrived.
  if (ended)
    block.report(Finding::divergent_barrier, warp.here(), nowhere, message);
  else
    block.give_up(warp, Finding::divergent_barrier, message);
  return ended;
}

void come_to_barrier(Warp& warp, const BarrierOperands& operands, bool waits) {
  Block& block = warp.block;
  const u32 number = barrier_number(warp, operands);
  const u32 threads = warp.lanes<u32>(operands.threads)[first_lane(warp.exec)];
  if (number >= Block::barrier_count || threads % warp_size != 0) {
    return block.give_up(warp, Finding::unsupported, [&] {
      return "barrier " + std::to_string(number) + " for " + std::to_string(threads) + " threads at " +
             block.where(warp.here()) + ": there are 16 barriers, for multiples of 32 threads";
    });
  }
  block.arrive(warp, number, threads == 0 ? block.launch.warps() : threads / warp_size, waits);
}

namespace {

struct Branch {
  uint32_t target;  ///< instruction to go to
};

void branch(Warp& warp, const Branch& to) { warp.branch(to.target); }

void build_branch(Builder& builder) {
  if (builder.operands().size() != 1 || builder.operands()[0].kind != ptx::Operand::Kind::label)
    builder.refuse("a label is needed here");
  builder.made<Branch>().target = builder.operands()[0].index;
}

void leave(Warp& warp, const Instruction&) {
  if (warp.exec == 0) return;
  warp.block.transfers.complete_all(warp.index, warp.exec);  // what nobody waited for arrives in the end all the same
  warp.block.cluster.leave(warp.exec);
  warp.exit();
}

void trap(Warp& warp, const Instruction&) {
  if (warp.exec == 0) return;
  Block& block = warp.block;
  const auto& specials = block.program.specials;
  const bool wants_grid =
      !block.launch.cooperative && std::any_of(specials.begin(), specials.end(), [](const auto& each) {
        return each.which == Special::envreg1 || each.which == Special::envreg2;
      });
  block.give_up(warp, Finding::trap, [&] {
    return block.what_it_does(warp, first_lane(warp.exec)) +
           (wants_grid ? ": the kernel asks for a barrier of the whole grid, which only a cooperative launch has "
                         "(cudaLaunchCooperativeKernel)"
                       : "");
  });
}

/// nanosleep: the other warps' turn.
void sleep(Warp& warp, const Instruction&) {
  if (warp.exec != 0) warp.poll();
}

void build_sleep(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.source(builder.operands()[0], ptx::Width::b32);
}

void note_fence(Warp& warp) {
  if (warp.exec != 0 && warp.block.cluster.events) [[unlikely]]
    warp.block.cluster.note(warp, {.kind = Event::Kind::fence, .owner = warp.block.rank});
}

/// A fence orders: on the host for blocks that other cores run, and for the race detector.
struct Fence {
  Scope scope;
};
void fence(Warp& warp, const Fence& made) {
#if !defined(__SANITIZE_THREAD__)  // it knows no fences; strong accesses acquire and release by themselves
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  if (warp.exec != 0 && warp.block.launch.options.watch)
    warp.block.shadow.clocks.fence(warp.agent, warp.acting(), made.scope);
  note_fence(warp);
}

void build_fence(Builder& builder) {
  if (!builder.operands().empty()) builder.refuse("it takes no operands");
  const Scope scope = builder.has("cta") ? Scope::cta : builder.has("cluster") ? Scope::cluster : Scope::gpu;
  builder.made<Fence>().scope = scope;
  Program& program = builder.program();
  program.syncs_grid |= scope == Scope::gpu;
  if (scope != Scope::gpu && !builder.has("mbarrier_init"))
    program.narrow_fence = std::min(program.narrow_fence, static_cast<uint32_t>(program.code.size()));
}

/// fence.mbarrier_init: a fence, and whoever is told of the mbarriers that these lanes have initialised may use them.
void fence_inits(Warp& warp, const Fence& made) {
  fence(warp, made);
  if (warp.exec != 0 && warp.block.launch.options.watch) warp.block.mbarriers.fence_inits(warp, warp.exec);
}

/// fence.proxy.async: what this warp has written to shared memory may be read by the async proxy.
void fence_proxy(Warp& warp, const Instruction&) {
  if (warp.exec != 0 && warp.block.launch.options.watch)
    warp.block.shadow.clocks.fence_proxy(warp.agent, warp.acting());
  note_fence(warp);
}

/// What has no effect here: kernels run one after the other.
void nothing(Warp&, const Instruction&) {}

/// griddepcontrol.wait: what the kernels in front have done is done.
void wait_for_launches(Warp& warp, const Instruction&) {
  Cluster& cluster = warp.block.cluster;
  if (warp.exec != 0 && cluster.launch.before) cluster.waits.wait(warp.agent, cluster.clocks.now());
}

// --- barriers ---

template <bool waits>
void barrier(Warp& warp, const BarrierOperands& operands) {
  if (whole_warp_is_here(warp)) come_to_barrier(warp, operands, waits);
}

void build_barrier(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.empty() || operands.size() > 2)
    builder.refuse("a barrier and, if need be, a count of threads are needed");
  auto& made = builder.made<BarrierOperands>();
  made.barrier = builder.source(operands[0], ptx::Width::b32);
  made.threads =
      operands.size() == 2 ? builder.source(operands[1], ptx::Width::b32) : builder.constant(ptx::Width::b32, 0);
}

void warp_barrier(Warp& warp, const Operands&) {
  if (warp.block.launch.options.watch) warp.block.shadow.clocks.warp_met(warp.agent);
}

// --- between lanes ---

enum class Shuffle { up, down, butterfly, index };

/// Many kernels drop such a value, so it is no error; that it is nobody's number shows where it is used.
void warn_of_undefined(Warp& warp, uint32_t lane, uint32_t source) {
  Block& block = warp.block;
  block.cluster.warn(Finding::divergent_barrier, warp.here(), nowhere, [&] {
    return block.what_it_does(warp, lane) + ": takes the value of " + block.thread(warp, source) +
           ", which does not execute it: PTX leaves the result undefined, here all its bits are 1";
  });
}

/// shfl.sync d|p, a, b, c, mask: operands 0 to 5.
template <Shuffle mode>
void shuffle(Warp& warp, const Operands& operands) {
  check_members(warp, named_lanes<5>(warp, operands));
  u32* const to = warp.lanes<u32>(operands.at[0]);
  std::array<u32, warp_size> from;
  std::copy_n(warp.lanes<u32>(operands.at[2]), warp_size, from.begin());
  const u32* const b = warp.lanes<u32>(operands.at[3]);
  const u32* const c = warp.lanes<u32>(operands.at[4]);
  u32 within = 0, undefined = 0;
  std::array<uint32_t, warp_size> sources;
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
    sources[lane] = valid ? source : lane;
    const bool there = warp.exec >> sources[lane] & 1;
    to[lane] = there ? from[sources[lane]] : ~0u;
    undefined |= u32{!there} << lane;
    within |= u32{valid} << lane;
  });
  if (undefined != 0 && warp.block.launch.options.watch) [[unlikely]]
    warn_of_undefined(warp, first_lane(undefined), sources[first_lane(undefined)]);
  u32& predicate = warp.predicate(operands.at[1]);
  predicate = (predicate & ~warp.exec) | within;
}

void build_shuffle(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 5) builder.refuse("five operands are needed");
  const bool pair = operands[0].kind == ptx::Operand::Kind::pair;
  Operands& made = builder.made<Operands>();
  made.at[0] = builder.destination(pair ? operands[0].parts[0] : operands[0], ptx::Width::b32);
  made.at[1] = builder.destination(pair ? operands[0].parts[1] : ptx::Operand{.kind = ptx::Operand::Kind::sink},
                                   ptx::Width::predicate);
  for (size_t i = 1; i < 5; ++i) made.at[i + 1] = builder.source(operands[i], ptx::Width::b32);
}

enum class Vote { all, any, uniform, ballot };

/// vote.sync d, p, mask.
struct VoteOperands {
  Operands registers;  ///< 0 to 2
  uint32_t flip;       ///< all ones for `!p`
};

const u32* voter_masks(Warp& warp, const VoteOperands& operands) { return member_masks<2>(warp, operands.registers); }

template <Vote mode>
void vote(Warp& warp, const VoteOperands& operands) {
  check_members(warp, named_lanes<2>(warp, operands.registers));
  const u32 yes = (warp.predicate(operands.registers.at[1]) ^ operands.flip) & warp.exec;
  if constexpr (mode == Vote::ballot) {
    u32* const to = warp.lanes<u32>(operands.registers.at[0]);
    for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = yes; });
  } else {
    const bool result = mode == Vote::all   ? yes == warp.exec
                        : mode == Vote::any ? yes != 0
                                            : yes == 0 || yes == warp.exec;
    u32& to = warp.predicate(operands.registers.at[0]);
    to = (to & ~warp.exec) | (result ? warp.exec : 0);
  }
}

template <Vote mode>
void build_vote(Builder& builder) {
  if (builder.operands().size() != 3) builder.refuse("three operands are needed");
  auto& made = builder.made<VoteOperands>();
  ptx::Operand asked = builder.operands()[1];
  made.flip = asked.negated ? all_lanes : 0;
  asked.negated = false;
  made.registers.at[0] =
      builder.destination(builder.operands()[0], mode == Vote::ballot ? ptx::Width::b32 : ptx::Width::predicate);
  made.registers.at[1] = builder.source(asked, ptx::Width::predicate);
  made.registers.at[2] = builder.source(builder.operands()[2], ptx::Width::b32);
}

/// %clock, %globaltimer and their like, as `mov` reads them: instructions of the warp so far, which only ever grow.
struct Clock {
  uint32_t to, shift;
};
template <class T>
void read_clock(Warp& warp, const Clock& clock) {
  const T ticks = static_cast<T>(warp.ticks() >> clock.shift);
  for_lanes(warp.exec, [to = warp.lanes<T>(clock.to), ticks](uint32_t lane) { to[lane] = ticks; });
}
void build_clock(Builder& builder) {
  const bool wide = builder.parts().back().ends_with("64");
  builder.made<Clock>() = {builder.destination(builder.operands()[0], wide ? ptx::Width::b64 : ptx::Width::b32),
                           builder.operands()[1].text.ends_with("_hi") ? 32u : 0u};
  builder.run_by(wide ? handle<read_clock<u64>> : handle<read_clock<u32>>);
}

void active_mask(Warp& warp, const Operands& operands) {
  u32* const to = warp.lanes<u32>(operands.at[0]);
  for_lanes(warp.exec, [to, mask = warp.exec](uint32_t lane) { to[lane] = mask; });
}

/// elect.sync d|p, mask: operands 0 to 2. The first of the named lanes is elected, as an H200 does it.
void elect(Warp& warp, const Operands& operands) {
  const u32 members = named_lanes<2>(warp, operands);
  check_members(warp, members);
  const u32 leader = first_lane(members);
  u32* const to = warp.lanes<u32>(operands.at[0]);
  for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = leader; });
  u32& predicate = warp.predicate(operands.at[1]);
  predicate = (predicate & ~warp.exec) | (warp.exec & 1u << leader);
}

void build_elect(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 2 || operands[0].kind != ptx::Operand::Kind::pair)
    builder.refuse("a destination d|p and a mask are needed");
  Operands& made = builder.made<Operands>();
  made.at[0] = builder.destination(operands[0].parts[0], ptx::Width::b32);
  made.at[1] = builder.destination(operands[0].parts[1], ptx::Width::predicate);
  made.at[2] = builder.source(operands[1], ptx::Width::b32);
}

/// redux.sync: one value of all the member lanes.
template <auto combine, class T>
void reduce(Warp& warp, const Operands& operands) {
  check_members(warp, named_lanes<2>(warp, operands));
  const T* const from = warp.lanes<T>(operands.at[1]);
  T result = from[first_lane(warp.exec)];
  for_lanes(warp.exec & (warp.exec - 1), [&](uint32_t lane) { result = combine(result, from[lane]); });
  T* const to = warp.lanes<T>(operands.at[0]);
  for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = result; });
}

template <auto combine, class T>
[[gnu::cold]] void add_reduction(Table& table, const std::string& operation_and_type) {
  table.add("redux.sync." + operation_and_type,
            {"Www", Class::shuffle, handle_members<member_masks<2>, reduce<combine, T>>});
}

}  // namespace

[[gnu::cold]] void add_control(Table& table) {
  table.add("{bra,bra.uni}", {"", Class::branch, handle<branch>, build_branch});
  table.add("{ret,exit,ret.uni}", {"", Class::branch, leave});
  table.add("trap", {"", Class::other, trap});
  table.add("{bar.sync,barrier.sync,barrier.sync.aligned,bar.cta.sync,barrier.cta.sync,barrier.cta.sync.aligned}",
            {"", Class::barrier, handle_together<every_lane<BarrierOperands>, barrier<true>>, build_barrier});
  table.add("{bar.arrive,barrier.arrive,barrier.arrive.aligned,bar.cta.arrive,barrier.cta.arrive.aligned}",
            {"", Class::barrier, handle_together<every_lane<BarrierOperands>, barrier<false>>, build_barrier});
  table.add("bar.warp.sync", {"w", Class::barrier, handle_members<member_masks<0>, warp_barrier>});
  table.add("nanosleep.u32", {"", Class::other, sleep, build_sleep});
  table.add("fence.mbarrier_init.release.cluster", {"", Class::other, handle<fence_inits>, build_fence});
  table.add("fence.proxy.async{,.shared,.shared::cta,.shared::cluster}", {"", Class::other, fence_proxy});
  table.add("fence.proxy.{alias,async.global}", {"", Class::other, nothing});
  table.add("griddepcontrol.launch_dependents", {"", Class::other, nothing});
  table.add("griddepcontrol.wait", {"", Class::other, wait_for_launches});
  table.add("membar.{cta,gl,sys}", {"", Class::other, handle<fence>, build_fence});
  table.add("fence{,.sc,.acq_rel}.{cta,cluster,gpu,sys}", {"", Class::other, handle<fence>, build_fence});
  table.add("shfl.sync.up.b32",
            {"", Class::shuffle, handle_members<member_masks<5>, shuffle<Shuffle::up>>, build_shuffle});
  table.add("shfl.sync.down.b32",
            {"", Class::shuffle, handle_members<member_masks<5>, shuffle<Shuffle::down>>, build_shuffle});
  table.add("shfl.sync.bfly.b32",
            {"", Class::shuffle, handle_members<member_masks<5>, shuffle<Shuffle::butterfly>>, build_shuffle});
  table.add("shfl.sync.idx.b32",
            {"", Class::shuffle, handle_members<member_masks<5>, shuffle<Shuffle::index>>, build_shuffle});
  table.add("vote.sync.all.pred",
            {"", Class::shuffle, handle_members<voter_masks, vote<Vote::all>>, build_vote<Vote::all>});
  table.add("vote.sync.any.pred",
            {"", Class::shuffle, handle_members<voter_masks, vote<Vote::any>>, build_vote<Vote::any>});
  table.add("vote.sync.uni.pred",
            {"", Class::shuffle, handle_members<voter_masks, vote<Vote::uniform>>, build_vote<Vote::uniform>});
  table.add("vote.sync.ballot.b32",
            {"", Class::shuffle, handle_members<voter_masks, vote<Vote::ballot>>, build_vote<Vote::ballot>});
  table.add("elect.sync", {"", Class::shuffle, handle_members<member_masks<2>, elect>, build_elect});
  table.add("ptxsim.clock", {"", Class::integer, nullptr, build_clock});
  table.add("activemask.b32", {"W", Class::shuffle, handle<active_mask>});
  add_reduction<[](u32 a, u32 b) { return a + b; }, u32>(table, "add.{u32,s32}");
  add_reduction<[](u32 a, u32 b) { return std::min(a, b); }, u32>(table, "min.u32");
  add_reduction<[](u32 a, u32 b) { return std::max(a, b); }, u32>(table, "max.u32");
  add_reduction<[](s32 a, s32 b) { return std::min(a, b); }, s32>(table, "min.s32");
  add_reduction<[](s32 a, s32 b) { return std::max(a, b); }, s32>(table, "max.s32");
  add_reduction<[](u32 a, u32 b) { return a & b; }, u32>(table, "and.b32");
  add_reduction<[](u32 a, u32 b) { return a | b; }, u32>(table, "or.b32");
  add_reduction<[](u32 a, u32 b) { return a ^ b; }, u32>(table, "xor.b32");
}

}  // namespace sim
