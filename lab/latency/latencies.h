// What is repeated, each time with the result of the time before: the time of one is its latency.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

/// One repetition, by the clocks of the SM that did it; and which SM that was.
struct Repetition {
  double cycles, nanoseconds;
  int sm;
};

/// One instruction or access, and how to repeat it.
struct Latency {
  std::string name;                        // as records name it: "FP32 FMA", "global load"
  std::map<std::string, int> options;      // what it was told: {"ring_kb": 64}
  int repetitions;                         // in one launch
  std::function<Repetition(int)> measure;  // by the block of that number, of as many as there are SMs
};

/// Every latency, on the current device. The memory for the rings of loads is kept as long as they are.
std::vector<Latency> latencies();
