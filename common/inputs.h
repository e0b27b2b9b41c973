// The two kinds of input that every step is verified on, the same bits on the host and on the device.
#pragma once

#include <cstdint>

#include "common/types.h"

/// exact: small integers whose every partial sum is exact in the accumulator. normal: random, mean 0, deviation 1.
enum class InputKind { exact, normal };

/// How an input is drawn. Two matrices with the same recipe are equal, wherever they are made.
struct Recipe {
  InputKind kind;
  std::uint64_t seed;
  int largest;     // exact: integers in [-largest, largest] …
  double density;  // … of which this share is not zero
};

/// A recipe whose sums of k products stay exact in the accumulator type `acc`.
///
/// FP32 holds every integer up to 2^24, so integers up to 8 are exact for k <= 262144. FP16 holds them up to 2^11:
/// there most elements are zero, such that about 256 of k products are +-1.
inline Recipe recipe_for(InputKind kind, std::uint64_t seed, DType acc, int k) {
  const double limit = exact_integers_of(acc == DType::tf32 ? DType::f32 : acc);
  if (limit >= 64.0 * k) return {kind, seed, 8, 1.0};
  double density = 1.0;
  while (density * density * k > limit / 8) density *= 0.5;
  return {kind, seed, 1, density};
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): 64 well-mixed bits of a counter.
__host__ __device__ inline std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Element number `index` of the matrix that the recipe describes.
///
/// Normal numbers are sums of twelve 32-bit uniforms minus 6 (Irwin-Hall: mean 0, deviation 1): integer arithmetic and
/// one rounding, hence bit-equal on every machine, which Box-Muller's logarithm would not be.
__host__ __device__ inline float element_of(const Recipe& recipe, std::uint64_t index) {
  const std::uint64_t key = mix_bits(recipe.seed) + index * 8;
  if (recipe.kind == InputKind::exact) {
    const std::uint64_t bits = mix_bits(key);
    const double share = static_cast<double>(bits >> 11) * 0x1p-53;
    if (share >= recipe.density) return 0.0f;
    if (recipe.largest == 1) return (bits & 1) != 0 ? 1.0f : -1.0f;
    return static_cast<float>(static_cast<int>((bits & 0x7ff) % (2 * recipe.largest + 1)) - recipe.largest);
  }
  std::int64_t sum = -(std::int64_t{6} << 32);
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t bits = mix_bits(key + i);
    sum += static_cast<std::int64_t>(bits >> 32) + static_cast<std::int64_t>(bits & 0xffffffffull);
  }
  return static_cast<float>(static_cast<double>(sum) * 0x1p-32);
}
