/// The member masks of the instructions that lanes of a warp execute together (`.sync`).
#pragma once

#include "core/warp/forms.h"
#include "core/warp/warp.h"

namespace sim {

/// The lanes' member masks, in operand `number`.
template <uint32_t number>
const u32* member_masks(Warp& warp, const Operands& operands) {
  return warp.lanes<const u32>(operands.at[number]);
}

/// The mask of the first lane, and so of all that execute the instruction together.
template <uint32_t number>
uint32_t named_lanes(Warp& warp, const Operands& operands) {
  return member_masks<number>(warp, operands)[first_lane(warp.exec)];
}

/// Reports lanes that a `.sync` instruction's member mask names but that do not come, and the other way round.
void check_members(Warp& warp, u32 members);

/// The handler of an instruction with a member mask: masks(warp, payload) are the lanes'. Lanes wait for those that
/// their masks name. Lanes with different masks may come at once, as the tiles of a warp do: the function is called for
/// those of each mask.
template <auto masks, auto function>
void handle_members(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  const auto& payload = instruction.as<typename PayloadOf<decltype(function)>::type>();
  const u32* const mask = masks(warp, payload);
  const auto named = [&] {
    u32 all = 0;
    for_lanes(warp.exec, [&](uint32_t lane) { all |= mask[lane]; });
    return all;
  };
  if (warp.exec != all_lanes) {
    // Those that waited here name others in turn.
    for (u32 needed = 0; needed != named();) {
      needed = named();
      if (!warp.gather(needed)) return;
    }
  }
  warp.order_reads();
  for (u32 left = warp.exec; left != 0;) {
    const u32 together = mask[first_lane(left)];
    u32 alike = 0;
    for_lanes(left, [&](uint32_t lane) { alike |= u32{mask[lane] == together} << lane; });
    left &= ~alike;
    warp.exec = alike;
    function(warp, payload);
  }
}

}  // namespace sim
