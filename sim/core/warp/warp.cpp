#include "core/warp/warp.h"

#include <algorithm>

#include "core/machine/cluster.h"

namespace sim {
namespace {

constexpr uint64_t polling_turn = 64;         ///< instructions left in a turn once a lane has polled
constexpr uint64_t lane_patience = 1u << 20;  ///< instructions after which lanes no longer wait for those behind them
constexpr uint64_t polling_costs = 1u << 14;  ///< what a turn that polls takes of it

}  // namespace

void Warp::start(uint32_t lanes) {
  started = live = active = lanes;
  pc = 0;
  parked_.clear();
  rejoin_ = ~0u;
  out_of_order_ = false;
  state = State::running;
  came_to_cluster_barrier = 0;
  timed_out = false;
  budget_ = block.launch.options.max_instructions;
  patience_ = lane_patience;
}

void Warp::run(uint64_t instructions) {
  const bool watches = block.program.watches_registers && block.launch.options.watch;
  watches ? run_instructions<true>(instructions) : run_instructions<false>(instructions);
}

template <bool watches_registers>
void Warp::run_instructions(uint64_t instructions) {
  const Instruction* const code = block.program.code.data();
  uint64_t* const executed = block.tallies.executed.data();
  polled_ = false;
  left_ = std::min(instructions, budget_);
  budget_ -= left_;
  while (state == State::running) {
    if (pc >= rejoin_) regroup();
    if (left_ == 0) return end_turn(instructions);
    --left_;
    const Instruction& instruction = code[pc];
    ++executed[pc];
    ++pc;
    exec = active & (predicate(instruction.guard) ^ instruction.guard_flip);
    if (watches_registers && exec != 0) block.products.watch(*this);
    instruction.run(*this, instruction);
  }
  budget_ += left_;
}

uint64_t Warp::executions() const { return block.tallies.executed[here()]; }

uint64_t Warp::ticks() const { return block.launch.options.max_instructions - budget_ - left_; }

void Warp::poll() {
  polled_ = true;
  if (left_ <= polling_turn) return;
  budget_ += left_ - polling_turn;
  left_ = polling_turn;
}

void Warp::end_turn(uint64_t instructions) {
  if (budget_ == 0) {
    block.report(Finding::endless, pc, nowhere, [&] {
      return "a warp has executed " + std::to_string(block.launch.options.max_instructions) +
             " instructions and is still at " + block.where(pc) + ": endless, or raise PTXSIM_MAX_INSTRUCTIONS";
    });
    block.launch.given_up = true;
    return;
  }
  if (out_of_order_) return regroup();
  if (!others_can_run()) {
    patience_ = lane_patience;
    return;
  }
  const uint64_t cost = polled_ ? polling_costs : instructions;
  patience_ -= std::min(patience_, cost);
  if (patience_ == 0) let_others_pass();
}

bool Warp::others_can_run() const {
  return std::any_of(parked_.begin(), parked_.end(), [](const Group& group) { return !group.waits; });
}

/// The lanes with the least pc may be waiting for lanes that wait to be caught up with: these get a turn.
void Warp::let_others_pass() {
  patience_ = lane_patience;
  const auto next = std::find_if(parked_.begin(), parked_.end(), [](const Group& group) { return !group.waits; });
  const Group group = *next;
  parked_.erase(next);
  parked_.push_back({pc, active, false});
  pc = group.pc;
  active = group.lanes;
  rejoin_ = ~0u;
  out_of_order_ = true;
}

void Warp::wait_again(Wait wait) {
  wait.site = here();
  --block.tallies.executed[here()];
  pc = here();
  state = State::waiting;
  waits_for = wait;
  if (block.cluster.events) [[unlikely]]
    block.cluster.note_wait(*this, wait);
}

bool Warp::pass_over() {
  const bool waits_itself = state == State::waiting && waits_for.kind != Wait::Kind::barrier;
  if (!waits_itself || !others_can_run()) return false;
  let_others_pass();
  state = State::running;
  return true;
}

void Warp::branch(uint32_t target) {
  if (exec == 0) return;
  if (exec == active) {
    pc = target;
    return;
  }
  ++block.tallies.of[here()].divergent;
  parked_.push_back({target, exec, false});
  active &= ~exec;
  if (!out_of_order_) rejoin_ = std::min(rejoin_, target);
}

/// The lanes with the least pc run: those that are ahead wait for them to catch up, and the paths of a branch meet
/// again.
void Warp::regroup() {
  out_of_order_ = false;
  if (active != 0) parked_.push_back({pc, active, false});
  active = 0;
  uint32_t least = ~0u;
  for (const Group& group : parked_) {
    if (!group.waits) least = std::min(least, group.pc);
  }
  pc = least;
  rejoin_ = ~0u;
  std::erase_if(parked_, [&](const Group& group) {
    if (group.pc == pc) {
      active |= group.lanes;
      return true;
    }
    if (!group.waits) rejoin_ = std::min(rejoin_, group.pc);
    return false;
  });
}

/// Goes on with lanes that are parked, if some can run.
bool Warp::resume_another() {
  active = 0;
  if (!others_can_run()) return false;
  regroup();
  return true;
}

void Warp::exit() {
  live &= ~exec;
  active &= ~exec;
  if (active != 0) return;
  // Lanes that wait for those that have just gone must look again.
  for (Group& group : parked_) group.waits = false;
  if (resume_another()) return;
  state = State::done;
  if (block.cluster.events) [[unlikely]]
    block.cluster.note(*this, {.kind = Event::Kind::exit});
  block.end_warp(*this);
}

void Warp::tell_lanes_apart_anew() { block.shadow.clocks.begin_reading(agent); }

bool Warp::gather(uint32_t needed) {
  const uint32_t at = here();
  std::erase_if(parked_, [&](const Group& group) {
    if (group.pc != at || !group.waits) return false;
    exec |= group.lanes;
    active |= group.lanes;
    return true;
  });
  needed &= live;
  if ((needed & ~exec) == 0) return true;
  if (!others_can_run() && exec == active) return true;

  // These lanes wait here; this execution does not count, since it will be done again with the others.
  --block.tallies.executed[at];
  parked_.push_back({at, exec, true});
  active &= ~exec;
  if (active == 0) resume_another();
  return false;
}

}  // namespace sim
