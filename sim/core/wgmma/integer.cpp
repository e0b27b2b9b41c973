/// Products of 8-bit integers and of single bits by wgmma: exact, and so without tiles of widened factors.
#include <bit>
#include <cstring>

#include "core/machine/block.h"
#include "core/wgmma/wgmma.h"

namespace sim {
namespace {

constexpr uint32_t most_bytes = 64, of_chunk = 16;  // along k

/// 16 bytes of a row of A or a column of B.
void widen_chunk(Factor type, const uint16_t (&from)[8], s16* to) {
  u8 bytes[of_chunk];
  std::memcpy(bytes, from, of_chunk);
  for (uint32_t k = 0; k < of_chunk; ++k)
    to[k] = type == Factor::s8 ? static_cast<s16>(static_cast<s8>(bytes[k])) : static_cast<s16>(bytes[k]);
}

/// Of single bits: how many are set in both, eight to a byte.
s32 sum_of(const s16* row, const s16* column, uint32_t depth, bool of_bits) {
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
  const uint32_t chunks = wgmma.chunks_of_b();
  s16 rows[16][most_bytes] = {};
  const Places where = wgmma.sparse ? places(wgmma.sparsity, product.metadata) : Places{};
  for (uint32_t row = 0; row < 16; ++row) {
    s16 stored[2 * of_chunk];
    for (uint32_t half = 0; half < 2; ++half)
      widen_chunk(wgmma.a_type, parts[half][row / 8].at[row % 8], stored + half * of_chunk);
    for (uint32_t i = 0; i < 2 * of_chunk; ++i) rows[row][wgmma.sparse ? where.k[row][i] : i] = stored[i];
  }
  read_b(product);
  for (uint32_t column = 0; column < wgmma.columns; ++column) {
    s16 factors[most_bytes];
    for (uint32_t chunk = 0; chunk < chunks; ++chunk)
      widen_chunk(wgmma.b_type, bytes_[size_t{column / 8} * chunks + chunk].at[column % 8], factors + chunk * of_chunk);
    for (uint32_t row = 0; row < 16; ++row) {
      f32& bits = product.sums->tiles[column / 8].at[row % 8][column % 8][row / 8];
      const s32 sum = sum_of(rows[row], factors, chunks * of_chunk, wgmma.a_type == Factor::b1);
      bits = std::bit_cast<f32>(accumulated(product.adds ? std::bit_cast<s32>(bits) : 0, sum, wgmma.saturates));
    }
  }
}

}  // namespace sim
