/// What the course's headers take from CUDA's own where they are compiled for a page.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#define __host__
#define __device__
#define __forceinline__ inline

struct float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(std::int32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline double __hiloint2double(std::int32_t high, std::int32_t low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low));
}
inline int __float2int_rn(float value) { return static_cast<int>(std::nearbyint(value)); }
/// Four bytes of the eight of y and x, as the hexadecimal digits of `which` number them.
inline std::uint32_t __byte_perm(std::uint32_t x, std::uint32_t y, std::uint32_t which) {
  const std::uint64_t both = std::uint64_t{y} << 32 | x;
  std::uint32_t made = 0;
  for (int i = 0; i < 4; ++i) made |= static_cast<std::uint32_t>(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
  return made;
}
