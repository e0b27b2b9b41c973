// Which shapes a variant takes, and what to say of the others.

#include <limits>
#include <string>

#include "common/check.h"
#include "common/cli.h"

namespace {

using std::to_string;

// The leading dimension to use: the given one, or the matrix's width.
int leading(const char* option, int given, int width) {
  if (given != 0 && given < width)
    throw BadInput(std::string(option) + " " + to_string(given) + " is narrower than the matrix's " + to_string(width) +
                   " columns; use at least " + to_string(width));
  return given == 0 ? width : given;
}

void require_indexable(const char* matrix, int rows, int ld) {
  if (static_cast<long long>(rows) * ld > std::numeric_limits<int>::max())
    throw BadInput(std::string(matrix) + " would have " + to_string(static_cast<long long>(rows) * ld) +
                   " elements; the kernels index with 32 bits, so at most " +
                   to_string(std::numeric_limits<int>::max()) + ": choose a smaller size");
}

// The multiple of `multiple` that lies nearest to `value`, and is not 0.
int nearest(long long value, int multiple) {
  const long long below = value / multiple * multiple;
  const long long above = below + multiple;
  return static_cast<int>(below > 0 && value - below <= above - value ? below : above);
}

void require_multiple(const Variant& variant, const char* what, int value, int multiple) {
  if (value % multiple != 0)
    throw BadInput("variant " + variant.name + " needs " + what + " to be a multiple of " + to_string(multiple) + ", not " +
                   to_string(value) + "; the nearest that works is " + to_string(nearest(value, multiple)));
}

}  // namespace

Shape completed(Shape shape, const Options& options, const Variant& variant) {
  shape.alpha = options.alpha;
  shape.beta = options.beta;
  shape.lda = leading("--lda", options.lda, shape.k);
  shape.ldb = leading("--ldb", options.ldb, variant.b_transposed ? shape.k : shape.n);
  shape.ldc = leading("--ldc", options.ldc, shape.n);
  require_indexable("A", shape.m, shape.lda);
  require_indexable("B", variant.b_transposed ? shape.n : shape.k, shape.ldb);
  require_indexable("C", shape.m, shape.ldc);
  return shape;
}

void require_accepted(const Variant& variant, const Shape& shape) {
  require_multiple(variant, "m", shape.m, variant.multiple_m);
  require_multiple(variant, "n", shape.n, variant.multiple_n);
  require_multiple(variant, "k", shape.k, variant.multiple_k);
  if (shape.k < variant.min_k)
    throw BadInput("variant " + variant.name + " needs k to be at least " + to_string(variant.min_k) + ", not " +
                   to_string(shape.k));
  require_multiple(variant, "lda", shape.lda, variant.multiple_lda);
  require_multiple(variant, "ldb", shape.ldb, variant.multiple_ldb);
  require_multiple(variant, "ldc", shape.ldc, variant.multiple_ldc);
}
