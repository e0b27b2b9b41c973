#include "core/asynchronous/tensor_box.h"

namespace sim {
namespace {

constexpr uint32_t most_rows = 1 << 20;

}  // namespace

TensorBox::TensorBox(const TensorMap& map, const Coordinates& start, RowEnd row_end) : map_(map), start_(start) {
  element_bytes_ = bytes_of(map.type);
  span_ = span_of(map.swizzle);
  for (uint32_t i = 0; i < max_rank; ++i) counts_[i] = map.count(i);
  // More rows than any shared memory holds are as many as another: the numbers of bytes stay below 2^32.
  for (uint32_t i = 1; i < map.rank; ++i) rows_ = std::min(rows_ * counts_[i], most_rows);
  row_bytes_ = counts_[0] * element_bytes_;
  pitch_ = span_ == 0 ? row_bytes_ : span_;
  first_ = map.address + static_cast<uint64_t>(int64_t{start[0]} * element_bytes_);
  const auto within_row = [&](int64_t element) {
    return static_cast<uint32_t>(std::clamp<int64_t>(element, 0, counts_[0])) * element_bytes_;
  };
  inside_begin_ = within_row(-int64_t{start[0]});
  inside_end_ = within_row(int64_t{map.last[0]} + 1 - start[0]);
  if (row_end == RowEnd::chunk) inside_end_ = std::min((inside_end_ + 15) / 16 * 16, row_bytes_);
}

uint64_t TensorBox::first() const {
  uint64_t address = first_;
  for (uint32_t i = 1; i < map_.rank; ++i) address += static_cast<uint64_t>(int64_t{start_[i]}) * map_.stride[i - 1];
  return address;
}

bool TensorBox::starts_before() const {
  return std::any_of(start_.begin(), start_.begin() + map_.rank, [](int32_t at) { return at < 0; });
}

}  // namespace sim
