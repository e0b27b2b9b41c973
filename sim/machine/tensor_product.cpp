/// The arithmetic of one m16n8 product. What the hardware does inside is not documented: neither in which order it adds
/// nor how it rounds between. Here every product is exact, they are added to C in double precision in the order of k,
/// and the sum is rounded once, to nearest even, to what D holds. Where all partial sums are exact, as in the harness's
/// exact inputs, hardware and simulator agree to the last bit.
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/half.h"
#include "machine/tensor.h"

#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]

namespace sim {
namespace {

// Vectors of the compiler's own, of so many elements: the loops below do not depend on its vectorising them.
template <class T, int count>
using Vector [[gnu::vector_size(sizeof(T) * count), gnu::may_alias]] = T;

/// Eight binary16 as two times four doubles.
[[gnu::always_inline]] inline void widen_eight(const u16* from, f64* to) {
  Vector<u16, 8> halves;
  std::memcpy(&halves, from, sizeof halves);
  const auto all = __builtin_convertvector(halves, Vector<u32, 8>), size = all & 0x7fff;
  const auto subnormal = __builtin_convertvector((Vector<s32, 8>)size, Vector<f32, 8>) * 0x1p-24f;
  const auto normal = (size << 13) + (112u << 23) + (size >= 0x7c00 ? Vector<u32, 8>{} + (112u << 23) : 0);
  const auto bits = (size < 0x0400 ? (Vector<u32, 8>)subnormal : normal) | (all & 0x8000) << 16;
  const auto values = __builtin_convertvector((Vector<f32, 8>)bits, Vector<f64, 8>);
  std::memcpy(to, &values, sizeof values);
}

/// Four doubles to binary16, to nearest even, once. Adding a power of two whose last bit is the result's last bit
/// leaves the rounding to the host.
[[gnu::always_inline]] inline void narrow_four(const f64* from, u16* to) {
  using Bits = Vector<u64, 4>;
  using Doubles = Vector<f64, 4>;
  Doubles values;
  std::memcpy(&values, from, sizeof values);
  const Bits bits = (Bits)values, size_bits = bits & ~(u64{1} << 63);
  const auto size = (Doubles)size_bits;
  const auto exponent = (Vector<s64, 4>)(size_bits >> 52);
  const auto least = Vector<s64, 4>{} + (1023 - 14);
  const auto unit = ((Bits)(exponent > least ? exponent : least) + 42) << 52;
  const Doubles rounded = (size + (Doubles)unit) - (Doubles)unit;
  const Bits subnormal = (Bits)(rounded * 0x1p24 + 0x1p52) & 0x7ff;
  const Bits normal = ((Bits)rounded >> 42) - (u64{1008} << 10);
  Bits half = rounded < 0x1p-14 ? subnormal : normal;
  half = size < 65520.0 ? half : Bits{} + 0x7c00;
  half |= bits >> 48 & 0x8000;
  half = values == values ? half : Bits{} + 0x7fff;
  const auto halves = __builtin_convertvector(half, Vector<u16, 4>);
  std::memcpy(to, &halves, sizeof halves);
}

}  // namespace

WITH_THE_HOSTS_VECTORS void multiply(const TileA& a, const TileB& b, TileC& c, uint32_t k) {
  using Four = Vector<f64, 4>;
  constexpr uint32_t rows = 4;  // at a time: their sums are in registers
  for (uint32_t row = 0; row < 16; row += rows) {
    auto* const result = reinterpret_cast<Four*>(c.at[row]);
    Four left[rows], right[rows];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; ++r) left[r] = result[2 * r], right[r] = result[2 * r + 1];
    for (uint32_t i = 0; i < k; ++i) {
      const auto* const columns = reinterpret_cast<const Four*>(b.at[i]);
#pragma GCC unroll 4
      for (uint32_t r = 0; r < rows; ++r) {
        const double x = a.at[row + r][i];
        const Four factor = {x, x, x, x};
        left[r] += factor * columns[0];
        right[r] += factor * columns[1];
      }
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; ++r) result[2 * r] = left[r], result[2 * r + 1] = right[r];
  }
}

WITH_THE_HOSTS_VECTORS void widen_f16(const Matrix& from, double* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) widen_eight(from.at[line], to + line * pitch);
}

WITH_THE_HOSTS_VECTORS void widen_bf16(const Matrix& from, double* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) to[line * pitch + i] = static_cast<double>(Bfloat::widened(from.at[line][i]));
  }
}

void widen_tf32(const uint32_t* from, double* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 4; ++i)
      to[line * pitch + i] = static_cast<double>(std::bit_cast<f32>(from[4 * line + i] & ~0x1fffu));
  }
}

void widen_tf32_turned(const uint32_t* from, double* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 4; ++i)
      to[i * pitch + line] = static_cast<double>(std::bit_cast<f32>(from[4 * line + i] & ~0x1fffu));
  }
}

void read_f32(const uint32_t* first, const uint32_t* second, double (*to)[8]) {
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    to[lane / 4][lane % 4 * 2] = static_cast<double>(std::bit_cast<f32>(first[lane]));
    to[lane / 4][lane % 4 * 2 + 1] = static_cast<double>(std::bit_cast<f32>(second[lane]));
  }
}

WITH_THE_HOSTS_VECTORS void write_f16(const double (*from)[8], Matrix& to) {
  for (uint32_t line = 0; line < 8; ++line) {
    narrow_four(from[line], to.at[line]);
    narrow_four(from[line] + 4, to.at[line] + 4);
  }
}

void write_f32(const double (*from)[8], uint32_t* first, uint32_t* second) {
  const auto bits = [](double x) { return x == x ? std::bit_cast<u32>(static_cast<f32>(x)) : 0x7fffffffu; };
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    first[lane] = bits(from[lane / 4][lane % 4 * 2]);
    second[lane] = bits(from[lane / 4][lane % 4 * 2 + 1]);
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
