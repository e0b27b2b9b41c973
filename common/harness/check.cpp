#include "common/device/check.h"

#include <string>

void cuda_failed(cudaError_t status, const char* call, const char* file, int line) {
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorString(status) +
                  " (" + cudaGetErrorName(status) + ")");
}
