// The command line of a step's executable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/baseline.h"
#include "common/gemm.h"
#include "common/timing.h"
#include "common/verify.h"

/// What the user asked for. Defaults are here and nowhere else.
struct Options {
  std::vector<Shape> shapes;  // empty: the default size
  std::string variant;        // empty: the default variant; "all": every one
  bool list = false, show_matrix = false, simulate = false;
  TimingPlan timing;
  bool min_time_given = false;
  std::optional<BaselineKind> baseline;  // empty: cuBLAS on a GPU
  VerifyMode verify = VerifyMode::standard;
  std::string json;
  std::uint64_t seed = 1;
  double cooldown_seconds = 0;
  LaunchOptions launch;
  float alpha = 1.0f, beta = 0.0f;
  int lda = 0, ldb = 0, ldc = 0;  // 0: as narrow as the matrix
};

/// Parses and checks. Throws BadInput with one line that says what to do. Prints --help and returns nothing.
std::optional<Options> parse_options(int argc, const char* const* argv);

/// The sizes of a named sweep: square, sgemm27, hgemm125, hgemm27. Throws BadInput for another name.
std::vector<Shape> sweep_shapes(const std::string& name);

/// Gives the shape the options' scaling, and leading dimensions where they were not given. Throws BadInput where a
/// given one is narrower than its matrix, or where a matrix would have 2^31 elements or more.
Shape completed(Shape shape, const Options& options, const Variant& variant);

/// Throws BadInput, naming the constraint and the nearest size that works, where the variant refuses the shape.
void require_accepted(const Variant& variant, const Shape& shape);
