#include <cmath>
#include <numeric>

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
  double squares, count, worst;

  __host__ __device__ void add(const Sums& other) {
    squares += other.squares;
    count += other.count;
    worst = fmax(worst, other.worst);
  }
};

struct Compare {
  const float* c;
  const double* value;
  const double* magnitude;

  __host__ __device__ void operator()(std::size_t at, Sums& sums) const {
    const double error = fabs(c[at] - value[at]) / magnitude[at];
    // NaN must not be lost in a maximum.
    sums.add({error * error, 1, error == error ? error : INFINITY});
  }
};

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

Reference exact(const Matrices& matrices, const Shape& shape) {
  return {{matrices.a, matrices.b, matrices.c, false, 1.0f, 0.0f, shape.k}, all_of(shape.m), all_of(shape.n)};
}

Error error_of(const Matrices& matrices, const Reference& reference) {
  const Sums sums = total_over<Sums>(reference.count(), Compare{static_cast<const float*>(matrices.c.data()),
                                                                reference.value(), reference.magnitude()});
  return {std::sqrt(sums.squares / sums.count), sums.worst};
}
