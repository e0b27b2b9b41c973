// Where the stored elements of a row of a sparse A lie, and how its metadata say so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace sim::testing {

struct SparseRow {
  uint32_t bits;      // of an element: 4, 8, 16 or 32
  uint32_t depth;     // k of the product
  uint32_t selector;  // of the lanes that hold the metadata

  uint32_t group() const { return bits == 32 ? 2 : bits == 4 ? 8 : 4; }
  uint32_t groups() const { return depth / group(); }

  // The lane and the lowest of four bits that belong to a group. PTX ISA's figures of metadata: a lane has four groups
  // of rows r and r + 8, or, of elements of 8 and 4 bits, eight groups of one of them.
  std::pair<uint32_t, uint32_t> field(uint32_t row, uint32_t number) const {
    const uint32_t first = row % 8 * 4 + selector * (groups() / 4);
    if (bits >= 16) return {first + number / 4, number % 4 * 4 + (row >= 8 ? 16 : 0)};
    return {first + number / 8 * 2 + (row >= 8 ? 1 : 0), number % 8 * 4};
  }

  void set(uint32_t row, uint32_t number, uint32_t four_bits, uint32_t* metadata) const {
    const auto [lane, bit] = field(row, number);
    metadata[lane] = (metadata[lane] & ~(15u << bit)) | four_bits << bit;
  }

  // Draws them by lot, writes them down in a warp's metadata, and gives the k of each stored element of the row.
  std::vector<uint32_t> draw(uint32_t row, bool ordered, uint32_t* metadata, std::mt19937& random) const {
    std::vector<uint32_t> k_of;
    for (uint32_t number = 0; number < groups(); ++number) {
      uint32_t first = random() % 4, second = (first + 1 + random() % 3) % 4;
      if (ordered && first > second) std::swap(first, second);
      if (bits == 32) {
        k_of.push_back(2 * number + first % 2);
        set(row, number, first % 2 ? 0b1110 : 0b0100, metadata);
        continue;
      }
      for (const uint32_t index : {first, second}) {
        if (bits == 4)
          k_of.insert(k_of.end(), {8 * number + 2 * index, 8 * number + 2 * index + 1});
        else
          k_of.push_back(4 * number + index);
      }
      set(row, number, first | second << 2, metadata);
    }
    return k_of;
  }
};

}  // namespace sim::testing
