/// Products of 8-bit integers by wgmma: exact, and so without tiles of widened factors.
#include <bit>
#include <cstring>

#include "machine/block.h"
#include "machine/wgmma.h"

namespace sim {
namespace {

constexpr uint32_t most_depth = 64, of_chunk = 16;

/// 16 bytes of a row of A or a column of B.
void widen_chunk(Factor type, const uint16_t (&from)[8], s16* to) {
  u8 bytes[of_chunk];
  std::memcpy(bytes, from, of_chunk);
  for (uint32_t k = 0; k < of_chunk; ++k)
    to[k] = type == Factor::s8 ? static_cast<s16>(static_cast<s8>(bytes[k])) : static_cast<s16>(bytes[k]);
}

}  // namespace

void Products::run_integers(uint32_t warp, Product& product) {
  const Wgmma& wgmma = product.wgmma;
  Matrix parts[2][2];
  read_a(warp, product, parts);
  const uint32_t depth = wgmma.k(), chunks = depth / of_chunk;
  s16 rows[16][most_depth] = {};
  const Places where = wgmma.sparse ? places(wgmma.sparsity, product.metadata) : Places{};
  for (uint32_t row = 0; row < 16; ++row) {
    s16 stored[2 * of_chunk];
    for (uint32_t half = 0; half < 2; ++half)
      widen_chunk(wgmma.a_type, parts[half][row / 8].at[row % 8], stored + half * of_chunk);
    for (uint32_t i = 0; i < 2 * of_chunk; ++i) rows[row][wgmma.sparse ? where.k[row][i] : i] = stored[i];
  }
  read_b(product);
  for (uint32_t column = 0; column < wgmma.columns; ++column) {
    s16 factors[most_depth];
    for (uint32_t chunk = 0; chunk < chunks; ++chunk)
      widen_chunk(wgmma.b_type, bytes_[size_t{column / 8} * chunks + chunk].at[column % 8], factors + chunk * of_chunk);
    for (uint32_t row = 0; row < 16; ++row) {
      f32& bits = product.sums->tiles[column / 8].at[row % 8][column % 8][row / 8];
      s32 sum = 0;
      for (uint32_t k = 0; k < depth; ++k) sum += rows[row][k] * factors[k];
      bits = std::bit_cast<f32>(accumulated(product.adds ? std::bit_cast<s32>(bits) : 0, sum, wgmma.saturates));
    }
  }
}

}  // namespace sim
