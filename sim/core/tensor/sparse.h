/// A matrix A of which only half is stored: what mma.sp and wgmma.mma_async.sp multiply (PTX ISA 9.7.14.6, 9.7.15.6).
///
/// Along k, A is made of groups, which PTX calls chunks. Of a group half is stored: two of four elements, of 4-bit
/// integers two pairs of four, of tf32 one of two. Four bits of metadata say where they were: the index of the first
/// (bits 0 and 1) and of the second one. Of tf32 there are two such values, 0b0100 for the first element and 0b1110 for
/// the second.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/tensor.h"
#include "core/warp/warp.h"

namespace sim {

class Builder;

/// How the A of an instruction is sparse.
struct Sparsity {
  uint8_t depth;         ///< k of the product: twice what is stored
  uint8_t element_bits;  ///< 4, 8, 16 or 32
  uint8_t selector = 0;  ///< which lanes of four hold the metadata
  bool ordered = false;  ///< the index of the first has to be the lower one

  constexpr uint32_t stored() const { return depth / 2u; }
  constexpr uint32_t group() const { return element_bits == 32 ? 2 : element_bits == 4 ? 8 : 4; }
  constexpr uint32_t groups() const { return depth / group(); }
  /// Lanes of four that hold the metadata of two rows.
  constexpr uint32_t holders() const { return groups() / 4; }
  constexpr uint32_t selectors() const { return 4 / holders(); }
};

/// A warp's metadata, by lane.
using Metadata = std::array<u32, warp_size>;
Metadata metadata_of(Warp& warp, uint32_t slot);

/// The k of each stored element, by row of a warp's 16.
struct Places {
  uint8_t k[16][64];
};
Places places(const Sparsity& sparsity, const Metadata& metadata);

/// For tiles in which A's stored elements and B's rows have their own order.
Met met_rows(const Places& places, uint32_t stored);

/// Reports metadata that have no meaning.
void check_metadata(Warp& warp, const Sparsity& sparsity, const Metadata& metadata);

/// Refuses a selector that names no lanes. `operand`: its number, from 0.
uint8_t selector_operand(Builder& builder, size_t operand, const Sparsity& sparsity);

}  // namespace sim
