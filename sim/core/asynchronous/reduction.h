/// What cp.reduce.async.bulk does to memory: element by element, each one an atomic of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/asynchronous/tensor_map.h"

namespace sim {

/// `decrease` and `increase` wrap around: .dec and .inc.
enum class Reduce : uint8_t { none, add, min, max, increase, decrease, bit_and, bit_or, bit_xor };

/// Combines `bytes` bytes of elements at `from` into those at `to`.
using Reduction = void (*)(std::byte* to, const std::byte* from, uint32_t bytes);

/// The bytes at `from` combined into those at `to`, or copied there without a reduction.
inline void combine(std::byte* to, const std::byte* from, uint32_t bytes, Reduction reduction) {
  if (reduction)
    reduction(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

/// Null where the hardware does not have this operation for this type. Bits without a type count as unsigned.
Reduction reduction_of(Reduce operation, TensorType type);

}  // namespace sim
