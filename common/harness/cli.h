// The command line of a step's executable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/device/gemm.h"
#include "common/harness/accept.h"
#include "common/harness/baseline.h"
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
  std::string json;
  std::uint64_t seed = 1;
  double cooldown_seconds = 0;
  std::vector<int> swizzle_strides;  // each is measured; empty: the step's own
  float alpha = 1.0f, beta = 0.0f;
  LeadingDimensions leading;
};

/// Parses and checks. Throws BadInput with one line that says what to do. Prints --help and returns nothing.
std::optional<Options> parse_options(int argc, const char* const* argv);
