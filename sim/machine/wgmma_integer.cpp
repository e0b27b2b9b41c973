/// Products of 8-bit integers and of single bits by wgmma: exact, and so without tiles of widened factors.
#include <bit>
#include <cstring>

#include "machine/block.h"
#include "machine/wgmma.h"

namespace sim {
namespace {

constexpr uint32_t depth = 32;

/// A row of A or a column of B: 16 bytes from each of the two halves of k.
void widen_line(Factor type, const uint16_t (&first)[8], const uint16_t (&second)[8], s16 (&to)[depth]) {
  u8 bytes[depth];
  std::memcpy(bytes, first, depth / 2);
  std::memcpy(bytes + depth / 2, second, depth / 2);
  for (uint32_t k = 0; k < depth; ++k)
    to[k] = type == Factor::s8 ? static_cast<s16>(static_cast<s8>(bytes[k])) : static_cast<s16>(bytes[k]);
}

/// Of single bits: how many are set in both, eight to a byte.
s32 sum_of(const s16 (&row)[depth], const s16 (&column)[depth], bool of_bits) {
  s32 sum = 0;
  if (of_bits) {
    for (uint32_t k = 0; k < depth; ++k) sum += std::popcount(static_cast<u16>(row[k] & column[k]));
  } else {
    for (uint32_t k = 0; k < depth; ++k) sum += row[k] * column[k];
  }
  return sum;
}

}  // namespace

void Products::run_integers(uint32_t warp, Product& product) {
  const Wgmma& wgmma = product.wgmma;
  Matrix parts[2][2];
  read_a(warp, product, parts);
  s16 rows[16][depth];
  for (uint32_t row = 0; row < 16; ++row)
    widen_line(wgmma.a_type, parts[0][row / 8].at[row % 8], parts[1][row / 8].at[row % 8], rows[row]);
  read_b(product);
  for (uint32_t column = 0; column < wgmma.columns; ++column) {
    const Matrix* const halves = &bytes_[2 * size_t{column / 8}];
    s16 factors[depth];
    widen_line(wgmma.b_type, halves[0].at[column % 8], halves[1].at[column % 8], factors);
    for (uint32_t row = 0; row < 16; ++row) {
      f32& bits = product.sums->tiles[column / 8].at[row % 8][column % 8][row / 8];
      const s32 sum = sum_of(rows[row], factors, wgmma.a_type == Factor::b1);
      bits = std::bit_cast<f32>(accumulated(product.adds ? std::bit_cast<s32>(bits) : 0, sum, wgmma.saturates));
    }
  }
}

}  // namespace sim
