/// The spaces of memory, and where a generic address leads: the one place that takes such an address apart.
#pragma once

#include <cstdint>

namespace sim {

class Block;

/// `cluster`: the shared memory of all blocks of a cluster. An address there has the block's rank in bits 24 and up, as
/// on an H200; so has a block's address of its own shared memory.
enum class Place : uint8_t { global, constant, shared, local, parameter, generic, cluster };

/// Generic addresses that are not global have a window for each space: no host address has these top bytes.
inline constexpr uint32_t window_shift = 56;
inline constexpr uint64_t shared_window = uint64_t{1} << window_shift, local_window = uint64_t{2} << window_shift,
                          param_window = uint64_t{3} << window_shift;

inline constexpr uint32_t rank_shift = 24;
inline constexpr uint64_t rank_of(uint64_t shared_address) { return shared_address >> rank_shift; }
inline constexpr uint64_t within_block(uint64_t shared_address) {
  return shared_address & ((uint64_t{1} << rank_shift) - 1);
}

inline constexpr uint64_t within_window(uint64_t address) { return address & ((uint64_t{1} << window_shift) - 1); }

struct Reached {
  Place place;
  Block* block;     ///< whose shared memory it is, null where the cluster has no such block; else the block that asks
  uint64_t offset;  ///< in that place; a global address is what it was

  bool operator==(const Reached&) const = default;
};

/// Where a generic address of a thread of `block` leads.
Reached reach(Block& block, uint64_t address);

}  // namespace sim
