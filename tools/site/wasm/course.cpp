// The course's own functions for a page: the inputs that the harness draws, and numbers of its types.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/device/waves.h"
#include "common/harness/inputs.h"
#include "core/arithmetic/formats.h"
#include "core/arithmetic/half.h"

namespace {

using sim::tensor::Bits;

// The finite numbers of a format of 8 bits from 0 up: number i has the bits i.
template <class Format>
struct Sizes {
  float at[128];
  int count = 0;

  Sizes() {
    for (std::uint32_t bits = 0; bits < 128; ++bits) {
      const Bits wide = Format::widened(Bits{} + bits);
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(wide[0]));
      if (!std::isfinite(value)) break;
      at[count++] = value;
    }
  }
};

// To the nearest, ties to even, the largest number where it is beyond: as CUDA's conversion does it.
template <class Format>
std::uint8_t rounded(float value) {
  static const Sizes<Format> sizes;
  const float size = std::fabs(value);
  const float* const above = std::lower_bound(sizes.at, sizes.at + sizes.count, size);
  auto bits = static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(above - sizes.at, sizes.count - 1));
  if (bits > 0 && sizes.at[bits] > size) {
    const float up = sizes.at[bits] - size, down = size - sizes.at[bits - 1];
    if (down < up || (down == up && bits % 2 != 0)) --bits;
  }
  return static_cast<std::uint8_t>(bits | (std::signbit(value) ? 0x80 : 0));
}

template <class T, class Rounded>
void fill(void* to, std::uint32_t count, const Recipe& recipe, Rounded round) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(round(element_of(recipe, i)));
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

extern "C" {

// Fills so many elements of a type with the random numbers of --seed, times 3, plus 0 for A, 1 for B, 2 for C.
[[gnu::used]] int course_fill(void* to, std::uint32_t count, const char* type, std::uint32_t seed, double deviation) {
  Recipe recipe{InputKind::normal, seed, 1, 1.0};
  recipe.deviation = deviation;
  const std::string_view name = type;
  if (name == "f32") {
    fill<float>(to, count, recipe, [](float x) { return x; });
  } else if (name == "f16") {
    fill<std::uint16_t>(to, count, recipe, [](float x) { return sim::Half::rounded(x); });
  } else if (name == "bf16") {
    fill<std::uint16_t>(to, count, recipe, [](float x) { return sim::Bfloat::rounded(x); });
  } else if (name == "e4m3") {
    fill<std::uint8_t>(to, count, recipe, [](float x) { return rounded<sim::tensor::E4m3>(x); });
  } else if (name == "e5m2") {
    fill<std::uint8_t>(to, count, recipe, [](float x) { return rounded<sim::tensor::E5m2>(x); });
  } else if (name == "s8") {
    fill<std::int8_t>(to, count, recipe,
                      [](float x) { return static_cast<std::int8_t>(std::clamp(std::nearbyint(x), -128.0f, 127.0f)); });
  } else {
    return 0;
  }
  return 1;
}

// One number, rounded to the nearest of a type: its bits at `to`; how many bytes they are, 0 for an unknown type.
[[gnu::used]] int course_rounded(void* to, const char* type, double value) {
  const auto near = static_cast<float>(value);
  const std::string_view name = type;
  std::uint32_t bits = 0;
  int bytes = 0;
  if (name == "f32") bits = std::bit_cast<std::uint32_t>(near), bytes = 4;
  if (name == "tf32") {  // as cvt.rna.tf32.f32 does it: ties away from zero
    bits = std::bit_cast<std::uint32_t>(near), bytes = 4;
    if (std::isfinite(near)) bits = (bits + 0x1000) & ~std::uint32_t{0x1fff};
  }
  if (name == "f16") bits = sim::Half::rounded(value, sim::Round::nearest), bytes = 2;
  if (name == "bf16") bits = sim::Bfloat::rounded(value, sim::Round::nearest), bytes = 2;
  if (name == "e4m3") bits = rounded<sim::tensor::E4m3>(near), bytes = 1;
  if (name == "e5m2") bits = rounded<sim::tensor::E5m2>(near), bytes = 1;
  std::memcpy(to, &bits, static_cast<std::size_t>(bytes));
  return bytes;
}

// How the tiles of bm × bn of C (m × n) fall on the multiprocessors, as step 21's launcher counts it: at `to` the
// number of tiles, of waves, and the share of the multiprocessors' time that computes C.
[[gnu::used]] void course_waves(double* to, int m, int n, int bm, int bn, int at_once) {
  to[0] = static_cast<double>(ceil_div(m, bm)) * ceil_div(n, bn);
  to[1] = waves_of(m, n, bm, bn, at_once);
  to[2] = wave_efficiency(m, n, bm, bn, at_once);
}

// The time that step 27's launcher estimates for a tile, in units of a slice of its first tile.
[[gnu::used]] double course_time(int m, int n, int slices, int bm, int bn, double per_slice, double per_tile,
                                 int at_once) {
  return time_of(m, n, slices, bm, bn, per_slice, per_tile, at_once);
}

// The value of an element of so many bits, which lie in an integer.
[[gnu::used]] double course_value(const char* type, std::uint32_t bits) {
  const std::string_view name = type;
  const auto wide = [&]<class Format>(Format) {
    const Bits all = Format::widened(Bits{} + bits);
    return std::bit_cast<float>(static_cast<std::uint32_t>(all[0]));
  };
  if (name == "f16") return wide(sim::tensor::F16{});
  if (name == "bf16") return wide(sim::tensor::Bf16{});
  if (name == "e4m3") return wide(sim::tensor::E4m3{});
  if (name == "e5m2") return wide(sim::tensor::E5m2{});
  return std::bit_cast<float>(bits);
}
}
