// Is a variant right? On exact and on random inputs, before timing and again after it.
#pragma once

#include <cstdint>
#include <string>

#include "common/compare.h"
#include "common/gemm.h"

/// Size, layout and scaling of one problem; what `Gemm` is without the matrices.
struct Shape {
  int m, n, k;
  int lda = 0, ldb = 0, ldc = 0;  // elements; 0 until `completed` fills them in
  float alpha = 1.0f, beta = 0.0f;
};

/// full: every element. sample: full rows and columns that cross every block tile of at least 32 x 32.
/// standard: full up to 4096^3, beyond that sample. off: nothing is checked, and nothing may be recorded.
enum class VerifyMode { standard, full, sample, off };

/// The matrices of one problem, and a variant's verification on them.
class Verifier {
 public:
  Verifier(const Variant& variant, const Shape& shape, VerifyMode mode, std::uint64_t seed);

  /// Fills A, B and C with exact inputs, launches, compares; then the same with random inputs, which stay in place.
  /// Stops at the first kind that fails.
  Comparison run(const LaunchOptions& options, cudaStream_t stream);

  /// One kind alone: fills the inputs, poisons C (or restores it, where beta != 0), launches, compares.
  Comparison check(InputKind kind, const LaunchOptions& options, cudaStream_t stream);

  /// The problem, over this verifier's matrices.
  Problem problem() const;
  const Matrix& a() const { return a_; }
  const Matrix& b() const { return b_; }
  const Matrix& c() const { return c_; }
  /// Bytes of A, B and C together.
  std::size_t bytes() const { return a_.bytes() + b_.bytes() + c_.bytes(); }

 private:
  void fill(InputKind kind);
  std::vector<Reference> references() const;

  const Variant& variant_;
  Shape shape_;
  VerifyMode mode_;
  std::uint64_t seed_;
  Matrix a_, b_, c_, c_before_;
  Shape scaled_;                           // with the alpha and beta of the kind of input in place
  std::vector<Reference> exact_, normal_;  // made on first use, used again after timing
};

/// Device memory that a verification of this shape needs, in bytes.
std::size_t verification_bytes(const Variant& variant, const Shape& shape, VerifyMode mode);
