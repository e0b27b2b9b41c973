// Measures many loops in turn, each only once clock and power have come to what it makes of them.
#pragma once

#include <functional>
#include <vector>

#include "common/harness/timing.h"

/// How long: of each round first `seconds` that do not count, then as many that do.
struct Plan {
  double seconds = 0.6;
  int rounds = 3;
};

/// Puts one launch of about 1 to 30 ms on the stream.
using Launch = std::function<void(cudaStream_t)>;

/// Every launch's milliseconds, and the GPU's state as NVML saw it: medians over all rounds, of clock and power. Its
/// power is a mean over a second, so what is read late in a round is of this loop alone. `after_round` is told each
/// round's number.
std::vector<Timing> time_settled(const Plan& plan, const std::vector<Launch>& loops, cudaStream_t stream,
                                 const std::function<void(int)>& after_round);
