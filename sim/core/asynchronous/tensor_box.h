/// The box that one TMA instruction moves: which bytes of the tensor belong to which bytes of shared memory.
///
/// The rows of the box lie one behind the other in shared memory, the second dimension running faster than the third.
/// With a swizzle a row takes the whole span of the pattern, however short it is, and its 16-byte pieces change places:
/// bits 4 to 6 of the address (as many as the span has) are combined with bits 7 to 9 by exclusive or.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/asynchronous/tensor_map.h"

namespace sim {

/// Where a box starts: an element of the tensor, or one that lies outside.
using Coordinates = std::array<int32_t, max_rank>;

/// Bytes that are adjacent in shared memory and, where they belong to the tensor, in global memory.
struct BoxRun {
  uint64_t global;  ///< address; meaningless outside of the tensor
  uint32_t shared;  ///< address
  uint32_t bytes;
  bool inside;  ///< of the tensor: if not, loads fill and stores skip them
};

/// What elements outside of the tensor become where NaN is asked for: these 16 bits again and again, whatever the type.
inline constexpr uint16_t nan_fill = 0x7ff7;

/// The address that the swizzle gives to what would lie at `address`.
inline uint32_t swizzled(uint32_t address, uint32_t span) {
  return span == 0 ? address : address ^ ((address >> 7 & (span / 16 - 1)) << 4);
}

/// How a copy ends where the tensor's rows do: a load at the last element, a store at the end of the 16 bytes that hold
/// it, as an H200 was seen to write them.
enum class RowEnd { element, chunk };

class TensorBox {
 public:
  TensorBox(const TensorMap& map, const Coordinates& start, RowEnd row_end = RowEnd::element);

  /// Bytes of the whole box, whatever of it lies outside of the tensor: what the transaction count is told.
  uint32_t bytes() const { return rows_ * row_bytes_; }
  /// Bytes from the first to the last of the box in shared memory.
  uint32_t shared_bytes() const { return (rows_ - 1) * pitch_ + (span_ == 0 ? row_bytes_ : span_); }
  /// The address of its first element, or where that would be if the tensor went on.
  uint64_t first() const;
  /// Bytes of the swizzle's span; 0 without.
  uint32_t swizzle_bytes() const { return span_; }
  /// Multiple of which the first byte's address in shared memory has to be for the pattern to begin at its beginning.
  uint32_t pattern_bytes() const { return span_ == 0 ? 16 : 8 * span_; }

  /// The 16 bits that fill what lies outside of the tensor, again and again.
  uint16_t fill_bits() const { return map_.fill == Fill::nan ? nan_fill : 0; }

  /// What a load does to the elements on their way.
  bool rounds() const { return rounds_to_tf32(map_.type); }

  /// The first row's start is no multiple of 16 bytes: the instruction is illegal.
  bool starts_misaligned() const { return static_cast<int64_t>(start_[0]) * element_bytes_ % 16 != 0; }
  /// A coordinate is negative: a store is illegal.
  bool starts_before() const;

  /// Calls body(run) for every run of the box whose first byte is at `shared`, rows in order.
  template <class Body>
  void for_runs(uint32_t shared, Body body) const {
    for_rows([&](uint32_t row, uint64_t global, bool inside) {
      const uint32_t first = shared + row * pitch_;
      const uint32_t begin = inside ? inside_begin_ : row_bytes_, end = inside ? inside_end_ : row_bytes_;
      if (span_ != 0 && begin == 0 && end == row_bytes_ && row_bytes_ % piece_bytes == 0) {  // mostly
        for (uint32_t at = 0; at < row_bytes_; at += piece_bytes)
          body(BoxRun{global + at, swizzled(first + at, span_), piece_bytes, true});
        return;
      }
      for (uint32_t at = 0; at < row_bytes_;) {
        uint32_t stop = at < begin ? begin : at < end ? end : row_bytes_;
        if (span_ != 0) stop = std::min(stop, (at / piece_bytes + 1) * piece_bytes);
        body(BoxRun{global + at, swizzled(first + at, span_), stop - at, at >= begin && at < end});
        at = stop;
      }
    });
  }

  /// Calls body(address, bytes) for what the box has of each row of the tensor in global memory.
  template <class Body>
  void for_rows_inside(Body body) const {
    for_rows([&](uint32_t, uint64_t global, bool inside) {
      if (inside && inside_begin_ < inside_end_) body(global + inside_begin_, inside_end_ - inside_begin_);
    });
  }

 private:
  static constexpr uint32_t piece_bytes = 16;  ///< that a swizzle leaves together

  /// Calls body(number, address, whether the tensor has it) for every row.
  template <class Body>
  void for_rows(Body body) const {
    std::array<uint32_t, max_rank> index{};
    for (uint32_t row = 0; row < rows_; ++row) {
      uint64_t global = first_;
      bool inside = true;
      for (uint32_t i = 1; i < map_.rank; ++i) {
        const int64_t at = start_[i] + static_cast<int64_t>(index[i]) * map_.element_stride[i];
        inside &= at >= 0 && at <= static_cast<int64_t>(map_.last[i]);
        global += static_cast<uint64_t>(at) * map_.stride[i - 1];
      }
      body(row, global, inside);
      for (uint32_t i = 1; i < map_.rank && ++index[i] == counts_[i]; ++i) index[i] = 0;
    }
  }

  TensorMap map_;
  Coordinates start_;
  std::array<uint32_t, max_rank> counts_;
  uint32_t element_bytes_, span_;
  uint32_t rows_ = 1, row_bytes_, pitch_;
  uint64_t first_;                      ///< address of coordinate start_[0] in the row whose others are all 0
  uint32_t inside_begin_, inside_end_;  ///< bytes of a row that belong to the tensor, where the row does
};

}  // namespace sim
