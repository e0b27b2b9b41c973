// Error checks: a CUDA call that fails names itself, its file and its line, and ends the program.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>

/// A CUDA call failed: what() names the call, the file and the line.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The user asked for something impossible: what() is the one line to print; the program exits with 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws a CudaError.
[[noreturn]] void cuda_failed(cudaError_t status, const char* call, const char* file, int line);

inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) cuda_failed(status, call, file, line);
}

// A macro, because only a macro can see the call's text, its file and its line in C++17.
#define CUDA_CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)
