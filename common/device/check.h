// Error checks: a CUDA call that fails names itself, its file and its line, and ends the program.
#pragma once

#include <cuda_runtime.h>

/// Throws a CudaError (common/harness/errors.h).
[[noreturn]] void cuda_failed(cudaError_t status, const char* call, const char* file, int line);

inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) cuda_failed(status, call, file, line);
}

// A macro, because only a macro can see the call's text, its file and its line in C++17.
#define CUDA_CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)
