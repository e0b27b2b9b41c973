/// The instructions on mbarriers (PTX ISA 9.7.13.15).
#include <utility>

#include "core/machine/access.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

struct MbarrierOperands {
  AddressOperand address;
  uint32_t to;                ///< register: the state that an arrival returns, or the predicate of a wait
  uint32_t value;             ///< register: arrivals, bytes, a parity or a state
  bool orders;                ///< releases or acquires, not .relaxed
  bool drops, expects_bytes;  ///< of an arrival
  bool may_not_complete;      ///< of an arrival: .noComplete, or of copies that are counted in addition
  bool by_parity, suspends;   ///< of a wait
};

/// Where a lane's mbarrier is; a null block, reported, where the address leads to no shared memory.
Reached place_of(Warp& warp, uint32_t lane, const AddressOperand& operand, const Lanes& lanes) {
  uint64_t address = lanes.address[lane];
  if (operand.place == Place::shared) address += warp.block.shared_base();
  if (operand.place != Place::generic) address += shared_window;
  const Reached reached = reach(warp.block, address);
  if (reached.place == Place::shared && reached.block) return reached;
  warp.block.give_up(warp, Finding::out_of_bounds, [&] {
    return warp.block.what_it_does(warp, lane) + ": its address is none of the cluster's shared memory";
  });
  return {Place::shared, nullptr, 0};
}

/// Calls body(lane, block, offset) for each lane, until the launch is given up.
template <class Body>
void for_mbarriers(Warp& warp, const MbarrierOperands& operands, Body body) {
  if (warp.exec == 0) return;
  Lanes lanes;
  read_addresses(warp, warp.exec, operands.address, lanes);
  for (uint32_t left = warp.exec; left != 0 && !warp.block.launch.given_up; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const Reached reached = place_of(warp, lane, operands.address, lanes);
    if (reached.block) body(lane, *reached.block, static_cast<uint32_t>(reached.offset));
  }
}

void init(Warp& warp, const MbarrierOperands& operands) {
  const u32* const counts = warp.lanes<const u32>(operands.value);
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    block.mbarriers.init(warp, lane, address, counts[lane]);
  });
}

void invalidate(Warp& warp, const MbarrierOperands& operands) {
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    block.mbarriers.invalidate(warp, lane, address);
  });
}

void expect_bytes(Warp& warp, const MbarrierOperands& operands) {
  const u32* const bytes = warp.lanes<const u32>(operands.value);
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    if (Mbarrier* const mbarrier = block.mbarriers.used(warp, lane, address))
      block.mbarriers.expect_bytes(warp, lane, *mbarrier, bytes[lane]);
  });
}

void complete_bytes(Warp& warp, const MbarrierOperands& operands) {
  const u32* const bytes = warp.lanes<const u32>(operands.value);
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    if (Mbarrier* const mbarrier = block.mbarriers.used(warp, lane, address))
      block.mbarriers.complete_bytes(*mbarrier, bytes[lane], warp.here());
  });
}

void arrive(Warp& warp, const MbarrierOperands& operands) {
  u64* const to = warp.lanes<u64>(operands.to);
  const u32* const values = warp.lanes<const u32>(operands.value);
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    Mbarrier* const mbarrier = block.mbarriers.used(warp, lane, address);
    if (!mbarrier) return;
    to[lane] = state_of(*mbarrier);
    const u32 count = operands.expects_bytes ? 1 : values[lane];
    if (operands.may_not_complete && count >= mbarrier->pending) {
      return warp.block.give_up(warp, Finding::mbarrier, [&] {
        return warp.block.what_it_does(warp, lane) +
               ": an arrival that may not complete the phase would: " + block.mbarriers.describe(address);
      });
    }
    if (operands.expects_bytes) block.mbarriers.expect_bytes(warp, lane, *mbarrier, values[lane]);
    block.mbarriers.arrive(warp, lane, *mbarrier, count, operands.orders, operands.drops);
  });
}

