// The main loops that are measured: what each multiplies and what it brings into shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Once through the ring, after which all sums are about zero, and half of it again.
constexpr int CHECKED_SLICES = 6;

/// One loop, on the current device.
struct MainLoop {
  std::string instruction;  // as records name it: "wgmma.m64n256k16"
  std::string a, acc;       // element types, as records name them
  std::string tile;         // "128x256"
  double zeros = 0;         // their share of the elements of A and B
  int cluster = 1;          // blocks
  int blocks = 0;           // of a launch
  double flop = 0;          // of one block in one slice
  int instructions = 0;     // wgmma that a warp issues in one slice
  // Bytes per slice of one block: what it reads out of the L2 cache and from beyond, what its shared memory receives.
  std::size_t l2_bytes = 0, dram_bytes = 0, received_bytes = 0;
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
