#include <cmath>
#include <limits>
#include <sstream>

#include "common/harness/dispatch.h"
#include "common/harness/for_each.h"
#include "common/harness/reference.h"

namespace {

// One element's verdict.
struct Verdict {
  bool right;
  double difference, bound;
};

template <typename Out>
__host__ __device__ Verdict judge(Out out, double want, double magnitude, const Tolerance& tolerance) {
  const double got = to_double(out), bound = tolerance.bound(want, magnitude);
  const double rounded = tolerance.exact ? to_double(from_double<Out>(want)) : want;
  const double difference = fabs(got - rounded);
  if (isfinite(got)) return {difference <= bound, difference, bound};
  const bool beyond = isinf(got) && (got > 0) == (want > 0) &&
                      (tolerance.exact ? got == rounded : fabs(want) + bound >= tolerance.largest);
  return {beyond || magnitude > tolerance.overflow, 0, bound};
}

// What the elements add up to.
struct Totals {
  unsigned long long wrong;
  unsigned long long
      first;  // complement of the first wrong one's index, so that 0 is none and the first is the largest
  double worst, difference2, reference2;

  __host__ __device__ void add(const Totals& other) {
    wrong += other.wrong;
    first = first > other.first ? first : other.first;
    worst = fmax(worst, other.worst);
    difference2 += other.difference2;
    reference2 += other.reference2;
  }
};

template <typename Out>
struct Judge {
  const Out* c;
  std::size_t ld, col_count;
  const int* rows;
  const int* cols;
  const double* value;
  const double* magnitude;
  Tolerance tolerance;

  __host__ __device__ void operator()(std::size_t at, Totals& totals) const {
    const Out got = c[rows[at / col_count] * ld + cols[at % col_count]];
    const Verdict verdict = judge(got, value[at], magnitude[at], tolerance);
    totals.add({!verdict.right, verdict.right ? 0 : ~static_cast<unsigned long long>(at),
                verdict.right && verdict.bound > 0 ? verdict.difference / verdict.bound : 0,
                verdict.right ? verdict.difference * verdict.difference : 0, value[at] * value[at]});
  }
};

double from_device(const double* address) {
  double value;
  CUDA_CHECK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

}  // namespace

__host__ __device__ double Tolerance::bound(double want, double magnitude) const {
  return exact ? 0.0 : per_magnitude * magnitude + fmax(per_value * fabs(want), least) + of_sum;
}

Tolerance tolerance_for(InputKind kind, const Variant& variant, float alpha, float beta, int k) {
  const DType sums = sums_of(variant);
  // Elements of 8 bits, and digits, are multiplied as they are; sums of integers are not rounded.
  const double rounded_in = bytes_of(variant.ab) == 1 ? 0 : (variant.cuts ? 4 : 2) * roundoff_of(variant.ab);
  const double per_sum = variant.digits > 0 ? std::ldexp(std::sqrt(k), 8 - 8 * variant.digits)
                         : is_integer(sums) ? 0
                                            : least_rounding_of(sums);
  return {kind == InputKind::exact,
          variant.digits == 0 ? rounded_in + 8 * roundoff_of(sums) : 0,
          roundoff_of(variant.out),
          least_rounding_of(variant.out),
          std::fabs(alpha) * per_sum,
          largest_of(variant.out),
          beta == 0.0f ? std::numeric_limits<double>::infinity() : largest_of(DType::f32)};
}

Comparison compare(const Reference& reference, const Matrix& c, const Tolerance& tolerance) {
  const std::size_t col_count = reference.cols().size();
  const Totals totals = dispatch(c.type(), [&](auto tag) {
    using Out = typename decltype(tag)::type;
    return total_over<Totals>(reference.count(),
                              Judge<Out>{static_cast<const Out*>(c.data()), static_cast<std::size_t>(c.ld()), col_count,
                                         reference.device_rows(), reference.device_cols(), reference.value(),
                                         reference.magnitude(), tolerance});
  });
  Comparison found;
  found.passed = totals.wrong == 0;
  found.wrong = totals.wrong;
  found.worst_of_bound = totals.worst;
  found.error = totals.reference2 > 0 ? std::sqrt(totals.difference2 / totals.reference2) : 0.0;
  if (found.passed) return found;

  const std::size_t first = ~totals.first;
  found.row = reference.rows()[first / col_count];
  found.col = reference.cols()[first % col_count];
  found.got = c.at(found.row, found.col);
  found.want = from_device(reference.value() + first);
  found.bound = tolerance.bound(found.want, from_device(reference.magnitude() + first));
  return found;
}

void Comparison::merge(const Comparison& other) {
  if (wrong == 0 && other.wrong > 0)
    row = other.row, col = other.col, got = other.got, want = other.want, bound = other.bound;
  if (damage.empty()) damage = other.damage;
  passed = passed && other.passed;
  wrong += other.wrong;
  worst_of_bound = std::max(worst_of_bound, other.worst_of_bound);
  error = std::max(error, other.error);
}

std::string Comparison::message() const {
  if (!damage.empty()) return damage;
  std::ostringstream out;
  out.precision(9);
  out << wrong << " wrong element" << (wrong == 1 ? "" : "s") << ", the first at row " << row << ", column " << col
      << ": got " << got << ", want " << want;
  if (bound > 0) out << " within " << bound;
  return out.str();
}
