// Tensors, and maps of them, in memory that a kernel reads.
#pragma once

#include "core/asynchronous/tensor_map.h"
#include "machine.h"

namespace sim::testing {

struct alignas(64) StoredMap {
  TensorMap map;
};
using Maps = std::vector<StoredMap>;

// The map of a tensor that can have one.
inline Maps stored(const TiledTensor& tensor) {
  Maps maps(1);
  const auto refused = encode(tensor, maps[0].map);
  EXPECT_FALSE(refused) << refused->why;
  return maps;
}

// Memory for so many elements of a tensor, aligned as maps want it.
template <class T>
struct Tensor {
  struct alignas(64) Line {
    T at[64 / sizeof(T)];
  };
  std::vector<Line> lines;
  explicit Tensor(size_t elements) : lines((elements * sizeof(T) + 63) / 64) {}
  Line* data() { return lines.data(); }
  size_t size() const { return lines.size(); }
  const Line& operator[](size_t i) const { return lines[i]; }
  T& at(size_t i) { return lines[i / (64 / sizeof(T))].at[i % (64 / sizeof(T))]; }
};

}  // namespace sim::testing
