// What tells one main loop from another in its record.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/main_loop/loops.h"

/// Tile, share of zeros, blocks of a cluster, and KB per stage: received, and read by the block itself from L2 and from
/// beyond. What is received and not read comes with the copies of the cluster's other block.
inline nlohmann::ordered_json options_of(const MainLoop& loop) {
  constexpr std::size_t KB = 1024;
  return {{"tile", loop.tile},           {"zeros", loop.zeros},
          {"cluster", loop.cluster},     {"received_kb", loop.received_bytes / KB},
          {"l2_kb", loop.l2_bytes / KB}, {"dram_kb", loop.dram_bytes / KB}};
}
