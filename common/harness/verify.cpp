#include "common/harness/verify.h"

namespace {

// A prime below 32: rows 0, 29, 58, … cross every tile of 32 rows and fall on every position inside a tile.
constexpr int SAMPLE_STEP = 29;
constexpr double FULL_UP_TO = 4096.0 * 4096.0 * 4096.0;

bool checks_everything(const Shape& shape, VerifyMode mode) {
  if (mode == VerifyMode::full) return true;
  return mode == VerifyMode::standard && static_cast<double>(shape.m) * shape.n * shape.k <= FULL_UP_TO;
}

// 0, step, 2 * step, …, and the last one.
std::vector<int> every(int count, int step) {
  std::vector<int> indices;
  for (int i = 0; i < count; i += step) indices.push_back(i);
  if (indices.back() != count - 1) indices.push_back(count - 1);
  return indices;
}

}  // namespace

Verifier::Verifier(const Variant& variant, const Shape& shape, VerifyMode mode, std::uint64_t seed,
                   ReferenceStore* shared)
    : variant_(variant),
      shape_(shape),
      mode_(mode),
      seed_(seed),
      matrices_(variant, shape),
      c_before_(variant.out, shape.m, shape.n, shape.ldc),
      workspace_(variant.workspace_bytes(shape.m, shape.n, shape.k)),
      scaled_(shape),
      all_(shared == nullptr ? own_ : *shared) {}

void Verifier::fill(InputKind kind) {
  matrices_.draw(variant_, shape_, kind, seed_);
  c_before_.fill(Matrices::recipe(variant_, shape_, kind, seed_, 2));
  scaled_ = shape_;
  if (kind == InputKind::exact) {
    scaled_.alpha = exact_scale(shape_.alpha, 2.0f);
    scaled_.beta = exact_scale(shape_.beta, -0.5f);
  }
  if (shape_.beta == 0.0f && mode_ != VerifyMode::off) {
    matrices_.c.poison();
  } else {
    matrices_.c.copy_from(c_before_);
  }
  a_print_ = fingerprint(matrices_.a, Part::all);
  b_print_ = fingerprint(matrices_.b, Part::all);
  c_padding_print_ = fingerprint(matrices_.c, Part::padding);
  CUDA_CHECK(cudaDeviceSynchronize());
}

Comparison Verifier::untouched() const {
  Comparison found;
  const auto require = [&](const Matrix& matrix, Part part, std::uint64_t print, const char* what) {
    if (fingerprint(matrix, part) != print) found.passed = false, found.damage = what;
  };
  require(matrices_.a, Part::all, a_print_, "the kernel wrote to A, which it may only read");
  require(matrices_.b, Part::all, b_print_, "the kernel wrote to B, which it may only read");
  require(matrices_.c, Part::padding, c_padding_print_, "the kernel wrote between C's last column and ldc");
  return found;
}

std::vector<Reference> Verifier::computed_references() const {
  const Operands operands{matrices_.a,   matrices_.b,  c_before_, variant_.b_transposed,
                          scaled_.alpha, scaled_.beta, shape_.k,  matrices_.problem(scaled_).scales};
  std::vector<Reference> made;
  if (checks_everything(shape_, mode_)) {
    made.emplace_back(operands, every(shape_.m, 1), every(shape_.n, 1));
  } else {
    made.emplace_back(operands, every(shape_.m, SAMPLE_STEP), every(shape_.n, 1));
    made.emplace_back(operands, every(shape_.m, 1), every(shape_.n, SAMPLE_STEP));
  }
  return made;
}

const std::vector<Reference>& Verifier::references(InputKind kind) {
  const ReferenceStore::key_type key{mode_,           kind,
                                     seed_,           variant_.ab,
                                     variant_.b,      variant_.acc,
                                     variant_.out,    variant_.b_transposed,
                                     variant_.scaled, shape_.m,
                                     shape_.n,        shape_.k,
                                     variant_.digits, variant_.powers_along_k,
                                     scaled_.alpha,   scaled_.beta};
  const auto found = all_.find(key);
  return found != all_.end() ? found->second : all_.emplace(key, computed_references()).first->second;
}

Comparison Verifier::compared(InputKind kind) {
  Comparison found = untouched();
  const Tolerance tolerance = tolerance_for(kind, variant_, scaled_.alpha, scaled_.beta, shape_.k);
  for (const Reference& reference : references(kind)) found.merge(compare(reference, matrices_.c, tolerance));
  return found;
}

Comparison Verifier::check(InputKind kind, const LaunchOptions& options, cudaStream_t stream) {
  fill(kind);
  if (mode_ != VerifyMode::off) references(kind);
  CUDA_CHECK(cudaDeviceSynchronize());
  variant_.launch(matrices_.problem(scaled_), complete(options), stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  return mode_ == VerifyMode::off ? Comparison() : compared(kind);
}

Comparison Verifier::run(const LaunchOptions& options, cudaStream_t stream) {
  if (mode_ == VerifyMode::off) {
    fill(InputKind::normal);
    return {};
  }
  if (std::exchange(ran_, true)) {
    const Comparison before = untouched();
    if (!before.passed) return before;
  }
  const Comparison exact = check(InputKind::exact, options, stream);
  if (!exact.passed) return exact;
  return check(InputKind::normal, options, stream);
}

std::size_t verification_bytes(const Variant& variant, const Shape& shape, VerifyMode mode) {
  const std::size_t m = shape.m, n = shape.n, lda = shape.lda, ldb = shape.ldb, ldc = shape.ldc;
  const std::size_t b_rows = variant.b_transposed ? n : shape.k;
  const std::size_t matrices = bytes_of(variant.ab) * (m * lda + b_rows * ldb) + bytes_of(variant.out) * 2 * m * ldc +
                               variant.workspace_bytes(shape.m, shape.n, shape.k);
  // The reference reads elements of 8 bits as floats.
  const std::size_t widened = bytes_of(variant.ab) == 1 ? sizeof(float) * (m + n) * shape.k : 0;
  if (mode == VerifyMode::off) return matrices;
  const std::size_t selected = checks_everything(shape, mode) ? m * n : 2 * (m * n / SAMPLE_STEP + m + n);
  return matrices + widened + 2 * selected * 2 * sizeof(double);  // two kinds of input; value and magnitude
}
