// Runs PTX written in a test, on arrays of the test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "front/parse.h"
#include "machine/decode.h"
#include "machine/launch.h"

namespace sim::testing {

// What a launch did and found.
struct Ran {
  Program program;
  Tallies tallies{0};
  std::vector<Report> reports;
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
  std::string text() const {
    std::string all;
    for (const Report& report : reports) all += std::string(name(report.kind)) + ": " + report.message + "\n";
    return all;
  }
};

// A kernel's surroundings, for a body that names its parameters p0, p1, … (all of 64 bits) and has these registers:
// %p %h (16) %r (32) %d (64) %f (f32) %g (f64), 32 of each. The body's lines are lines of "kernel.cu".
inline std::string kernel(const std::string& body, int parameters = 1, const std::string& declarations = "") {
  std::string text = ".version 9.0\n.target sm_80\n.address_size 64\n" + declarations + "\n.visible .entry k(";
  for (int i = 0; i < parameters; ++i) text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  text +=
      ")\n{\n.reg .pred %p<32>;\n.reg .b16 %h<32>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n.reg .f32 %f<32>;\n.reg .f64 "
      "%g<32>;\n";
  int line = 0;
  for (size_t from = 0; from < body.size();) {
    size_t to = body.find('\n', from);
    if (to == std::string::npos) to = body.size();
    text += ".loc 1 " + std::to_string(++line) + " 1\n" + body.substr(from, to - from) + "\n";
    from = to + 1;
  }
  return text + "ret;\n}\n.file 1 \"kernel.cu\"\n";
}

// A list of registers that a body declares: "{%q4, %q5}".
inline std::string q_list(uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i ? ", %q" : "%q") + std::to_string(first + i);
  return text + "}";
}

struct LaunchShape {
  Dim3 grid{1, 1, 1}, block{32, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint64_t max_instructions = 100000;
  double max_seconds = 600;
  uint64_t seed = 0;
  Dim3 cluster{};
  Trace* trace = nullptr;
};

// Launches the module's only kernel; the arrays are its parameters and all the memory there is.
template <class... Arrays>
Ran run(const std::string& text, const LaunchShape& setup, Arrays&... arrays) {
  Ran ran;
  const ptx::Module module = ptx::parse(text);
  ran.program = decode(module, module.kernels.at(0), [](const std::string&) -> uint64_t { return 0; });
  Allocations allocations;
  Reports reports;
  std::vector<std::byte> parameters(ran.program.parameter_bytes);
  size_t at = 0;
  const auto add = [&](auto& array) {
    const auto address = reinterpret_cast<uint64_t>(array.data());
    allocations.add(address, array.size() * sizeof(array[0]), "cudaMalloc");
    if (at + 8 <= parameters.size()) std::memcpy(parameters.data() + at, &address, 8);
    at += 8;
  };
  (add(arrays), ...);
  Launch launch{.program = ran.program,
                .grid = setup.grid,
                .block = setup.block,
                .dynamic_shared_bytes = setup.dynamic_shared_bytes,
                .parameters = parameters,
                .allocations = allocations,
                .reports = reports,
                .options = {.watch = true,
                            .max_instructions = setup.max_instructions,
                            .max_seconds = setup.max_seconds,
                            .threads = 1,
                            .seed = setup.seed},
                .cluster = setup.cluster,
                .trace = setup.trace};
  ran.tallies = sim::run(launch);
  ran.reports = reports.all();
  ran.given_up = launch.given_up;
  return ran;
}

// The line with which PTX refuses `text`; empty if it does not.
inline std::string refusal(const std::string& text) {
  try {
    const ptx::Module module = ptx::parse(text);
    for (const ptx::Function& each : module.kernels)
      decode(module, each, [](const std::string&) -> uint64_t { return 0; });
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

}  // namespace sim::testing
