#include "core/wgmma/descriptor.h"

namespace sim {
namespace {

constexpr uint32_t core_lines = 8, chunk_bytes = 16, core_bytes = core_lines * chunk_bytes;

/// A field of 14 bits, in units of 16 bytes.
uint32_t bytes_at(uint64_t bits, uint32_t first) { return static_cast<uint32_t>(bits >> first & 0x3fff) << 4; }

}  // namespace

MatrixDescriptor::MatrixDescriptor(uint64_t bits)
    : start(bytes_at(bits, 0)),
      leading(bytes_at(bits, 16)),
      stride(bytes_at(bits, 32)),
      base_offset(static_cast<uint32_t>(bits >> 49 & 7)) {
  constexpr uint32_t spans[] = {0, 128, 64, 32};
  swizzle = spans[bits >> 62];
}

uint32_t MatrixDescriptor::address(bool k_major, uint32_t line, uint32_t chunk) const {
  const uint32_t group = line / core_lines, in_group = line % core_lines;
  uint32_t at = start;
  if (swizzle == 0) {
    // Core matrices lie in one piece. Along k they are `leading` apart; MN-major, that is `stride`.
    at += k_major ? chunk * leading + group * stride : group * leading + chunk * stride;
    return at + in_group * chunk_bytes;
  }
  const uint32_t chunks = swizzle / chunk_bytes;
  if (k_major) {
    // Only a B that a sparse A meets is wider than one span, of 32 bytes.
    at += chunk / chunks * leading + group * stride + in_group * swizzle + chunk % chunks * chunk_bytes;
  } else {
    at += chunk / chunks * leading + group * stride + in_group * swizzle + chunk % chunks * chunk_bytes;
  }
  // Chunks change places by the number of their row of 128 bytes.
  const uint32_t row = at / core_bytes - base_offset;
  return at ^ (row & (chunks - 1)) * chunk_bytes;
}

std::string swizzle_name(uint32_t bytes) { return bytes == 0 ? "no swizzle" : std::to_string(bytes) + "-byte swizzle"; }

}  // namespace sim
