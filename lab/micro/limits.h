// What the arithmetic instructions reach when nothing else is in their way: the ceilings that charts show.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/device/types.h"

/// One micro-benchmark: a kernel whose loop holds one kind of instruction, fed from registers with random data.
struct Limit {
  std::string name;  // of the instruction, as records name it
  DType ab, acc;
  double flop;                                  // of one launch
  std::function<void(cudaStream_t)> enqueue{};  // one launch, of about a millisecond on a large GPU
};

/// Every limit, on the current device.
std::vector<Limit> limits();
