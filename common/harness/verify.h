// Is a variant right? On exact and on random inputs, before timing and again after it.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "common/harness/reference.h"

/// full: every element. sample: full rows and columns that cross every block tile of at least 32 x 32.
/// standard: full up to 4096^3, beyond that sample. off: nothing is checked, and nothing may be recorded.
enum class VerifyMode { standard, full, sample, off };

/// References by what they are of: which elements, inputs, types, layout, size, digits and scaling. Variants on the
/// same problem share them.
using ReferenceStore = std::map<std::tuple<VerifyMode, InputKind, std::uint64_t, DType, DType, DType, DType, bool, bool,
                                           int, int, int, int, bool, float, float>,
                                std::vector<Reference>>;

/// The matrices of one problem, and a variant's verification on them.
class Verifier {
 public:
  /// Allocates the matrices. `variant` and `shared` have to outlive the verifier.
  Verifier(const Variant& variant, const Shape& shape, VerifyMode mode, std::uint64_t seed,
           ReferenceStore* shared = nullptr);

  /// First that what earlier launches had to leave alone is as it was; then C on exact inputs, then C on random ones,
  /// which stay in place. Stops at the first that fails. With `off` it only fills in the random inputs.
  Comparison run(const LaunchOptions& options, cudaStream_t stream);

  /// One kind alone: fills the inputs, poisons C (or restores it, where beta != 0), launches, compares. With `off` it
  /// launches and compares nothing.
  Comparison check(InputKind kind, const LaunchOptions& options, cudaStream_t stream);

  const Matrices& matrices() const { return matrices_; }

  /// The options, with the workspace that the variant asks for.
  LaunchOptions complete(LaunchOptions options) const {
    options.workspace = workspace_.get();
    return options;
  }

 private:
  void fill(InputKind kind);
  Comparison untouched() const;
  Comparison compared(InputKind kind);
  const std::vector<Reference>& references(InputKind kind);
  std::vector<Reference> computed_references() const;

  const Variant& variant_;
  Shape shape_;
  VerifyMode mode_;
  std::uint64_t seed_;
  Matrices matrices_;
  Matrix c_before_;
  DeviceBuffer workspace_;
  Shape scaled_;         // with the alpha and beta of the kind of input in place
  ReferenceStore own_;   // made on first use, used again after timing
  ReferenceStore& all_;  // own_, or those that are shared
  bool ran_ = false;
  std::uint64_t a_print_ = 0, b_print_ = 0, c_padding_print_ = 0;
};

/// Device memory that a verification of this shape needs, in bytes.
std::size_t verification_bytes(const Variant& variant, const Shape& shape, VerifyMode mode);
