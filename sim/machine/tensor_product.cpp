/// The arithmetic of one m16n8 product. What the hardware does inside is not documented: neither in which order it adds
/// nor how it rounds between. Here every product is exact, they are added to C in double precision in the order of k,
/// and the sum is rounded once, to nearest even, to what D holds. Where all partial sums are exact, as in the harness's
/// exact inputs, hardware and simulator agree to the last bit.
#include <bit>
#include <cmath>

#include "machine/half.h"
#include "machine/tensor.h"

#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=haswell", "arch=skylake-avx512")]]

namespace sim {
namespace {

/// To nearest even, once. Adding a power of two whose last bit is the result's last bit leaves the rounding to the
/// host.
[[gnu::always_inline]] inline u16 half_of(f64 x) {
  const u64 bits = std::bit_cast<u64>(x), size_bits = bits & ~(u64{1} << 63);
  const f64 size = std::bit_cast<f64>(size_bits);
  const s64 least = 1023 - 14;
  const s64 exponent = static_cast<s64>(size_bits >> 52) > least ? static_cast<s64>(size_bits >> 52) : least;
  const f64 magic = std::bit_cast<f64>(static_cast<u64>(exponent + 42) << 52);
  const f64 rounded = (size + magic) - magic;
  const u32 single = std::bit_cast<u32>(static_cast<f32>(rounded));  // exact
  const bool small = rounded < 0x1p-14;
  const u32 subnormal = static_cast<u32>(static_cast<s32>((small ? rounded : 0.0) * 0x1p24));
  u32 half = small ? subnormal : (single >> 13) - (112u << 10);
  half = size < 65520.0 ? half : 0x7c00;
  half |= static_cast<u32>(bits >> 48) & 0x8000u;
  return static_cast<u16>(x == x ? half : 0x7fff);
}

}  // namespace

WITH_THE_HOSTS_VECTORS void Product::multiply(uint32_t k) {
  alignas(64) double columns[max_k][n];
  for (uint32_t i = 0; i < k; ++i) {
    for (uint32_t col = 0; col < n; ++col) columns[i][col] = static_cast<double>(b[col][i]);
  }
  constexpr uint32_t rows = 2;  // at a time: their sums are in registers
  for (uint32_t row = 0; row < m; row += rows) {
    double sum[rows][n];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t col = 0; col < n; ++col) sum[r][col] = c[row + r][col];
    }
    for (uint32_t i = 0; i < k; ++i) {
      for (uint32_t r = 0; r < rows; ++r) {
        const double x = static_cast<double>(a[row + r][i]);
        for (uint32_t col = 0; col < n; ++col) sum[r][col] += x * columns[i][col];  // the product is exact
      }
    }
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t col = 0; col < n; ++col) c[row + r][col] = sum[r][col];
    }
  }
}

WITH_THE_HOSTS_VECTORS void widen_f16(const Matrix& from, float* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) to[line * pitch + i] = Half::widened(from.at[line][i]);
  }
}

void widen_bf16(const Matrix& from, float* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) to[line * pitch + i] = std::bit_cast<f32>(u32{from.at[line][i]} << 16);
  }
}

void widen_tf32(const uint32_t* from, float* to, uint32_t pitch) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 4; ++i) to[line * pitch + i] = std::bit_cast<f32>(from[4 * line + i] & ~0x1fffu);
  }
}

WITH_THE_HOSTS_VECTORS void read_f16(const Matrix& from, double (*to)[Product::n]) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) to[line][i] = static_cast<double>(Half::widened(from.at[line][i]));
  }
}

WITH_THE_HOSTS_VECTORS void write_f16(const double (*from)[Product::n], Matrix& to) {
  for (uint32_t line = 0; line < 8; ++line) {
    for (uint32_t i = 0; i < 8; ++i) to.at[line][i] = half_of(from[line][i]);
  }
}

void read_f32(const uint32_t* first, const uint32_t* second, double (*to)[Product::n]) {
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    to[lane / 4][lane % 4 * 2] = static_cast<double>(std::bit_cast<f32>(first[lane]));
    to[lane / 4][lane % 4 * 2 + 1] = static_cast<double>(std::bit_cast<f32>(second[lane]));
  }
}

void write_f32(const double (*from)[Product::n], uint32_t* first, uint32_t* second) {
  const auto bits = [](double x) { return x == x ? std::bit_cast<u32>(static_cast<f32>(x)) : 0x7fffffffu; };
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    first[lane] = bits(from[lane / 4][lane % 4 * 2]);
    second[lane] = bits(from[lane / 4][lane % 4 * 2 + 1]);
  }
}

void transpose(const Matrix& from, Matrix& to) {
  const Matrix copy = from;
  for (uint32_t row = 0; row < 8; ++row) {
    for (uint32_t col = 0; col < 8; ++col) to.at[row][col] = copy.at[col][row];
  }
}

}  // namespace sim
