// The main loops that are measured: what each multiplies and what it brings into shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// Once through the ring, after which all sums are about zero, and half of it again.
constexpr int CHECKED_SLICES = 6;

/// One loop, on the current device.
struct MainLoop {
  std::string instruction;             // as records name it: "wgmma.m64n256k16"
  std::string a, acc;                  // element types, as records name them
  nlohmann::ordered_json options;      // tile, zeros, cluster and KB per stage (loops.cu), empty for what has no stages
  int blocks = 0;                      // of a launch
  double flop = 0;                     // of one block in one slice
  int instructions = 0;                // wgmma that a warp issues in one slice
  std::size_t read = 0, received = 0;  // bytes per slice of one block: from global memory, into its shared memory
  std::function<void(int slices, cudaStream_t)> enqueue{};  // one launch
  std::function<double()> total{};                          // of one block's sums, after a launch …
  double expected_total = 0;                                // … of CHECKED_SLICES, where nothing is received
};

/// How large the buffers are that stages are filled from: one that the L2 cache holds and one that no cache holds.
struct BufferSizes {
  std::size_t l2_bytes, dram_bytes;  // multiples of 8 KB
};

/// Every loop. Throws CudaError where memory is short.
std::vector<MainLoop> main_loops(const BufferSizes& sizes);
