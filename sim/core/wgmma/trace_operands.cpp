/// What a trace says of wgmma: its descriptors, decoded, and the shared memory that they lead to.
#include <algorithm>

#include "core/checks/trace.h"
#include "core/machine/block.h"
#include "core/machine/cluster.h"
#include "core/wgmma/wgmma.h"

namespace sim {

void Products::trace(Warp& warp, const Wgmma& wgmma, uint64_t a_descriptor, const Operand& a, uint64_t b_descriptor,
                     const Operand& b) {
  const auto traced = [](uint64_t descriptor, const Operand& operand, uint32_t per_chunk) {
    TracedOperand made{.descriptor = descriptor,
                       .start = operand.at.start,
                       .leading = operand.at.leading,
                       .stride = operand.at.stride,
                       .base_offset = operand.at.base_offset,
                       .swizzle = operand.at.swizzle,
                       .k_major = operand.k_major};
    made.first_line = operand.k_major ? operand.first_line : operand.first_chunk * per_chunk;
    made.lines = operand.k_major ? operand.lines : operand.chunks * per_chunk;
    std::vector<uint32_t> addresses;
    for (uint32_t line = operand.first_line; line < operand.first_line + operand.lines; ++line) {
      for (uint32_t chunk = operand.first_chunk; chunk < operand.first_chunk + operand.chunks; ++chunk)
        addresses.push_back(operand.at.address(operand.k_major, line, chunk));
    }
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    for (const uint32_t address : addresses) {
      if (!made.spans.empty() && made.spans.back().first + made.spans.back().second == address)
        made.spans.back().second += 16;
      else
        made.spans.emplace_back(address, 16);
    }
    return made;
  };
  std::map<std::string, TracedOperand> operands;
  if (!wgmma.a_in_registers) operands["a"] = traced(a_descriptor, a, 16 / bytes_of(wgmma.a_type));
  operands["b"] = traced(b_descriptor, b, 16 / bytes_of(wgmma.b_type));
  warp.trace->multiplies(warp.here(), warp.executions(), std::move(operands),
                         block_.cluster.async.stores_under_way(block_));
}

}  // namespace sim
