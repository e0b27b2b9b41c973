/// Where the metadata of a sparse matrix lie, and what they mean.
#include <algorithm>
#include <bitset>
#include <string>

#include "core/machine/block.h"
#include "core/tensor/sparse.h"
#include "core/warp/decode.h"

namespace sim {
namespace {

/// Four bits of a lane's metadata.
struct Field {
  uint32_t lane, bit;
};

/// As recorded on an H200: four neighbouring lanes hold what belongs to their rows, r and r + 8. Of factors of 16 and
/// 32 bits a lane has four groups of both rows, row r in its lower half; of smaller ones eight groups of one row, and
/// the lane after it those of the other.
Field field_of(const Sparsity& sparsity, uint32_t row, uint32_t group) {
  const uint32_t first = row % 8 * 4 + sparsity.selector * sparsity.holders();
  if (sparsity.element_bits >= 16) return {first + group / 4, row / 8 * 16 + group % 4 * 4};
  return {first + group / 8 * 2 + row / 8, group % 8 * 4};
}

constexpr uint32_t first_of_two = 0b0100, second_of_two = 0b1110;  // of tf32

std::string binary(uint32_t four_bits) { return "0b" + std::bitset<4>(four_bits).to_string(); }

/// Why these four bits have no meaning; nothing where they have one.
std::string mistake(const Sparsity& sparsity, uint32_t bits) {
  const uint32_t first = bits & 3, second = bits >> 2;
  if (sparsity.element_bits == 32)
    return bits == first_of_two || bits == second_of_two ? "" : "of tf32 only 0b0100 and 0b1110 have a meaning";
  if (first == second) return "they name index " + std::to_string(first) + " twice";
  if (sparsity.ordered && first > second)
    return "they name index " + std::to_string(first) + " before " + std::to_string(second) +
           ", and the instruction wants ordered metadata";
  return "";
}

}  // namespace

Metadata metadata_of(Warp& warp, uint32_t slot) {
  Metadata metadata;
  std::copy_n(warp.lanes<const u32>(slot), warp_size, metadata.begin());
  return metadata;
}

Places places(const Sparsity& sparsity, const Metadata& metadata) {
  Places made;
  const uint32_t together = sparsity.element_bits == 4 ? 2 : 1;  // elements that one index places
  for (uint32_t row = 0; row < 16; ++row) {
    uint8_t* to = made.k[row];
    for (uint32_t group = 0; group < sparsity.groups(); ++group) {
      const Field field = field_of(sparsity, row, group);
      const uint32_t bits = metadata[field.lane] >> field.bit & 15, first = group * sparsity.group();
      if (sparsity.element_bits == 32) {
        *to++ = static_cast<uint8_t>(first + (bits == second_of_two));
        continue;
      }
      for (const uint32_t index : {bits & 3, bits >> 2})
        for (uint32_t i = 0; i < together; ++i) *to++ = static_cast<uint8_t>(first + index * together + i);
    }
  }
  return made;
}

Met met_rows(const Places& places, uint32_t stored) {
  Met met;
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t i = 0; i < stored; ++i) met.row[row % 8][i][row / 8] = places.k[row][i];
  }
  return met;
}

void check_metadata(Warp& warp, const Sparsity& sparsity, const Metadata& metadata) {
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t group = 0; group < sparsity.groups(); ++group) {
      const Field field = field_of(sparsity, row, group);
      const uint32_t bits = metadata[field.lane] >> field.bit & 15;
      const std::string why = mistake(sparsity, bits);
      if (why.empty()) continue;
      Block& block = warp.block;
      return block.report(Finding::metadata, warp.here(), nowhere, [&] {
        const uint32_t first = group * sparsity.group();
        return block.what_it_does(warp, field.lane) + ": bits " + std::to_string(field.bit) + " to " +
               std::to_string(field.bit + 3) + " of its sparsity metadata, which place row " + std::to_string(row) +
               ", k " + std::to_string(first) + " to " + std::to_string(first + sparsity.group() - 1) + ", are " +
               binary(bits) + ": " + why;
      });
    }
  }
}

uint8_t selector_operand(Builder& builder, size_t operand, const Sparsity& sparsity) {
  const uint64_t selector = builder.immediate(builder.operands()[operand]);
  if (selector < sparsity.selectors()) return static_cast<uint8_t>(selector);
  builder.refuse("operand " + std::to_string(operand + 1) + ", the sparsity selector, has to be " +
                 (sparsity.selectors() == 1   ? "0: all lanes hold metadata"
                  : sparsity.selectors() == 2 ? "0 or 1: the first or the second two lanes of four hold the metadata"
                                              : "0 to 3: one lane of four holds the metadata"));
}

}  // namespace sim
