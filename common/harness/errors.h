// What is thrown where something goes wrong. Kernels do not read this: <stdexcept> takes longer to compile than they
// do.
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
