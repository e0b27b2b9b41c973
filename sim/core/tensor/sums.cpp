/// C from registers to the tiles of a product, and the sums back, rounded once.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/arithmetic/formats.h"
#include "core/tensor/tensor.h"

namespace sim {

using namespace tensor;

namespace {

/// One number toward zero, where f32 has fewer than its 24 digits: the host rounds to nearest, and where that went away
/// from zero, one unit of the last place is taken back.
f32 subnormal_toward_zero(f64 sum) {
  const auto nearest = static_cast<f32>(sum);
  const bool too_large = std::fabs(static_cast<f64>(nearest)) > std::fabs(sum);
  return std::bit_cast<f32>(std::bit_cast<u32>(nearest) - too_large);
}

/// Cuts off the bits that f32 does not hold, or those that are not kept. What it holds then needs no rounding.
WITH_THE_HOSTS_VECTORS void toward_zero(const Sums& exact, u32 cut_bits, TileC& to) {
  using Four = Vector<f64, 4>;
  const f64* const sums = &exact.at[0][0][0];
  f32* const results = &to.at[0][0][0];
  for (uint32_t i = 0; i < 16 * 8; i += 4) {
    Four sum;
    std::memcpy(&sum, sums + i, sizeof sum);
    const auto kept = (Four)((Vector<u64, 4>)sum >> cut_bits << cut_bits);
    const auto rounded = __builtin_convertvector(kept, Vector<f32, 4>);
    auto bits = (Vector<u32, 4>)rounded;
    const auto size = bits & 0x7fffffff;
    bits = size > 0x7f800000 ? Vector<u32, 4>{} + 0x7fffffffu : bits;
    std::memcpy(results + i, &bits, sizeof bits);
    const auto few_digits = (Vector<u64, 2>)(size < 0x00800000);
    if ((few_digits[0] | few_digits[1]) == 0) continue;
    for (uint32_t j = i; j < i + 4; ++j) {
      if (std::fabs(sums[j]) >= 0x1p-126 || sums[j] == 0 || sums[j] != sums[j]) continue;
      const u32 kept_bits = std::bit_cast<u32>(subnormal_toward_zero(sums[j])) & ~0u << (cut_bits - 29);
      results[j] = std::bit_cast<f32>(kept_bits << 1 == 0 ? 0 : kept_bits);
    }
  }
}

/// To the nearest number of f16, as f32. Adding a power of two whose last bit is the result's last bit leaves the
/// rounding to the host. A zero has no sign.
WITH_THE_HOSTS_VECTORS void nearest_f16(const Sums& exact, TileC& to) {
  using Wide = Vector<u64, 4>;
  using Four = Vector<f64, 4>;
  constexpr u64 sign = u64{1} << 63, least = u64{1023 - 14} << 52;
  for (uint32_t i = 0; i < 16 * 8; i += 4) {
    Four sum;
    std::memcpy(&sum, &exact.at[0][0][0] + i, sizeof sum);
    const Wide bits = (Wide)sum, size = bits & ~sign, power = size & (u64{0x7ff} << 52);
    const auto unit = (Four)((power > least ? power : Wide{} + least) + (u64{42} << 52));
    const Four rounded = ((Four)size + unit) - unit;
    const Four bounded = (Four)size < 65520.0 ? rounded : Four{} + std::numeric_limits<f64>::infinity();
    const Four number = (Four)((Wide)bounded | (bits & sign)) + 0.0;
    const auto narrow =
        (Vector<u32, 4>)__builtin_convertvector(size > (u64{0x7ff} << 52) ? sum : number, Vector<f32, 4>);
    std::memcpy(&to.at[0][0][0] + i, &narrow, sizeof narrow);
  }
}

/// Numbers that f16 holds, or NaN.
WITH_THE_HOSTS_VECTORS void write_f16(const TileC& from, Matrix* const* to) {
  for (uint32_t row = 0; row < 8; ++row) {
    Bits all;
    std::memcpy(&all, from.at[row], sizeof all);
    const Bits size = all & 0x7fffffff;
    const auto units = (Signed)(size < (113u << 23) ? size : Bits{});  // of subnormal numbers
    const auto subnormal = (Bits) __builtin_convertvector((Vector<f32, 16>)units * 0x1p24f, Signed);
    const Bits normal = (size >> 13) - (112u << 10);
    Bits half = size < (113u << 23) ? subnormal : size < (143u << 23) ? normal : Bits{} + 0x7c00;
    half = size > 0x7f800000 ? Bits{} + 0x7fff : half | (all >> 16 & 0x8000);
    // The halves of 32 bits are rows r and r + 8.
    const auto both = __builtin_convertvector(half, Halves);
    const auto upper = __builtin_shufflevector(both, both, 0, 2, 4, 6, 8, 10, 12, 14);
    const auto lower = __builtin_shufflevector(both, both, 1, 3, 5, 7, 9, 11, 13, 15);
    std::memcpy(to[0]->at[row], &upper, sizeof upper);
    std::memcpy(to[1]->at[row], &lower, sizeof lower);
  }
}

WITH_THE_HOSTS_VECTORS void read_f16(const Matrix& upper, const Matrix& lower, TileC& to) {
  for (uint32_t row = 0; row < 8; row += 2) {
    Vector<u16, 16> above, below;
    std::memcpy(&above, upper.at[row], sizeof above);
    std::memcpy(&below, lower.at[row], sizeof below);
    const Bits wide_above = F16::widened(__builtin_convertvector(above, Bits));
    const Bits wide_below = F16::widened(__builtin_convertvector(below, Bits));
    const Bits values[] = {lower_in_turns(wide_above, wide_below), upper_in_turns(wide_above, wide_below)};
    std::memcpy(to.at[row], values, sizeof values);
  }
}

/// A register of f32 has the even columns of 8 rows, the next one the odd columns.
WITH_THE_HOSTS_VECTORS void read_f32(const Matrix* const* from, TileC& to) {
  for (uint32_t row = 0; row < 8; ++row) {
    Vector<u32, 4> part[4];
    for (uint32_t i = 0; i < 4; ++i) std::memcpy(&part[i], from[i]->at[row], sizeof part[i]);
    const auto even = __builtin_shufflevector(part[0], part[2], 0, 4, 1, 5, 2, 6, 3, 7);
    const auto odd = __builtin_shufflevector(part[1], part[3], 0, 4, 1, 5, 2, 6, 3, 7);
    const auto all = __builtin_shufflevector(even, odd, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    std::memcpy(to.at[row], &all, sizeof all);
  }
}

WITH_THE_HOSTS_VECTORS void write_f32(const TileC& from, Matrix* const* to) {
  for (uint32_t row = 0; row < 8; ++row) {
    Bits all;
    std::memcpy(&all, from.at[row], sizeof all);
    const auto even = __builtin_shufflevector(all, all, 0, 4, 8, 12, 1, 5, 9, 13);
    const auto odd = __builtin_shufflevector(all, all, 2, 6, 10, 14, 3, 7, 11, 15);
    std::memcpy(to[0]->at[row], &even, 16);
    std::memcpy(to[2]->at[row], reinterpret_cast<const std::byte*>(&even) + 16, 16);
    std::memcpy(to[1]->at[row], &odd, 16);
    std::memcpy(to[3]->at[row], reinterpret_cast<const std::byte*>(&odd) + 16, 16);
  }
}

Sums widened(const TileC& from) {
  Sums sums;
  for (uint32_t i = 0; i < 16 * 8; ++i) (&sums.at[0][0][0])[i] = static_cast<f64>((&from.at[0][0][0])[i]);
  return sums;
}

}  // namespace

void round_sums(const Sums& exact, const Adder& adder, TileC& to) {
  if (adder.sum == Sum::f16) return nearest_f16(exact, to);
  toward_zero(exact, adder.k == 32 ? 39 : 29, to);
}

void add_rounded(const TileC& c, Sum type, TileC& sums) {
  for (uint32_t i = 0; i < 16 * 8; ++i) {
    f32& sum = (&sums.at[0][0][0])[i];
    sum += (&c.at[0][0][0])[i];  // of two f16 it is exact, or nearer than f16 can tell
    if (sum != sum) sum = std::bit_cast<f32>(0x7fffffffu);
  }
  if (type == Sum::f16) round_to_f16(sums);
}

void read_sums(Sum type, const Matrix* const* registers, TileC& to) {
  if (type == Sum::f16) return read_f16(*registers[0], *registers[1], to);
  read_f32(registers, to);
}

void round_to_f16(TileC& sums) { nearest_f16(widened(sums), sums); }

void write_sums(Sum type, const TileC& from, Matrix* const* registers) {
  type == Sum::f16 ? write_f16(from, registers) : write_f32(from, registers);
}

}  // namespace sim
