/// match.sync: which lanes hold the same value (PTX ISA 9.7.13.9), and the check of member masks.
#include "core/control/members.h"
#include "core/machine/block.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {

void check_members(Warp& warp, u32 members) {
  const u32 absent = members & warp.started & ~warp.exec;
  if (absent == 0 && (warp.exec & ~members) == 0) return;
  Block& block = warp.block;
  block.report(Finding::divergent_barrier, warp.here(), nowhere, [&] {
    return block.program.sites[warp.here()].text + " at " + block.where(warp.here()) + ": " +
           (absent
                ? block.thread(warp, first_lane(absent)) + " is named in its mask but does not execute it"
                : block.thread(warp, first_lane(warp.exec & ~members)) + " executes it but is not named in its mask");
  });
}

namespace {

/// match.any: for each lane, the lanes that hold its value. Operands: result, value, mask.
template <class T>
void match_any(Warp& warp, const Operands& operands) {
  check_members(warp, named_lanes<2>(warp, operands));
  const T* const value = warp.lanes<T>(operands.at[1]);
  std::array<u32, warp_size> alike{};
  for_lanes(warp.exec, [&](uint32_t lane) {
    for_lanes(warp.exec, [&](uint32_t other) { alike[lane] |= u32{value[lane] == value[other]} << other; });
  });
  u32* const to = warp.lanes<u32>(operands.at[0]);
  for_lanes(warp.exec, [&](uint32_t lane) { to[lane] = alike[lane]; });
}

/// match.all: all lanes and true where they hold one value, else none and false. Operands: result, predicate, value,
/// mask.
template <class T>
void match_all(Warp& warp, const Operands& operands) {
  check_members(warp, named_lanes<3>(warp, operands));
  const T* const value = warp.lanes<T>(operands.at[2]);
  const T first = value[first_lane(warp.exec)];
  bool same = true;
  for_lanes(warp.exec, [&](uint32_t lane) { same &= value[lane] == first; });
  u32* const to = warp.lanes<u32>(operands.at[0]);
  for_lanes(warp.exec, [&](uint32_t lane) { to[lane] = same ? warp.exec : 0; });
  u32& predicate = warp.predicate(operands.at[1]);
  predicate = (predicate & ~warp.exec) | (same ? warp.exec : 0);
}

template <class T>
void build_match_all(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 3) builder.refuse("three operands are needed");
  const bool pair = operands[0].kind == ptx::Operand::Kind::pair;
  Operands& made = builder.made<Operands>();
  made.at[0] = builder.destination(pair ? operands[0].parts[0] : operands[0], ptx::Width::b32);
  made.at[1] = builder.destination(pair ? operands[0].parts[1] : ptx::Operand{.kind = ptx::Operand::Kind::sink},
                                   ptx::Width::predicate);
  made.at[2] = builder.source(operands[1], static_cast<ptx::Width>(sizeof(T)));
  made.at[3] = builder.source(operands[2], ptx::Width::b32);
}

}  // namespace

[[gnu::cold]] void add_match(Table& table) {
  table.add("match.any.sync.b32", {"Www", Class::shuffle, handle_members<member_masks<2>, match_any<u32>>});
  table.add("match.any.sync.b64", {"Wdw", Class::shuffle, handle_members<member_masks<2>, match_any<u64>>});
  table.add("match.all.sync.b32",
            {"", Class::shuffle, handle_members<member_masks<3>, match_all<u32>>, build_match_all<u32>});
  table.add("match.all.sync.b64",
            {"", Class::shuffle, handle_members<member_masks<3>, match_all<u64>>, build_match_all<u64>});
}

}  // namespace sim
