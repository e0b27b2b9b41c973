#include "common/device/check.h"

#include <string>

#include "common/harness/errors.h"

void cuda_failed(cudaError_t status, const char* call, const char* file, int line) {
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorString(status) +
                  " (" + cudaGetErrorName(status) + ")");
}