/// cp.async.mbarrier.arrive: the thread's copies so far arrive at the mbarrier when they are complete. Here they are at
/// once, which is one of the orders that are possible; whoever wants the data has to wait for the phase all the same,
/// or be the thread itself and wait for its copies.
/// Without .noinc the arrival is expected in addition, so that the count of missing ones stays as it was.
void arrive_after_copies(Warp& warp, const MbarrierOperands& operands) {
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    Mbarrier* const mbarrier = block.mbarriers.used(warp, lane, address);
    if (!mbarrier) return;
    warp.block.transfers.hand_over(warp.index, lane, mbarrier->gathering);
    if (!operands.may_not_complete) block.mbarriers.arrive(warp, lane, *mbarrier, 1, false, false);
  });
}

/// A phase may not pass while somebody waits for the one before it: its parity would never be seen.
bool is_overrun(Warp& warp, uint32_t lane, const Block& block, const Mbarrier& mbarrier) {
  const Warp::Wait& before = warp.waits_for;
  const bool again = before.kind == Warp::Wait::Kind::mbarrier && before.block == &block &&
                     before.number == mbarrier.address && before.site == warp.here();
  if (!again || before.phase == mbarrier.phase) return false;
  warp.block.give_up(
      warp, Finding::mbarrier,
      [&] {
        return warp.block.what_it_does(warp, lane) + ": waits for phase " + std::to_string(before.phase) +
               ", but the next has passed as well before it could look: too many arrivals, or nobody waits until it "
               "has "
               "gone on; now " +
               block.mbarriers.describe(mbarrier.address);
      },
      mbarrier.site);
  return true;
}

/// test_wait and try_wait. A try_wait that would fail suspends the warp until the phase is complete, or until nothing
/// else can go on: then its time is over and it returns, as it may at any time on a GPU.
void wait(Warp& warp, const MbarrierOperands& operands) {
  uint32_t complete = 0;
  Warp::Wait missing;
  const Block* block_before = nullptr;
  uint32_t address_before = 0;
  bool parity_before = false, complete_before = false;
  for_mbarriers(warp, operands, [&](uint32_t lane, Block& block, uint32_t address) {
    const bool parity = operands.by_parity ? warp.lanes<const u32>(operands.value)[lane] & 1
                                           : warp.lanes<const u64>(operands.value)[lane] >> 63;
    if (block_before != &block || address_before != address || parity_before != parity) {
      Mbarrier* const mbarrier = block.mbarriers.used(warp, lane, address);
      if (!mbarrier) return;
      block_before = &block, address_before = address, parity_before = parity;
      complete_before = mbarrier->parity_is_complete(parity);
      if (complete_before) {
        block.mbarriers.passed(warp, *mbarrier, parity);
        if (warp.block.launch.options.watch) block.shadow.clocks.wait(warp.agent, mbarrier->completed, operands.orders);
      } else if (!is_overrun(warp, lane, block, *mbarrier)) {
        missing = {.kind = Warp::Wait::Kind::mbarrier, .block = &block, .number = address, .phase = mbarrier->phase};
      }
    }
    complete |= u32{complete_before} << lane;
  });
  if (warp.state == Warp::State::done || warp.exec == 0) return;
  if (complete != warp.exec) {
    if (operands.suspends && !std::exchange(warp.timed_out, false)) return warp.wait_again(missing);
    warp.poll();
  }
  warp.waits_for = {};
  uint32_t& to = warp.predicate(operands.to);
  to = (to & ~warp.exec) | complete;
}

/// pending_count: of a state that an arrival returned.
constexpr auto count_pending = [](u64 state) -> u32 { return pending_count(state); };

// --- decoding ---

MbarrierOperands& begin(Builder& builder, const ptx::Operand& where) {
  auto& made = builder.made<MbarrierOperands>();
  const auto address = builder.address(where);
  const bool shared = builder.has("shared") || builder.has("shared::cta") || address.variable;
  const Place place = builder.has("shared::cluster") ? Place::cluster : shared ? Place::shared : Place::generic;
  made.address = {address.base, address.wide, place, address.offset};
  made.orders = !builder.has("relaxed");
  return made;
}

