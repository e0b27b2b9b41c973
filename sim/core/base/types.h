/// The PTX types by short names, and the loop over a warp's lanes.
#pragma once

#include <bit>
#include <cstdint>

namespace sim {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

inline constexpr uint32_t warp_size = 32;
inline constexpr uint32_t all_lanes = ~0u;

/// Calls body(lane) for every lane of the mask, in order; the whole warp is a plain loop that the compiler vectorises.
template <class Body>
inline void for_lanes(uint32_t mask, Body body) {
  if (mask == all_lanes) {
#pragma GCC ivdep
    for (uint32_t lane = 0; lane < warp_size; ++lane) body(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) body(static_cast<uint32_t>(std::countr_zero(mask)));
  }
}

inline uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

}  // namespace sim
