// What is thrown where something goes wrong. Not in check.h, which every source of every step reads: <stdexcept> takes
// long to compile.
#pragma once

#include <stdexcept>

/// A CUDA call failed: what() names the call, the file and the line.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The user asked for something impossible: what() is the one line to print; the program exits with 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};
