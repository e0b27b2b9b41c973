// Random numbers for the tensor cores' instructions, of several kinds.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "recordings/tensor_instructions.h"

namespace recorder {

// FNV-1a.
inline uint64_t seed_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  return hash;
}

// How far the exponents of floating-point numbers lie from that of 1, whether there are numbers of every other kind
// among them, and whether many are NaN, each with bits of its own; for whole numbers, whether the sums are near the
// ends of their range.
struct Kind {
  const char* name;
  int farthest;
  bool special, nans = false;
};
inline constexpr Kind OF_FLOATING[] = {{"near", 2, false}, {"far", 12, false}, {"special", 12, true}};
inline constexpr Kind OF_DOUBLES = {"nans", 2, false, true};  // other types have one NaN only as a result
inline constexpr Kind OF_WHOLE[] = {{"any", 0, false}, {"ends", 0, true}};

// The bits of a random floating-point number.
inline uint64_t floating(const Number& type, const Kind& kind, sim::Random& random) {
  const int bias = (1 << (type.exponent_bits - 1)) - 1,
            unused = type.bits - 1 - type.exponent_bits - type.mantissa_bits;
  const int farthest = std::min(kind.farthest, bias - 1);
  uint64_t exponent = static_cast<uint64_t>(bias - farthest) + random.below(static_cast<uint64_t>(2 * farthest + 1));
  uint64_t mantissa = random.below(uint64_t{1} << type.mantissa_bits);
  const uint64_t sign = random.below(2);
  const uint64_t chance = random.below(64);
  if (chance < 2) exponent = mantissa = 0;
  if (kind.special && chance >= 2 && chance < 8) exponent = 0;  // subnormal
  if (kind.special && chance == 8 && random.below(4) == 0)      // infinity or NaN
    exponent = (uint64_t{1} << type.exponent_bits) - 1, mantissa = random.below(2) * mantissa;
  if (kind.nans && random.below(8) == 0) exponent = (uint64_t{1} << type.exponent_bits) - 1;
  return (sign << type.exponent_bits | exponent) << type.mantissa_bits << unused | mantissa << unused;
}

// A whole number's bits. Sums of special kind lie so near to an end of their range that some of them leave it.
inline uint64_t whole(const Number& type, const Kind& kind, bool is_sum, sim::Random& random) {
  const uint64_t bits = random.next() >> (64 - type.bits);
  if (!is_sum) return bits;
  if (!kind.special) return static_cast<uint32_t>(static_cast<int32_t>(bits) / 2);
  const uint32_t from_end = static_cast<uint32_t>(bits & 0xffff);
  return random.below(2) ? 0x7fffffff - from_end : 0x80000000 + from_end;
}

// So many 32-bit words, filled with numbers of the type. `is_sum`: they are C's.
inline std::vector<uint32_t> numbers(const Number& type, const Kind& kind, size_t words, bool is_sum,
                                     sim::Random& random) {
  std::vector<uint32_t> result(words);
  for (size_t bit = 0; bit < 32 * words; bit += static_cast<size_t>(type.bits)) {
    const uint64_t bits = type.is_whole() ? whole(type, kind, is_sum, random) : floating(type, kind, random);
    result[bit / 32] |= static_cast<uint32_t>(bits) << bit % 32;
    if (type.bits == 64) result[bit / 32 + 1] = static_cast<uint32_t>(bits >> 32);
  }
  return result;
}

}  // namespace recorder
