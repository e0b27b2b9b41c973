#include "core/warp/address.h"

#include "core/machine/cluster.h"

namespace sim {

Reached reach(Block& block, uint64_t address) {
  const uint64_t offset = within_window(address);
  switch (address - offset) {
    case shared_window: {
      const auto& blocks = block.cluster.blocks();
      const uint64_t rank = rank_of(offset);
      return {Place::shared, rank < blocks.size() ? blocks[rank].get() : nullptr, within_block(offset)};
    }
    case local_window: return {Place::local, &block, offset};
    case param_window: return {Place::parameter, &block, offset};
    default: return {Place::global, &block, address};
  }
}

}  // namespace sim
