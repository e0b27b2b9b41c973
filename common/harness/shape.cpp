#include "common/harness/shape.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/device/check.h"
#include "common/harness/errors.h"

namespace {

using std::to_string;

constexpr long long INT_LIMIT = std::numeric_limits<int>::max();
constexpr long long SLICES_AHEAD = 8;  // more than any pipeline here has stages

// The leading dimension to use: the given one, or the least that is as wide as the matrix and a multiple.
int leading(const char* option, int given, int width, int multiple) {
  if (given != 0 && given < width)
    throw BadInput(std::string(option) + " " + to_string(given) + " is narrower than the matrix's " + to_string(width) +
                   " columns; use at least " + to_string(width));
  if (given != 0) return given;
  const long long padded = (width - 1LL + multiple) / multiple * multiple;
  return static_cast<int>(std::min(padded, INT_LIMIT / multiple * multiple));
}

void require_indexable(const char* matrix, int rows, int ld) {
  const long long elements = static_cast<long long>(rows) * ld;
  if (elements > INT_LIMIT)
    throw BadInput(std::string(matrix) + " would have " + to_string(elements) +
                   " elements; the kernels index with 32 bits, so at most " + to_string(INT_LIMIT) +
                   ": choose a smaller size");
}

// The multiple of `multiple` that lies nearest to `value` and is not below `least`.
int nearest(int value, int multiple, int least) {
  const long long below = value / multiple * static_cast<long long>(multiple);
  const long long above = below + multiple;
  const long long first = (least - 1LL + multiple) / multiple * multiple;  // the smallest that is allowed
  const bool down = value - below <= above - value || above > INT_LIMIT;
  return static_cast<int>(std::max(first, down ? below : above));
}

// Dimension `what` has to be a multiple of `multiple`; `least`: what the nearest one that works may not be below.
void require(const Variant& variant, const char* what, int value, int multiple, int least = 1) {
  if (value % multiple == 0) return;
  throw BadInput("variant " + std::string(variant.name) + " needs " + what + " to be a multiple of " +
                 to_string(multiple) + ", not " + to_string(value) + "; the nearest that works is " +
                 to_string(nearest(value, multiple, least)));
}

[[noreturn]] void refuse_beyond(const Variant& variant, const char* what, int value, long long most,
                                const std::string& why) {
  throw BadInput("variant " + std::string(variant.name) + " takes " + what + " up to " + to_string(most) + ", not " +
                 to_string(value) + ": " + why);
}

// m or n is covered by whole tiles of `block`: their end has to be within 32 bits, and the grid has to take as many.
void require_tiles(const Variant& variant, const char* what, int value, int block, const char* lines,
                   long long most_tiles) {
  const long long by_grid = most_tiles * block, countable = INT_LIMIT / block * block;
  if (value > by_grid && by_grid < countable)
    refuse_beyond(variant, what, value, by_grid,
                  std::string("its ") + lines + " of blocks lie along the grid's second axis, which has room for " +
                      to_string(most_tiles));
  if (value > countable)
    refuse_beyond(variant, what, value, countable, "whole tiles of " + to_string(block) + " are counted in 32 bits");
}

// k is walked in slices of `block`, several of which may be asked for ahead of the one in work.
void require_slices(const Variant& variant, int k, int block) {
  const long long most = (INT_LIMIT / block - SLICES_AHEAD) * block;
  if (block > 1 && k > most)
    refuse_beyond(variant, "k", k, most,
                  "slices of " + to_string(block) + ", and those ahead of the last, are counted in 32 bits");
}

}  // namespace

Shape completed(Shape shape, const LeadingDimensions& given, const Variant& variant) {
  shape.lda = leading("--lda", given.a, shape.k, variant.multiple_lda);
  shape.ldb = leading("--ldb", given.b, variant.b_transposed ? shape.k : shape.n, variant.multiple_ldb);
  shape.ldc = leading("--ldc", given.c, shape.n, variant.multiple_ldc);
  require_indexable("A", shape.m, shape.lda);
  require_indexable("B", variant.b_transposed ? shape.n : shape.k, shape.ldb);
  require_indexable("C", shape.m, shape.ldc);
  return shape;
}

void require_accepted(const Variant& variant, const Shape& shape) {
  require_tiles(variant, "m", shape.m, variant.block_m, "rows", variant.most_block_rows);
  require_tiles(variant, "n", shape.n, variant.block_n, "columns", variant.most_block_cols);
  require_slices(variant, shape.k, variant.block_k);
  if (shape.k > variant.most_k) refuse_beyond(variant, "k", shape.k, variant.most_k, "its sums could leave 32 bits");
  require(variant, "m", shape.m, variant.multiple_m);
  require(variant, "n", shape.n, variant.multiple_n);
  require(variant, "k", shape.k, variant.multiple_k);
  require(variant, "lda", shape.lda, variant.multiple_lda, shape.k);
  require(variant, "ldb", shape.ldb, variant.multiple_ldb, variant.b_transposed ? shape.k : shape.n);
  require(variant, "ldc", shape.ldc, variant.multiple_ldc, shape.n);
}

void require_memory(std::size_t needed) {
  std::size_t free_bytes = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
  if (needed > free_bytes)
    throw BadInput("this size needs " + to_string(needed >> 20) + " MiB of GPU memory, " + to_string(free_bytes >> 20) +
                   " MiB are free; choose a smaller size, or --verify sample");
}
