/// The operands of wgmma, from registers and from shared memory, as what multiplies them wants them.
#include <cstring>

#include "core/machine/block.h"
#include "core/wgmma/wgmma.h"

namespace sim {

void Products::read_a(uint32_t warp, const Product& product, Matrix (&parts)[2][2]) const {
  const Wgmma& wgmma = product.wgmma;
  Warp& own = block_.warps()[warp];
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t part = 0; part < 2; ++part) {
      Matrix& to = parts[half][part];
      if (wgmma.a_in_registers) {
        to = *own.lanes<const Matrix>(list(wgmma.a)[2 * half + part]);
        continue;
      }
      for (uint32_t i = 0; i < 8; ++i) {
        const uint32_t number = wgmma.a_transposed ? 2 * (8 * half + i) + part : 2 * (8 * part + i) + half;
        std::memcpy(to.at[i], block_.shared.data() + product.a->addresses[number], 16);
      }
      if (wgmma.a_transposed) transpose(to, to);
    }
  }
}

void Products::read_b(const Product& product) {
  const Wgmma& wgmma = product.wgmma;
  const uint32_t tiles = wgmma.columns / 8u, chunks = wgmma.chunks_of_b();
  const uint32_t* const addresses = product.b->addresses.data();
  bytes_.resize(size_t{chunks} * tiles);
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (uint32_t i = 0; i < 8; ++i) {
        const uint32_t number = wgmma.b_transposed ? (8 * chunk + i) * tiles + tile : (8 * tile + i) * chunks + chunk;
        std::memcpy(bytes_[chunks * tile + chunk].at[i], block_.shared.data() + addresses[number], 16);
      }
    }
  }
}

const std::vector<TileB>& Products::load_b(const Product& product) {
  const Wgmma& wgmma = product.wgmma;
  const uint32_t tiles = wgmma.columns / 8u, chunks = wgmma.chunks_of_b(), per_chunk = 16 / bytes_of(wgmma.b_type);
  read_b(product);
  const bool known = last_type_ == wgmma.b_type && last_transposed_ == wgmma.b_transposed &&
                     last_sparse_ == wgmma.sparse && last_bytes_.size() == bytes_.size() &&
                     std::memcmp(last_bytes_.data(), bytes_.data(), bytes_.size() * sizeof(Matrix)) == 0;
  if (known) return last_b_;
  std::swap(last_bytes_, bytes_);
  last_type_ = wgmma.b_type;
  last_transposed_ = wgmma.b_transposed;
  last_sparse_ = wgmma.sparse;
  const uint32_t along_k = wgmma.tiles_of_b();
  last_b_.resize(size_t{tiles} * along_k);
  for (TileB& each : last_b_) each.wild = false;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const Matrix& from = last_bytes_[chunks * tile + chunk];
      const uint32_t k = chunk * per_chunk;
      TileB& to = last_b_[along_k * tile + k / 32];
      if (wgmma.b_transposed)
        widen(wgmma.b_type, from, to, k % 32);
      else
        widen_columns(wgmma.b_type, from, to, k % 32);
    }
  }
  return last_b_;
}

}  // namespace sim
