#include "cuda/errors.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace sim {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> sticky = cudaSuccess;
thread_local std::string why;
std::atomic<bool> is_asked_why = false;

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText known[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "invalid cluster size"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {cudaErrorFileNotFound, "cudaErrorFileNotFound", "file not found"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText* find(cudaError_t error) {
  for (const ErrorText& each : known) {
    if (each.error == error) return &each;
  }
  return nullptr;
}

}  // namespace

cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void device_failed(cudaError_t error) { sticky = error; }
cudaError_t device_state() { return sticky; }

void say_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "simulator: %s\n", text.c_str());
}

void say_why(const std::string& text) {
  why = text;
  if (!is_asked_why) say_once(text);
}

std::string take_why() {
  is_asked_why = true;
  return std::exchange(why, "");
}

cudaError_t not_supported(const char* function) {
  say_once(std::string(function) + " is not supported");
  return returned(cudaErrorNotSupported);
}

}  // namespace sim

extern "C" {

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = sim::last_error;
  sim::last_error = cudaSuccess;
  return error != cudaSuccess ? error : sim::device_state();
}

cudaError_t cudaPeekAtLastError(void) { return sim::last_error != cudaSuccess ? sim::last_error : sim::device_state(); }

const char* cudaGetErrorName(cudaError_t error) {
  const sim::ErrorText* const found = sim::find(error);
  return found ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const sim::ErrorText* const found = sim::find(error);
  return found ? found->text : "unrecognized error code";
}
}
