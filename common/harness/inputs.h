// The two kinds of input that every step is verified on, the same bits on the host and on the device.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/device/types.h"

/// exact: small integers whose every partial sum is exact in the accumulator. normal: random, mean 0, deviation 1, or
/// 32 where the elements are integers of 8 bits.
enum class InputKind { exact, normal };

/// How an input is drawn. Two matrices with the same recipe are equal, wherever they are made.
struct Recipe {
  InputKind kind;
  std::uint64_t seed;
  int largest;     // exact: integers from -largest to largest, without 0 …
  double density;  // … for this share of the elements; the others are 0
  // exact, for variants that split elements into digits of 8 bits: see digits_element_of
  int digits = 0;               // 0: the two lines above
  int matrix = 0, columns = 0;  // 0: A, 1: B, 2: C; how many elements are in a row
  bool transposed = false;      // B is stored n x k
  bool one_size = false;        // all elements of a row, whatever their digits: see Variant::balances_along_k
  double deviation = 1;         // normal: of integers more than 1, or they would hold next to nothing
};

/// A recipe for operands of k products whose sums stay exact in `acc` and, scaled, show in `out`.
///
/// alpha and beta are halves of at most 2 (`exact_scale`), so a scaled element is an integer of at most
/// 4 * (sum|a||b| + |c|) halves: that has to be below the largest integer up to which `acc` holds every one (FP32 2^24:
/// integers up to 8 for k < 65536; FP16 2^11). And the result, which is about as large as sqrt(k) products, has to keep
/// all its digits in `out`, or one lost product would be rounded away. Where +-1 are too large, elements become 0 until
/// a mean of at most half of what is allowed is left.
inline Recipe recipe_for(InputKind kind, std::uint64_t seed, DType acc, DType out, int k) {
  const double exact_sum = exact_integers_of(acc == DType::tf32 ? DType::f32 : acc) / 4;
  const double exact_spread = exact_integers_of(out) / 8;  // 8: four deviations, in halves
  for (int largest = 8; largest > 0; largest /= 2) {
    const double mean_square = (largest + 1) * (2 * largest + 1) / 6.0;
    const bool sums_fit = static_cast<double>(largest) * largest * k + largest <= exact_sum;
    if (sums_fit && mean_square * std::sqrt(k) <= exact_spread) return {kind, seed, largest, 1.0};
  }
  double density = 1.0;
  while (density * density * k > exact_sum / 2 || density * std::sqrt(k) > exact_spread) density *= 0.5;
  return {kind, seed, 1, density};
}

/// What exact inputs are scaled by: halves of at most 2; another alpha or beta is replaced by `instead`.
inline float exact_scale(float scale, float instead) {
  return scale * 2 == std::floor(scale * 2) && std::fabs(scale) <= 2.0f ? scale : instead;
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): 64 well-mixed bits of a counter.
__host__ __device__ inline std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Integers of up to 8 * digits bits, by which a kernel that multiplies digits has to come to exact results, although
/// it leaves out products: at each k, A has p digits and B digits + 1 - p, and the digits behind them are 0, so that
/// every product of two digits that is left out is 0, and every one that is kept is not 0 at some k. Sums are integers
/// of 53 bits for k up to 32,768. Rows of A and columns of B are scaled by powers of two, which changes their scale.
__host__ __device__ inline float digits_element_of(const Recipe& recipe, std::uint64_t index, std::uint64_t bits) {
  constexpr std::int64_t LARGEST_FLOAT = (1 << 24) - 1;
  const int row = static_cast<int>(index / recipe.columns), column = static_cast<int>(index % recipe.columns);
  const auto scale_of = [](int line) { return line % 5 * 3 - 6; };
  const int digits = recipe.digits;
  if (recipe.matrix == 2) {  // as large as a product
    const std::int64_t value = static_cast<std::int64_t>(bits & LARGEST_FLOAT) - LARGEST_FLOAT / 2;
    return static_cast<float>(value) * ldexpf(1.0f, 16 * digits - 25 + scale_of(row) + scale_of(column));
  }
  const bool along_k = recipe.matrix == 0 || recipe.transposed;  // a stored row
  const int k = along_k ? column : row, line = along_k ? row : column;
  const int own = recipe.matrix == 0 ? 1 + k % digits : digits - k % digits;
  const std::int64_t all_digits = std::int64_t{127} << 8 * (own - 1);
  const std::int64_t largest = all_digits < LARGEST_FLOAT ? all_digits : LARGEST_FLOAT;
  const std::int64_t least = largest / 2 + 1;
  const std::int64_t sized =
      least + static_cast<std::int64_t>(bits / 2 % static_cast<std::uint64_t>(largest - least + 1));
  const std::int64_t any = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(2 * largest + 1)) - largest;
  const std::int64_t value = !recipe.one_size ? any : bits % 2 == 0 ? sized : -sized;
  return static_cast<float>(value) * ldexpf(1.0f, 8 * (digits - own) + scale_of(line));
}

/// Element number `index` of the matrix that the recipe describes.
///
/// Normal numbers are sums of twelve 32-bit uniforms minus 6 (Irwin-Hall: mean 0, deviation 1): integer arithmetic and
/// one rounding, hence bit-equal on every machine, which Box-Muller's logarithm would not be.
__host__ __device__ inline float element_of(const Recipe& recipe, std::uint64_t index) {
  const std::uint64_t key = mix_bits(recipe.seed) + index * 8;
  if (recipe.kind == InputKind::exact) {
    const std::uint64_t bits = mix_bits(key);
    if (recipe.digits > 0) return digits_element_of(recipe, index, bits);
    const double share = static_cast<double>(bits >> 11) * 0x1p-53;
    if (share >= recipe.density) return 0.0f;
    const float size = static_cast<float>((bits >> 1 & 0x3ff) % recipe.largest + 1);
    return (bits & 1) != 0 ? size : -size;
  }
  std::int64_t sum = -(std::int64_t{6} << 32);
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t bits = mix_bits(key + i);
    sum += static_cast<std::int64_t>(bits >> 32) + static_cast<std::int64_t>(bits & 0xffffffffull);
  }
  return static_cast<float>(static_cast<double>(sum) * 0x1p-32 * recipe.deviation);
}

/// Factor number `index` of a variant's BlockScales: 1/2, 1 or 2 for exact inputs, else from 1/2 to 2 in steps of
/// 1/128, so that its product with an element of 8 bits is a float.
__host__ __device__ inline float factor_of(const Recipe& recipe, std::uint64_t index) {
  const std::uint64_t bits = mix_bits(mix_bits(~recipe.seed) + index) >> 8;
  if (recipe.kind == InputKind::exact) return 0.5f * static_cast<float>(1 << bits % 3);
  return 0.5f + static_cast<float>(bits % 193) / 128.0f;
}
