/// The operands of wgmma, from registers and from shared memory, as what multiplies them wants them.
#include <cstring>

#include "core/machine/block.h"
#include "core/wgmma/wgmma.h"

namespace sim {
namespace {

constexpr uint32_t piece_bytes = 16;

/// Calls body(piece, address) for each 16 bytes of B. The pieces are numbered by eight columns, then by 16 bytes of k,
/// then one by one; their `addresses` lie as the layout has them.
template <class Body>
void for_pieces_of_b(const Wgmma& wgmma, const uint32_t* addresses, Body body) {
  const uint32_t tiles = wgmma.columns / 8u, chunks = wgmma.chunks_of_b();
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t first = wgmma.b_transposed ? 8 * chunk * tiles + tile : 8 * tile * chunks + chunk;
      const uint32_t step = wgmma.b_transposed ? tiles : chunks;
#pragma GCC unroll 8
      for (uint32_t i = 0; i < 8; ++i) body(8 * (chunks * tile + chunk) + i, addresses[first + i * step]);
    }
  }
}

/// Whether B in shared memory is what `bytes` hold of it.
bool is_unchanged_b(const Wgmma& wgmma, const uint32_t* addresses, const std::byte* shared,
                    const std::vector<Matrix>& bytes) {
  using Piece [[gnu::vector_size(piece_bytes)]] = u64;
  const auto* const known = reinterpret_cast<const std::byte*>(bytes.data());
  Piece differs = {};
  for_pieces_of_b(wgmma, addresses, [=, &differs](uint32_t piece, uint32_t address) {
    Piece now, before;
    std::memcpy(&now, shared + address, piece_bytes);
    std::memcpy(&before, known + size_t{piece} * piece_bytes, piece_bytes);
    differs |= now ^ before;
  });
  return (differs[0] | differs[1]) == 0;
}

}  // namespace

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
  bytes_.resize(size_t{wgmma.chunks_of_b()} * wgmma.columns / 8u);
  auto* const to = reinterpret_cast<std::byte*>(bytes_.data());
  const std::byte* const shared = block_.shared.data();
  for_pieces_of_b(wgmma, product.b->addresses.data(), [=](uint32_t piece, uint32_t address) {
    std::memcpy(to + size_t{piece} * piece_bytes, shared + address, piece_bytes);
  });
}

const std::vector<TileB>& Products::load_b(const Product& product) {
  const Wgmma& wgmma = product.wgmma;
  const uint32_t tiles = wgmma.columns / 8u, chunks = wgmma.chunks_of_b(), per_chunk = 16 / bytes_of(wgmma.b_type);
  const bool known = last_type_ == wgmma.b_type && last_transposed_ == wgmma.b_transposed &&
                     last_sparse_ == wgmma.sparse && last_bytes_.size() == size_t{chunks} * tiles &&
                     is_unchanged_b(wgmma, product.b->addresses.data(), block_.shared.data(), last_bytes_);
  if (known) return last_b_;
  read_b(product);
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
