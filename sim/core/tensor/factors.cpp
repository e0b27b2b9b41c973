/// Factors from registers or memory to the tiles of a product, as f32, which holds them all.
#include <bit>
#include <cstring>

#include "core/arithmetic/formats.h"
#include "core/tensor/tensor.h"

namespace sim {
namespace {

using namespace tensor;

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

Factor factor_named(std::string_view name) {
  return name == "f16"    ? Factor::f16
         : name == "bf16" ? Factor::bf16
         : name == "tf32" ? Factor::tf32
         : name == "e4m3" ? Factor::e4m3
         : name == "e5m2" ? Factor::e5m2
         : name == "s8"   ? Factor::s8
         : name == "u8"   ? Factor::u8
                          : Factor::b1;
}

void widen(Factor factor, const Matrix& upper, const Matrix& lower, TileA& to, uint32_t column) {
  switch (factor) {
    case Factor::f16: to.wild |= f16_to_a(upper, lower, to, column); return;
    case Factor::bf16: to.wild |= bf16_to_a(upper, lower, to, column); return;
    case Factor::tf32: to.wild |= tf32_to_a(upper, lower, to, column); return;
    case Factor::e4m3: to.wild |= e4m3_to_a(upper, lower, to, column); return;
    case Factor::e5m2: to.wild |= e5m2_to_a(upper, lower, to, column); return;
    case Factor::s8:
    case Factor::u8:
    case Factor::b1: return;
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
    case Factor::s8:
    case Factor::u8:
    case Factor::b1: return;
  }
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
