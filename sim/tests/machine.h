// Runs PTX written in a test, on arrays of the test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/machine/launch.h"
#include "core/ptx/parse.h"
#include "core/warp/decode.h"

namespace sim::testing {

// What a launch did and found.
struct Ran {
  Program program;
  Tallies tallies{0};
  std::vector<Report> reports, warnings;
  bool given_up = false;

  Tally total() const {
    Tally sum;
    for (const Tally& each : tallies.of) sum += each;
    return sum;
  }
  // How many reports are of this kind.
  int count(Finding kind) const {
    int found = 0;
    for (const Report& report : reports) found += report.kind == kind;
    return found;
  }
  std::string text() const;
};

// The same, with what it left in memory.
struct Result : Ran {
  std::vector<uint32_t> out;
};

// What a launch did, of which nothing is to be reported.
template <class Launched>
Launched clean(Launched ran) {
  EXPECT_TRUE(ran.reports.empty()) << ran.text();
  return ran;
}

// A kernel's surroundings, for a body that names its parameters p0, p1, … (all of 64 bits) and has these registers:
// %p %h (16) %r (32) %d (64) %f (f32) %g (f64), 32 of each. The body's lines are lines of "kernel.cu".
std::string kernel(const std::string& body, int parameters = 1, const std::string& declarations = "");

// A list of registers that a body declares: "{%q4, %q5}".
std::string q_list(uint32_t first, uint32_t count);

struct LaunchShape {
  Dim3 grid{1, 1, 1}, block{32, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint64_t max_instructions = 100000;
  double max_seconds = 600;
  uint64_t seed = 0;
  Dim3 cluster{};
  Trace* trace = nullptr;
  Events* events = nullptr;
};

// Where an array of a test lies.
struct ArrayPlace {
  uint64_t address;
  uint64_t bytes;
};

// Launches the module's only kernel; the arrays are its parameters and all the memory there is.
Ran run_on(const std::string& text, const LaunchShape& setup, const std::vector<ArrayPlace>& arrays);

template <class... Arrays>
Ran run(const std::string& text, const LaunchShape& setup, Arrays&... arrays) {
  return run_on(text, setup, {{reinterpret_cast<uint64_t>(arrays.data()), arrays.size() * sizeof(arrays[0])}...});
}

// The line with which PTX refuses `text`; empty if it does not.
std::string refusal(const std::string& text);

}  // namespace sim::testing
