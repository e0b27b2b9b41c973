#include "common/accept.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/check.h"

namespace {

using std::to_string;

constexpr long long INT_LIMIT = std::numeric_limits<int>::max();

// The leading dimension to use: the given one, or the matrix's width.
int leading(const char* option, int given, int width) {
  if (given != 0 && given < width)
    throw BadInput(std::string(option) + " " + to_string(given) + " is narrower than the matrix's " + to_string(width) +
                   " columns; use at least " + to_string(width));
  return given == 0 ? width : given;
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
  const long long first = (least + multiple - 1LL) / multiple * multiple;  // the smallest that is allowed
  const bool down = value - below <= above - value || above > INT_LIMIT;
  return static_cast<int>(std::max(first, down ? below : above));
}

// Dimension `what` has to be a multiple of `multiple`, and at least `least`.
void require(const Variant& variant, const char* what, int value, int multiple, int least = 1) {
  const bool even = value % multiple == 0;
  if (even && value >= least) return;
  const std::string constraint = even ? "at least " + to_string(least) : "a multiple of " + to_string(multiple);
  throw BadInput("variant " + variant.name + " needs " + what + " to be " + constraint + ", not " + to_string(value) +
                 "; the nearest that works is " + to_string(nearest(value, multiple, least)));
}

}  // namespace

Shape completed(Shape shape, const LeadingDimensions& given, const Variant& variant) {
  shape.lda = leading("--lda", given.a, shape.k);
  shape.ldb = leading("--ldb", given.b, variant.b_transposed ? shape.k : shape.n);
  shape.ldc = leading("--ldc", given.c, shape.n);
  require_indexable("A", shape.m, shape.lda);
  require_indexable("B", variant.b_transposed ? shape.n : shape.k, shape.ldb);
  require_indexable("C", shape.m, shape.ldc);
  return shape;
}

void require_accepted(const Variant& variant, const Shape& shape) {
  require(variant, "m", shape.m, variant.multiple_m);
  require(variant, "n", shape.n, variant.multiple_n);
  require(variant, "k", shape.k, variant.multiple_k, variant.min_k);
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
