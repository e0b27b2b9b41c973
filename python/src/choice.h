// Which variant multiplies: the one that was asked for, or the first that takes the product.
#pragma once

#include <optional>
#include <string>

#include "common/harness/shape.h"
#include "python/src/product.h"

/// A product before a variant is chosen. The arrays' types are equal; their sizes go together.
struct Candidate {
  DType type;
  Shape shape;                                  // without leading dimensions
  std::optional<int> lda, ldb_nn, ldb_tn, ldc;  // 0: any; empty: not laid out so
  std::uintptr_t a, b, c;                       // addresses
  int capability;                               // of the GPU, also the simulated one: 90 for 9.0
  int shared_bytes;                             // that a block may have there
};

struct Choice {
  const Step* step;
  const Variant* variant;
  Shape shape;  // with leading dimensions
};

/// Throws what `decided` does.
Choice chosen(const Steps& steps, const Asked& asked, const Candidate& candidate);
