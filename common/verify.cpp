#include "common/verify.h"

#include <cmath>
#include <numeric>

namespace {

// A prime below 32: rows 0, 29, 58, … cross every tile of 32 rows and fall on every position inside a tile.
constexpr int SAMPLE_STEP = 29;
constexpr double FULL_UP_TO = 4096.0 * 4096.0 * 4096.0;

bool checks_everything(const Shape& shape, VerifyMode mode) {
  if (mode == VerifyMode::full) return true;
  return mode == VerifyMode::standard && double(shape.m) * shape.n * shape.k <= FULL_UP_TO;
}

std::vector<int> every(int count, int step) {
  std::vector<int> indices;
  for (int i = 0; i < count; i += step) indices.push_back(i);
  if (indices.back() != count - 1) indices.push_back(count - 1);
  return indices;
}

// Exact inputs stay exact only when scaled by numbers with few bits; others are replaced by 2 and -1/2.
float exact_scale(float scale, float instead) {
  const float eighths = scale * 8.0f;
  return eighths == std::floor(eighths) && std::fabs(scale) <= 4.0f ? scale : instead;
}

}  // namespace

Verifier::Verifier(const Variant& variant, const Shape& shape, VerifyMode mode, std::uint64_t seed)
    : variant_(variant),
      shape_(shape),
      mode_(mode),
      seed_(seed),
      a_(variant.ab, shape.m, shape.k, shape.lda),
      b_(variant.ab, variant.b_transposed ? shape.n : shape.k, variant.b_transposed ? shape.k : shape.n, shape.ldb),
      c_(variant.out, shape.m, shape.n, shape.ldc),
      c_before_(variant.out, shape.m, shape.n, shape.ldc),
      scaled_(shape) {}

Problem Verifier::problem() const {
  return {shape_.m,    shape_.n,  shape_.k,   a_.data(),     shape_.lda,  b_.data(),
          shape_.ldb, c_.data(), shape_.ldc, scaled_.alpha, scaled_.beta};
}

void Verifier::fill(InputKind kind) {
  const auto recipe = [&](int matrix) { return recipe_for(kind, seed_ * 3 + matrix, variant_.acc, shape_.k); };
  a_.fill(recipe(0));
  b_.fill(recipe(1));
  c_before_.fill(recipe(2));
  scaled_ = shape_;
  if (kind == InputKind::exact) {
    scaled_.alpha = exact_scale(shape_.alpha, 2.0f);
    scaled_.beta = shape_.beta == 0.0f ? 0.0f : exact_scale(shape_.beta, -0.5f);
  }
}

std::vector<Reference> Verifier::references() const {
  const Operands operands{a_, b_, c_before_, variant_.b_transposed, scaled_.alpha, scaled_.beta, shape_.k};
  std::vector<Reference> made;
  if (checks_everything(shape_, mode_)) {
    made.emplace_back(operands, every(shape_.m, 1), every(shape_.n, 1));
  } else {
    made.emplace_back(operands, every(shape_.m, SAMPLE_STEP), every(shape_.n, 1));
    made.emplace_back(operands, every(shape_.m, 1), every(shape_.n, SAMPLE_STEP));
  }
  return made;
}

Comparison Verifier::check(InputKind kind, const LaunchOptions& options, cudaStream_t stream) {
  fill(kind);
  auto& references_of_kind = kind == InputKind::exact ? exact_ : normal_;
  if (references_of_kind.empty()) references_of_kind = references();
  if (shape_.beta == 0.0f) {
    c_.poison();
  } else {
    c_.copy_from(c_before_);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  variant_.launch(problem(), options, stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));

  Comparison found;
  const Tolerance tolerance = tolerance_for(kind, variant_.ab, variant_.acc, variant_.out);
  for (const Reference& reference : references_of_kind) found.merge(compare(reference, c_, tolerance));
  return found;
}

Comparison Verifier::run(const LaunchOptions& options, cudaStream_t stream) {
  if (mode_ == VerifyMode::off) {
    fill(InputKind::normal);
    c_.copy_from(c_before_);
    return {};
  }
  const Comparison exact = check(InputKind::exact, options, stream);
  if (!exact.passed) return exact;
  return check(InputKind::normal, options, stream);
}

std::size_t verification_bytes(const Variant& variant, const Shape& shape, VerifyMode mode) {
  const std::size_t m = shape.m, n = shape.n, lda = shape.lda, ldb = shape.ldb, ldc = shape.ldc;
  const std::size_t b_rows = variant.b_transposed ? n : shape.k;
  const std::size_t matrices = bytes_of(variant.ab) * (m * lda + b_rows * ldb) + bytes_of(variant.out) * 2 * m * ldc;
  if (mode == VerifyMode::off) return matrices;
  const std::size_t share = checks_everything(shape, mode) ? m * n : 2 * (m * n / SAMPLE_STEP + m + n);
  return matrices + 2 * share * 2 * sizeof(double);
}
