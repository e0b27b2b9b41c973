/// The spaces of memory, and where a generic address leads: the one place that takes such an address apart.
#pragma once

#include <cstdint>

namespace sim {

class Block;

enum class Place : uint8_t { global, constant, shared, local, parameter, generic };

/// Generic addresses that are not global have a window for each space: no host address has these top bytes.
inline constexpr uint32_t window_shift = 56;
inline constexpr uint64_t shared_window = uint64_t{1} << window_shift, local_window = uint64_t{2} << window_shift,
                          param_window = uint64_t{3} << window_shift;

struct Reached {
  Place place;
  Block* block;     ///< whose shared memory it is; for other places, the block that asks
  uint64_t offset;  ///< in that place; a global address is what it was

  bool operator==(const Reached&) const = default;
};

/// Where a generic address of a thread of `block` leads.
inline Reached reach(Block& block, uint64_t address) {
  const uint64_t window = address >> window_shift << window_shift;
  switch (window) {
    case shared_window: return {Place::shared, &block, address - window};
    case local_window: return {Place::local, &block, address - window};
    case param_window: return {Place::parameter, &block, address - window};
    default: return {Place::global, &block, address};
  }
}

}  // namespace sim