/// [address], and a value of 32 bits unless it is mbarrier.inval.
void build_plain(Builder& builder) {
  const auto& operands = builder.operands();
  const bool takes_value = !builder.has("inval");
  if (operands.size() != (takes_value ? 2 : 1)) builder.refuse("a wrong number of operands");
  MbarrierOperands& made = begin(builder, operands[0]);
  if (takes_value) made.value = builder.source(operands[1], ptx::Width::b32);
}

void build_arrive_after_copies(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("an address is needed");
  begin(builder, builder.operands()[0]).may_not_complete = !builder.has("noinc");
}

/// state or _, [address], and a count or bytes; the form without a state is that for other blocks' mbarriers.
void build_arrive(Builder& builder) {
  const auto& operands = builder.operands();
  const bool counts = builder.has("expect_tx") || builder.has("noComplete");
  if (operands.size() != 3 && (operands.size() != 2 || counts)) builder.refuse("a wrong number of operands");
  MbarrierOperands& made = begin(builder, operands[1]);
  if (builder.has("shared::cluster") && operands[0].kind != ptx::Operand::Kind::sink)
    builder.refuse("an arrival in shared::cluster returns no state: _ is needed");
  made.to = builder.destination(operands[0], ptx::Width::b64);
  made.value =
      operands.size() == 3 ? builder.source(operands[2], ptx::Width::b32) : builder.constant(ptx::Width::b32, 1);
  made.drops = builder.written().opcode.starts_with("mbarrier.arrive_drop");
  made.expects_bytes = builder.has("expect_tx");
  made.may_not_complete = builder.has("noComplete");
}

/// predicate, [address], state or parity, and for try_wait how long it may wait.
void build_wait(Builder& builder) {
  const auto& operands = builder.operands();
  const bool suspends = builder.has("try_wait");
  if (operands.size() != 3 && (operands.size() != 4 || !suspends)) builder.refuse("a wrong number of operands");
  MbarrierOperands& made = begin(builder, operands[1]);
  made.to = builder.destination(operands[0], ptx::Width::predicate);
  made.by_parity = builder.has("parity");
  made.value = builder.source(operands[2], made.by_parity ? ptx::Width::b32 : ptx::Width::b64);
  made.suspends = suspends;
  if (operands.size() == 4) builder.source(operands[3], ptx::Width::b32);
}

}  // namespace

[[gnu::cold]] void add_mbarrier(Table& table) {
  const std::string own = "{,.shared,.shared::cta}.b64", any = "{,.shared,.shared::cta,.shared::cluster}.b64";
  const std::string scope = "{,.cta,.cluster}";
  table.add("mbarrier.init" + own, {"", Class::barrier, handle<init>, build_plain});
  table.add("mbarrier.inval" + own, {"", Class::barrier, handle<invalidate>, build_plain});
  table.add("mbarrier.expect_tx{,.relaxed}" + scope + any, {"", Class::barrier, handle<expect_bytes>, build_plain});
  table.add("mbarrier.complete_tx{,.relaxed}" + scope + any, {"", Class::barrier, handle<complete_bytes>, build_plain});
  for (const char* const operation : {"mbarrier.arrive", "mbarrier.arrive_drop"}) {
    const Form form{"", Class::barrier, handle<arrive>, build_arrive};
    table.add(operation + ("{,.expect_tx}{,.release,.relaxed}" + scope + any), form);
    table.add(operation + (".noComplete{,.release}{,.cta}" + own), form);
  }
  table.add("cp.async.mbarrier.arrive{,.noinc}" + own,
            {"", Class::cp_async, handle<arrive_after_copies>, build_arrive_after_copies});
  table.add("mbarrier.{test_wait,try_wait}{,.parity}{,.acquire,.relaxed}" + scope + own,
            {"", Class::barrier, handle<wait>, build_wait});
  table.lanewise<count_pending>("mbarrier.pending_count.b64", Class::integer);
}

}  // namespace sim
