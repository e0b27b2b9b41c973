/// bar.red: __syncthreads_count, __syncthreads_and, __syncthreads_or (PTX ISA 9.7.13.1).
#include <bit>

#include "core/machine/barrier.h"
#include "core/machine/block.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {

void BarrierReductions::join(uint32_t barrier, Warp& warp, uint32_t lanes, uint32_t yes, Kind kind,
                             uint32_t destination) {
  Open& open = open_[barrier];
  open.threads += static_cast<uint32_t>(std::popcount(lanes));
  open.yes += static_cast<uint32_t>(std::popcount(yes));
  open.parts.push_back({&warp, lanes, kind, destination});
}

void BarrierReductions::deliver(uint32_t barrier) {
  Open& open = open_[barrier];
  if (open.parts.empty()) return;
  for (const Part& part : open.parts) {
    if (part.kind == Kind::count) {
      u32* const to = part.warp->lanes<u32>(part.destination);
      for_lanes(part.lanes, [&](uint32_t lane) { to[lane] = open.yes; });
    } else {
      const bool result = part.kind == Kind::all ? open.yes == open.threads : open.yes != 0;
      u32& to = part.warp->predicate(part.destination);
      to = (to & ~part.lanes) | (result ? part.lanes : 0);
    }
  }
  open = {};
}

namespace {

using Kind = BarrierReductions::Kind;

struct ReductionOperands {
  BarrierOperands barrier;
  uint32_t asked, flip;  ///< predicate, and all ones for `!p`
  uint32_t destination;
};

template <Kind kind>
void reduce_at_barrier(Warp& warp, const ReductionOperands& operands) {
  if (!whole_warp_is_here(warp)) return;
  const uint32_t number = barrier_number(warp, operands.barrier);
  if (number < BarrierReductions::barrier_count) {  // come_to_barrier refuses others
    const uint32_t yes = (warp.predicate(operands.asked) ^ operands.flip) & warp.exec;
    warp.block.reductions.join(number, warp, warp.exec, yes, kind, operands.destination);
  }
  come_to_barrier(warp, operands.barrier, true);
}

template <Kind kind>
void build(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 3 && operands.size() != 4)
    builder.refuse("a result, a barrier, a count of threads if need be, and a predicate are needed");
  auto& made = builder.made<ReductionOperands>();
  made.destination = builder.destination(operands[0], kind == Kind::count ? ptx::Width::b32 : ptx::Width::predicate);
  made.barrier.barrier = builder.source(operands[1], ptx::Width::b32);
  made.barrier.threads =
      operands.size() == 4 ? builder.source(operands[2], ptx::Width::b32) : builder.constant(ptx::Width::b32, 0);
  ptx::Operand asked = operands.back();
  made.flip = asked.negated ? all_lanes : 0;
  asked.negated = false;
  made.asked = builder.source(asked, ptx::Width::predicate);
}

template <Kind kind>
Form form() {
  return {"", Class::barrier, handle_together<every_lane<ReductionOperands>, reduce_at_barrier<kind>>, build<kind>};
}

}  // namespace

[[gnu::cold]] void add_barrier_reductions(Table& table) {
  const std::string barrier = "{bar,bar.cta,barrier,barrier.cta}.red.";
  table.add(barrier + "popc{,.aligned}.u32", form<Kind::count>());
  table.add(barrier + "and{,.aligned}.pred", form<Kind::all>());
  table.add(barrier + "or{,.aligned}.pred", form<Kind::any>());
}

}  // namespace sim
