/// Global memory as it was at one moment: all that a launch may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/checks/allocations.h"

namespace sim {

struct MemoryImage {
  struct Part {
    uint64_t address;
    std::vector<std::byte> bytes;
  };

  explicit MemoryImage(const Allocations& allocations) {
    for (const Allocations::Range& range : allocations.all()) {
      if (range.read_only) continue;
      const auto* const begin = reinterpret_cast<const std::byte*>(range.begin);
      parts.push_back({range.begin, {begin, begin + (range.end - range.begin)}});
    }
  }
  void restore() const {
    for (const Part& part : parts)
      std::memcpy(reinterpret_cast<void*>(part.address), part.bytes.data(), part.bytes.size());
  }

  std::vector<Part> parts;
};

}  // namespace sim
