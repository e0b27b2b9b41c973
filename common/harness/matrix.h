// Matrices on the device (in the simulator, "the device" is host memory that the simulator owns): one, the three of a
// problem, and as many problems as it takes for the L2 cache to forget the first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/harness/inputs.h"
#include "common/harness/memory.h"
#include "common/harness/shape.h"

/// A row-major rows x cols matrix in device memory; `ld` elements lie between the starts of two rows.
class Matrix {
 public:
  Matrix(DType type, int rows, int cols, int ld);

  /// Draws every element; the padding between cols and ld becomes NaN, so that reading it shows.
  void fill(const Recipe& recipe);
  /// Sets every byte to 0xff: NaN in every type.
  void poison();
  void copy_from(const Matrix& other);
  /// The same matrix in float, each element times the factor of its row and column: `factors` is null, or has for every
  /// 128 columns a row of `factors_ld` factors, one for every `rows_per_factor` rows of the matrix.
  Matrix widened(const float* factors, int factors_ld, int rows_per_factor) const;
  /// All elements in row-major order without the padding, as doubles. For small matrices.
  std::vector<double> to_host() const;
  /// One element. Slow; for messages.
  double at(int row, int col) const;

  void* data() const { return buffer_.get(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  DType type() const { return type_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int ld() const { return ld_; }

 private:
  DType type_;
  int rows_, cols_, ld_;
  DeviceBuffer buffer_;
};

/// all: elements and padding. padding: only what lies between cols and ld.
enum class Part { all, padding };

/// A hash of the bits of that part: how the harness notices a kernel that writes where it must not. Equal for equal
/// bits; another value, but for one chance in 2^64, after any change.
std::uint64_t fingerprint(const Matrix& matrix, Part part);

/// What the sums of a variant's instructions are exact in: of FP8 no more than f22, also where they are promoted later.
inline DType sums_of(const Variant& variant) { return is_fp8(variant.ab) ? DType::f22 : variant.acc; }

/// A, B and C of one problem, in a variant's types and layout.
struct Matrices {
  Matrix a;
  Matrix b;  // k x n, or n x k for a TN variant
  Matrix c;
  DeviceBuffer a_factors, b_factors;  // of a variant with BlockScales; empty otherwise

  /// Allocates them; what they hold is undefined. `shape` is completed.
  Matrices(const Variant& variant, const Shape& shape);

  /// How matrix 0 (A), 1 (B) or 2 (C before the launch) is drawn.
  static Recipe recipe(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed, int matrix);
  /// Fills A and B.
  void draw(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed);

  /// The problem over these matrices, with the shape's scaling.
  Problem problem(const Shape& s) const {
    return {{s.m, s.n, s.k, a.data(), s.lda, b.data(), s.ldb, c.data(), s.ldc, s.alpha, s.beta},
            {a_factors.as<float>(), b_factors.as<float>()}};
  }
  std::size_t bytes() const { return a.bytes() + b.bytes() + c.bytes(); }
};

/// A verified problem and as many more like it as fill the L2 cache twice over, so that consecutive calls read data
/// that the cache has forgotten.
class RotatingInputs {
 public:
  /// At most this many: problems so small that it binds (under 100 KB with an L2 of 50 MB) are bound by their launch.
  static constexpr std::size_t MOST = 1024;

  /// `first` stays with its owner. Takes at most half of the memory that is free on the device.
  RotatingInputs(const Matrices& first, const Variant& variant, const Shape& shape, std::size_t l2_bytes,
                 std::uint64_t seed);

  const Problem& operator[](int call) const { return problems_[call % problems_.size()]; }
  int count() const { return static_cast<int>(problems_.size()); }

 private:
  std::vector<std::unique_ptr<Matrices>> sets_;
  std::vector<Problem> problems_;
};
