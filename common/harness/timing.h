// Timing with CUDA events, several sides in turn.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/gpu.h"

/// Median and 20th/80th percentile of some figures.
struct Spread {
  double median = 0, p20 = 0, p80 = 0;
};

/// Percentiles by linear interpolation between order statistics; zeros for no figures.
Spread spread_of(std::vector<double> figures);

/// How long and how often to measure.
struct TimingPlan {
  int warmup = 2;            // untimed calls of each side before the first round
  double min_seconds = 0.1;  // per side and round
  int rounds = 3;
  int input_sets = 1;  // calls that use inputs of their own before the first set comes round again
};

/// How the calls of one side are grouped: `calls` between two events, `batches` of them a round.
struct Batching {
  int calls = 1, batches = 1;
  bool graph = false;  // replayed from a CUDA graph
};

/// Batches of at least a millisecond, so that the events' resolution (0.5 us) is 0.05 %. Calls under 60 microseconds go
/// into a graph, so that launch gaps do not count; it holds a call for every input set, or replays would skip some.
Batching batching_for(const TimingPlan& plan, double call_ms);

/// One side of a comparison: `enqueue(i, stream)` puts call number i on the stream; i picks the input set.
using Enqueue = std::function<void(int, cudaStream_t)>;

/// What the kernel is measured against, and how it did.
struct Rival {
  std::string name;  // "cublas", "cublaslt"
  Enqueue enqueue;
  bool may_be_best = true;  // it may be the best library call
  std::string kernel = "";  // that it launches, where it has a name
};
struct Against {
  std::string name;
  Spread ms;     // a call of the rival
  Spread ratio;  // its ms / the kernel's, round by round: > 1 where the kernel is faster
  std::string kernel = "";
};

/// The best library call's name in records: the fastest of the rivals that may be it.
inline constexpr const char* BEST_LIBRARY = "best_library";

/// What timing in turn showed.
struct Timing {
  Spread ms;                        // a call of the kernel
  std::vector<Against> against;     // one for each rival, in their order
  std::optional<std::size_t> best;  // index of the fastest that may be the best call, where there are two such or more
  std::optional<Telemetry> state;   // read late in the kernel's last round
};

/// Times the kernel and its rivals as A B C A B C …; each side of a round runs for at least plan.min_seconds.
Timing time_in_turn(const TimingPlan& plan, const Enqueue& kernel, const std::vector<Rival>& rivals,
                    cudaStream_t stream);

/// Which of them is the fastest, by the median of calls that were timed in turn. `sides` are not none.
std::size_t fastest_of(const TimingPlan& plan, const std::vector<Rival>& sides, cudaStream_t stream);
