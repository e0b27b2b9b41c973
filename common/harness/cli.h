// The command line of a step's executable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/baseline.h"
#include "common/harness/shape.h"
#include "common/harness/timing.h"
#include "common/harness/verify.h"

/// What the user asked for. Defaults are here and nowhere else.
struct Options {
  std::vector<Shape> shapes;          // as asked, without the scaling; empty: the default size
  std::vector<std::string> variants;  // empty: the default; "all": all but the "bottlenecks", which leave out work
  bool list = false, show_matrix = false, simulate = false, fingerprint = false;
  TimingPlan timing;
  bool min_time_given = false;
  BaselineChoice baseline = BaselineChoice::standard;
  VerifyMode verify = VerifyMode::standard;
  std::string json, check, trace;  // files; empty: none
  std::uint64_t seed = 1;
  double cooldown_seconds = 0;
  std::vector<int> swizzle_strides;  // each is measured; empty: the step's own
  float alpha = 1.0f, beta = 0.0f;
  LeadingDimensions leading;
};

/// The sweeps that --sweep knows: `square` is m = n = k from 1024 to 16384; sgemm27, hgemm125 and hgemm27 are the sizes
/// that published FP32 and FP16 kernels were swept over (LeetCUDA).
std::vector<std::string> sweep_names();
/// The sizes of one of them. Throws BadInput for another name.
std::vector<Shape> sweep_shapes(const std::string& name);

/// Parses and checks. Throws BadInput with one line that says what to do. Prints --help and returns nothing.
std::optional<Options> parse_options(int argc, const char* const* argv);
