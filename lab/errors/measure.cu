#include <cmath>
#include <numeric>

#include "common/harness/dispatch.h"
#include "common/harness/for_each.h"
#include "common/harness/inputs.h"
#include "common/harness/reference.h"
#include "lab/errors/measure.h"

namespace {

// Uniform in 0 … 1, never 0: 24 bits.
__host__ __device__ double uniform_of(std::uint64_t bits) { return (static_cast<double>(bits >> 40) + 0.5) * 0x1p-24; }

// Element `at` of a matrix with `columns` columns; rows of A and columns of B are its lines.
struct Fill {
  float* data;
  Data kind;
  std::uint64_t seed;
  int columns;
  bool lines_are_rows;

  __host__ __device__ void operator()(std::size_t at) const {
    constexpr int POWERS = 41;
    const std::uint64_t bits = mix_bits(mix_bits(seed) ^ at);
    const float normal = element_of({InputKind::normal, seed + 17, 0, 0}, at);
    const int line = static_cast<int>(lines_are_rows ? at / columns : at % columns);
    switch (kind) {
      case Data::normal: data[at] = normal; break;
      case Data::uniform: data[at] = static_cast<float>(uniform_of(bits)); break;
      case Data::spread: data[at] = static_cast<float>((uniform_of(bits) - 0.5) * exp(1.0 * normal)); break;
      case Data::wide: data[at] = static_cast<float>((uniform_of(bits) - 0.5) * exp(4.0 * normal)); break;
      case Data::scaled: data[at] = ldexpf(normal, line % POWERS - POWERS / 2); break;
    }
  }
};

struct Sums {
  double squares, count, worst, difference, reference;

  __host__ __device__ void add(const Sums& other) {
    squares += other.squares;
    count += other.count;
    worst = fmax(worst, other.worst);
    difference += other.difference;
    reference += other.reference;
  }
};

template <typename Out>
struct Compare {
  const Out* c;
  int columns, ld;
  const double* value;
  const double* magnitude;

  __host__ __device__ void operator()(std::size_t at, Sums& sums) const {
    const double difference = fabs(to_double(c[at / columns * ld + at % columns]) - value[at]);
    const double error = difference / magnitude[at];
    // NaN must not be lost in a maximum.
    sums.add({error * error, 1, error == error ? error : INFINITY, difference * difference, value[at] * value[at]});
  }
};

// Element `at` of a matrix of other type, whose rows are columns of the first where it is turned.
template <typename To>
struct Round {
  const float* from;
  To* to;
  int columns, ld;
  bool turned;
  int from_columns;

  __host__ __device__ void operator()(std::size_t at) const {
    const std::size_t row = at / columns, column = at % columns;
    to[row * ld + column] =
        from_double<To>(turned ? from[column * from_columns + row] : from[row * from_columns + column]);
  }
};

void round_one(const Matrix& from, const Matrix& to, bool turned) {
  dispatch(to.type(), [&](auto tag) {
    using To = typename decltype(tag)::type;
    for_each(static_cast<std::size_t>(to.rows()) * to.cols(),
             Round<To>{static_cast<const float*>(from.data()), static_cast<To*>(to.data()), to.cols(), to.ld(), turned,
                       from.cols()});
  });
}

std::vector<int> all_of(int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace

const char* name_of(Data kind) {
  switch (kind) {
    case Data::normal: return "normal";
    case Data::uniform: return "uniform";
    case Data::spread: return "spread";
    case Data::wide: return "wide";
    case Data::scaled: return "scaled";
  }
  return "?";
}

void fill(const Matrices& matrices, Data kind, std::uint64_t seed) {
  for (const Matrix* matrix : {&matrices.a, &matrices.b}) {
    const bool is_a = matrix == &matrices.a;
    for_each(matrix->bytes() / sizeof(float),
             Fill{static_cast<float*>(matrix->data()), kind, seed * 2 + is_a, matrix->cols(), is_a});
  }
}

Reference exact(const Matrices& matrices, const Shape& shape, bool b_transposed) {
  return {{matrices.a, matrices.b, matrices.c, b_transposed, 1.0f, 0.0f, shape.k}, all_of(shape.m), all_of(shape.n)};
}

void round_to(const Matrices& matrices, const Matrices& rounded, bool b_transposed) {
  round_one(matrices.a, rounded.a, false);
  round_one(matrices.b, rounded.b, b_transposed);
}

Error error_of(const Matrix& c, const Reference& reference) {
  const Sums sums = dispatch_wide(c.type(), [&](auto tag) {
    using Out = typename decltype(tag)::type;
    return total_over<Sums>(reference.count(), Compare<Out>{static_cast<const Out*>(c.data()), c.cols(), c.ld(),
                                                            reference.value(), reference.magnitude()});
  });
  return {std::sqrt(sums.squares / sums.count), sums.worst, std::sqrt(sums.difference / sums.reference)};
}
