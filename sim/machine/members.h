/// The member masks of the instructions that lanes of a warp execute together (`.sync`).
#pragma once

#include "machine/warp.h"

namespace sim {

/// The lanes that the member mask in operand `number` names.
template <uint32_t number>
uint32_t named_lanes(Warp& warp, const Operands& operands) {
  return warp.lanes<u32>(operands.at[number])[first_lane(warp.exec)];
}

/// Reports lanes that a `.sync` instruction's member mask names but that do not come, and the other way round.
void check_members(Warp& warp, u32 members);

}  // namespace sim
