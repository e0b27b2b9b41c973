/// Boxes of tensors on their way: which bytes of shared memory a transfer has, and how it moves them.
#pragma once

#include "core/asynchronous/bulk.h"
#include "core/asynchronous/tensor_box.h"

namespace sim {

/// Fills the box in shared memory whose first byte is at `to`; what lies outside of the tensor with its fill.
AsyncTransfer load_of_box(const TensorBox& box, const Spot& to);

/// Writes what the box at `from` has of the tensor, combined with what is there if there is a reduction.
AsyncTransfer store_of_box(const TensorBox& box, const Spot& from, Reduction reduction);

}  // namespace sim
