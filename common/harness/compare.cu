#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/harness/compare.h"
#include "common/harness/dispatch.h"
#include "common/harness/simulated.h"

namespace {

// One element's verdict.
struct Verdict {
  bool right;
  double difference, bound;
};

template <typename Out>
__host__ __device__ Verdict judge(Out got, double want, double magnitude, const Tolerance& tolerance) {
  const double rounded = tolerance.exact ? to_double(from_double<Out>(want)) : want;
  const double difference = fabs(to_double(got) - rounded);
  const double bound = tolerance.exact ? 0.0 : tolerance.per_magnitude * magnitude + tolerance.per_value * fabs(want);
  return {difference <= bound, difference, bound};  // NaN compares false, also inf - inf
}

// What the threads agree on. The sums' order varies from run to run: the last digits of `error` do too.
struct Totals {
  unsigned long long wrong, first;
  unsigned long long worst;  // bits of a non-negative double, which order like the double
  double difference2, reference2;
};

template <typename Out>
__global__ void compare_kernel(const Out* c, std::size_t ld, const int* rows, const int* cols, std::size_t count,
                               int col_count, const double* value, const double* magnitude, Tolerance tolerance,
                               Totals* totals) {
  double difference2 = 0, reference2 = 0, worst = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count; at += step) {
    const Out got = c[rows[at / col_count] * ld + cols[at % col_count]];
    const Verdict verdict = judge(got, value[at], magnitude[at], tolerance);
    if (!verdict.right) {
      atomicAdd(&totals->wrong, 1ull);
      atomicMin(&totals->first, static_cast<unsigned long long>(at));
    } else {
      difference2 += verdict.difference * verdict.difference;
      if (verdict.bound > 0) worst = fmax(worst, verdict.difference / verdict.bound);
    }
    reference2 += value[at] * value[at];
  }
  atomicAdd(&totals->difference2, difference2);
  atomicAdd(&totals->reference2, reference2);
  atomicMax(&totals->worst, static_cast<unsigned long long>(__double_as_longlong(worst)));
}

template <typename Out>
Totals on_device(const Reference& reference, const Matrix& c, const Tolerance& tolerance) {
  Totals totals{0, ~0ull, 0, 0, 0};
  DeviceBuffer device(sizeof totals);
  device.upload(&totals);
  compare_kernel<<<1024, 256>>>(static_cast<const Out*>(c.data()), c.ld(), reference.device_rows(),
                                reference.device_cols(), reference.count(), static_cast<int>(reference.cols().size()),
                                reference.value(), reference.magnitude(), tolerance, device.as<Totals>());
  CUDA_CHECK(cudaGetLastError());
  device.download(&totals);
  return totals;
}

template <typename Out>
Totals on_host(const Reference& reference, const Matrix& c, const Tolerance& tolerance) {
  Totals totals{0, ~0ull, 0, 0, 0};
  double worst = 0;
  const auto* data = static_cast<const Out*>(c.data());
  const std::size_t col_count = reference.cols().size();
  for (std::size_t at = 0; at < reference.count(); ++at) {
    const std::size_t row = reference.rows()[at / col_count], col = reference.cols()[at % col_count];
    const double want = reference.value()[at];
    const Verdict verdict = judge(data[row * c.ld() + col], want, reference.magnitude()[at], tolerance);
    if (!verdict.right) {
      ++totals.wrong;
      totals.first = std::min<unsigned long long>(totals.first, at);
    } else {
      totals.difference2 += verdict.difference * verdict.difference;
      if (verdict.bound > 0) worst = std::max(worst, verdict.difference / verdict.bound);
    }
    totals.reference2 += want * want;
  }
  std::copy_n(reinterpret_cast<const char*>(&worst), sizeof worst, reinterpret_cast<char*>(&totals.worst));
  return totals;
}

double from_device(const double* address) {
  double value;
  CUDA_CHECK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

}  // namespace

Tolerance tolerance_for(InputKind kind, DType ab, DType acc, DType out) {
  return {kind == InputKind::exact, 2 * roundoff_of(ab) + 8 * roundoff_of(acc), roundoff_of(out)};
}

Comparison compare(const Reference& reference, const Matrix& c, const Tolerance& tolerance) {
  const Totals totals = dispatch(c.type(), [&](auto tag) {
    using Out = typename decltype(tag)::type;
    return simulated::active() ? on_host<Out>(reference, c, tolerance) : on_device<Out>(reference, c, tolerance);
  });
  Comparison found;
  found.passed = totals.wrong == 0;
  found.wrong = totals.wrong;
  std::copy_n(reinterpret_cast<const char*>(&totals.worst), sizeof(double),
              reinterpret_cast<char*>(&found.worst_of_bound));
  found.error = totals.reference2 > 0 ? std::sqrt(totals.difference2 / totals.reference2) : 0.0;
  if (found.passed) return found;

  const std::size_t col_count = reference.cols().size();
  found.row = reference.rows()[totals.first / col_count];
  found.col = reference.cols()[totals.first % col_count];
  found.got = c.at(found.row, found.col);
  found.want = from_device(reference.value() + totals.first);
  const double magnitude = from_device(reference.magnitude() + totals.first);
  found.bound =
      tolerance.exact ? 0.0 : tolerance.per_magnitude * magnitude + tolerance.per_value * std::fabs(found.want);
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
