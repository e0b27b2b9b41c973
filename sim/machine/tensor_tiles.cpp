/// Between registers and the tiles of a product: factors and C's elements to f32, which holds them all, and the sums
/// back, rounded once.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "machine/tensor.h"

// Vectors are passed between functions that are inlined, so that how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]

namespace sim {
namespace {

template <class T, int count>
using Vector [[gnu::vector_size(sizeof(T) * count), gnu::may_alias]] = T;
using Bits = Vector<u32, 16>;
using Signed = Vector<s32, 16>;
using Exponents = Vector<s16, 16>;
using Halves = Vector<u16, 16>;
using Eight = Vector<u32, 8>;

/// A format of few bits: how many its exponent and its mantissa have.
template <u32 exponent_bits, u32 mantissa_bits, bool has_infinity>
struct Small {
  static constexpr u32 bias = (1u << (exponent_bits - 1)) - 1;
  static constexpr s32 least_exponent = 1 - static_cast<s32>(bias);

  /// The bits of f32 of the same value.
  [[gnu::always_inline]] static inline Bits widened(Bits all) {
    constexpr u32 sign = 1u << (exponent_bits + mantissa_bits), moved = 23 - mantissa_bits, rebias = (127 - bias) << 23;
    constexpr u32 first_special = has_infinity ? ((1u << exponent_bits) - 1) << mantissa_bits : sign - 1;
    constexpr f32 unit = 1.0f / static_cast<f32>(1u << (bias - 1 + mantissa_bits));  // of a subnormal number
    const Bits size = all & (sign - 1);
    const auto subnormal = (Bits)(__builtin_convertvector((Signed)size, Vector<f32, 16>) * unit);
    const Bits special = has_infinity ? (size << moved) + 2 * rebias : Bits{} + 0x7fffffffu;
    const Bits normal = size >= first_special ? special : (size << moved) + rebias;
    return (size < (1u << mantissa_bits) ? subnormal : normal) | (all & sign) << (31 - exponent_bits - mantissa_bits);
  }
};
using F16 = Small<5, 10, true>;
using E5m2 = Small<5, 2, true>;
using E4m3 = Small<4, 3, false>;

/// The formats with the exponents of f32.
template <class T, u32 moved, u32 mask>
struct Wide {
  static constexpr s32 least_exponent = -126;
  [[gnu::always_inline]] static inline Bits widened(Bits all) { return all << moved & mask; }
};
using Bf16 = Wide<u16, 16, ~0u>;
using Tf32 = Wide<u32, 0, ~0x1fffu>;

constexpr s32 tame_exponent = 40;  // products and sums of such factors, however they are scaled, are exact in f32

/// Factors widened, with their exponents: 16 at a time, as they lie in memory.
struct Widened {
  Bits values, wild;
  Exponents exponents;
};

template <class Format, class T>
[[gnu::always_inline]] inline void widen_16(const T* from, Widened& to) {
  Vector<T, 16> raw;
  std::memcpy(&raw, from, sizeof raw);
  const Bits bits = Format::widened(__builtin_convertvector(raw, Bits)), size = bits & 0x7fffffff;
  const auto field = (Signed)(size >> 23), least = Signed{} + (Format::least_exponent + 127);
  const Signed exponent = (field > least ? field : least) - 127;
  const Bits not_zero = (Bits)(size != 0);
  // Unsigned, what is below the least tame exponent is large.
  to.wild = (Bits)((Bits)(exponent + tame_exponent) > 2u * tame_exponent) & not_zero;
  to.values = bits;
  const Signed known = size == 0 ? Signed{} + no_exponent : exponent;
  to.exponents = __builtin_convertvector(known, Exponents);
}

[[gnu::always_inline]] inline bool any(Bits bits) {
  u64 parts[8], all = 0;
  std::memcpy(parts, &bits, sizeof parts);
  for (const u64 part : parts) all |= part;
  return all != 0;
}

/// The elements of two vectors in turns: first those of their lower halves, then those of their upper ones.
template <class V>
[[gnu::always_inline]] inline V lower_in_turns(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <class V>
[[gnu::always_inline]] inline V upper_in_turns(V a, V b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

template <class Format, class T>
[[gnu::always_inline]] inline bool widen_to_a(const Matrix& upper, const Matrix& lower, TileA& to, uint32_t column) {
  constexpr uint32_t columns = 16 / sizeof(T), lines = 16 / columns;  // at a time
  Bits wild = {};
  for (uint32_t line = 0; line < 8; line += lines) {
    Widened above, below;
    widen_16<Format, T>(reinterpret_cast<const T*>(&upper) + line * columns, above);
    widen_16<Format, T>(reinterpret_cast<const T*>(&lower) + line * columns, below);
    wild |= above.wild | below.wild;
    const Bits values[] = {lower_in_turns(above.values, below.values), upper_in_turns(above.values, below.values)};
    const auto pairs_above = (Vector<s32, 8>)above.exponents, pairs_below = (Vector<s32, 8>)below.exponents;
    const auto exponents =
        __builtin_shufflevector(pairs_above, pairs_below, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    for (uint32_t i = 0; i < lines; ++i) {
      std::memcpy(to.value[line + i][column], reinterpret_cast<const f32*>(values) + 2 * i * columns,
                  2 * columns * sizeof(f32));
      std::memcpy(to.exponent[line + i][column / 2], reinterpret_cast<const s32*>(&exponents) + i * columns,
                  columns * sizeof(s32));
    }
  }
  return any(wild);
}

/// Each 32 bits twice.
[[gnu::always_inline]] inline Bits twice(Eight from) {
  return __builtin_shufflevector(from, from, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
}

/// 8 lines of 8 factors of 16 bits, as rows of B.
template <class Format>
[[gnu::always_inline]] inline bool widen_to_b(const Matrix& from, TileB& to, uint32_t row) {
  Bits wild = {};
  for (uint32_t i = 0; i < 8; i += 2) {
    Widened each;
    widen_16<Format, u16>(from.at[i], each);
    wild |= each.wild;
    const Bits values[] = {lower_in_turns(each.values, each.values), upper_in_turns(each.values, each.values)};
    std::memcpy(to.value[row + i], values, sizeof values);
    const auto paired = (Eight)lower_in_turns(
        each.exponents,
        __builtin_shufflevector(each.exponents, each.exponents, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    const Bits exponents = twice(paired);
    std::memcpy(to.exponent[(row + i) / 2], &exponents, sizeof exponents);
  }
  return any(wild);
}

/// 16 / sizeof(T) rows of B from lines that are its columns, element by element.
template <class Format, class T>
[[gnu::always_inline]] inline bool widen_columns_to_b(const Matrix& from, TileB& to, uint32_t row) {
  constexpr uint32_t rows = 16 / sizeof(T);
  Bits wild = {};
  for (uint32_t i = 0; i < 8 * rows; i += 16) {
    Widened each;
    widen_16<Format, T>(reinterpret_cast<const T*>(&from) + i, each);
    wild |= each.wild;
    for (uint32_t j = 0; j < 16; ++j) {
      const uint32_t k = row + (i + j) % rows, column = (i + j) / rows;
      for (uint32_t copy = 0; copy < 2; ++copy) {
        to.value[k][column][copy] = std::bit_cast<f32>(each.values[j]);
        to.exponent[k / 2][column][copy][k % 2] = each.exponents[j];
      }
    }
  }
  return any(wild);
}

#define WIDEN_TO_A(name, Format, T)                                                                        \
  WITH_THE_HOSTS_VECTORS bool name(const Matrix& upper, const Matrix& lower, TileA& to, uint32_t column) { \
    return widen_to_a<Format, T>(upper, lower, to, column);                                                \
  }
WIDEN_TO_A(f16_to_a, F16, u16)
WIDEN_TO_A(bf16_to_a, Bf16, u16)
WIDEN_TO_A(tf32_to_a, Tf32, u32)
WIDEN_TO_A(e4m3_to_a, E4m3, u8)
WIDEN_TO_A(e5m2_to_a, E5m2, u8)
#undef WIDEN_TO_A

#define WIDEN_TO_B(name, call) \
  WITH_THE_HOSTS_VECTORS bool name(const Matrix& from, TileB& to, uint32_t row) { return call(from, to, row); }
WIDEN_TO_B(f16_to_b, widen_to_b<F16>)
WIDEN_TO_B(bf16_to_b, widen_to_b<Bf16>)
WIDEN_TO_B(tf32_columns_to_b, (widen_columns_to_b<Tf32, u32>))
WIDEN_TO_B(e4m3_columns_to_b, (widen_columns_to_b<E4m3, u8>))
WIDEN_TO_B(e5m2_columns_to_b, (widen_columns_to_b<E5m2, u8>))
#undef WIDEN_TO_B

/// e4m3 has no infinity, and a bias of 7 instead of 15.
u16 e4m3_to_f16(u32 byte) {
  const u32 sign = (byte & 0x80) << 8, size = byte & 0x7f;
  if (size == 0x7f) return static_cast<u16>(sign | 0x7fff);
  if (size >= 8) return static_cast<u16>(sign | ((size << 7) + (8u << 10)));
  static constexpr u16 subnormal[] = {0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300};  // units of 2^-9
  return static_cast<u16>(sign | subnormal[size]);
}

}  // namespace

void widen(Factor factor, const Matrix& upper, const Matrix& lower, TileA& to, uint32_t column) {
  switch (factor) {
    case Factor::f16: to.wild |= f16_to_a(upper, lower, to, column); return;
    case Factor::bf16: to.wild |= bf16_to_a(upper, lower, to, column); return;
    case Factor::tf32: to.wild |= tf32_to_a(upper, lower, to, column); return;
    case Factor::e4m3: to.wild |= e4m3_to_a(upper, lower, to, column); return;
    case Factor::e5m2: to.wild |= e5m2_to_a(upper, lower, to, column); return;
  }
}

void widen(Factor factor, const Matrix& from, TileB& to, uint32_t row) {
  to.wild |= factor == Factor::f16 ? f16_to_b(from, to, row) : bf16_to_b(from, to, row);
}

void widen_columns(Factor factor, const Matrix& from, TileB& to, uint32_t row) {
  switch (factor) {
    case Factor::f16:
    case Factor::bf16: {
      Matrix turned;
      transpose(from, turned);
      return widen(factor, turned, to, row);
    }
    case Factor::tf32: to.wild |= tf32_columns_to_b(from, to, row); return;
    case Factor::e4m3: to.wild |= e4m3_columns_to_b(from, to, row); return;
    case Factor::e5m2: to.wild |= e5m2_columns_to_b(from, to, row); return;
  }
}

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

void fp8_to_f16(Factor factor, const Matrix& from, uint32_t half, Matrix& to) {
  u8 bytes[8][16];
  std::memcpy(bytes, &from, sizeof bytes);
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) {
      const u32 byte = bytes[line][i / 2 * 4 + 2 * half + i % 2];
      to.at[line][i] = factor == Factor::e5m2 ? static_cast<u16>(byte << 8) : e4m3_to_f16(byte);
    }
  }
}

/// Three rounds of interleaving halves: after each, twice as many elements of a column stand together.
void transpose(const Matrix& from, Matrix& to) {
  using Line [[gnu::vector_size(16)]] = uint16_t;
  Line lines[8], mixed[8];
  std::memcpy(lines, &from, sizeof lines);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      mixed[2 * i] = __builtin_shufflevector(lines[i], lines[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      mixed[2 * i + 1] = __builtin_shufflevector(lines[i], lines[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(lines, mixed, sizeof lines);
  }
  std::memcpy(&to, lines, sizeof lines);
}

}  // namespace sim
