/// A short name for many bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

/// FNV-1a of 64 bits.
inline uint64_t hash_of(const std::byte* bytes, size_t count) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3u;
  return hash;
}

}  // namespace sim
