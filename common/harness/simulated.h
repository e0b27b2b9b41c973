/// The bridge between the harness and the simulator of the CUDA runtime (sim/): is it loaded, how to start in it, what
/// it counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/in_simulator.h"

namespace simulated {

/// What is wrong, a printable line for each mistake, causes first.
struct Mistakes {
  std::vector<std::string> reports;   ///< races, …; empty when clean
  std::vector<std::string> warnings;  ///< what is doubtful, or does no harm in the simulator
};

/// What the simulator saw between begin() and end().
struct Outcome : Mistakes {
  double seconds = 0;                ///< that the host took to simulate the launches
  nlohmann::json counts;             ///< summed over every kernel launched, with the keys of the simulator's records
  nlohmann::json lines;              ///< [{"file","line","counts"}], by file and line, summed over the kernels
  std::uint64_t blocks = 0;          ///< of one launch, summed over the kernels
  std::uint64_t threads = 0;         ///< per block, of the kernel that has most
  std::vector<std::string> kernels;  ///< symbols of those launched
};

/// The simulator's library beside this executable's build directory (`<exe dir>/../sim/`), if it was built.
std::optional<std::filesystem::path> library();

/// Runs this executable again, with the same arguments, on the simulator. Exits with code 2 where that is impossible.
[[noreturn]] void restart_in_simulator(char** argv);

/// Forgets what was counted and reported so far: call it after the inputs are on the device, before the launch to be
/// counted. Does nothing where the runtime is the real one.
void begin();

/// The counts and reports since begin().
Outcome end();

/// The mistakes since begin() alone, where nobody reads the counts.
Mistakes mistakes();

/// From now on the first launch of each kernel is traced. Does nothing where the runtime is the real one.
void begin_trace();

/// What was traced, as JSON (docs/simulator-reference.md). Throws where the simulator has no traces.
std::string trace();

/// Prints the counts as a table, then beside the source lines of the kernel that cause them.
void print(std::ostream& out, const Outcome& outcome);

}  // namespace simulated
