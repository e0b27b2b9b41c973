/// The simulated device: its properties, its streams and events. Everything is done when the call returns, so that
/// there is nothing to wait for; time stands still.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_set>

#include "cuda/errors.h"
#include "session/simulator.h"

namespace {

using sim::Device;
using sim::Simulator;

/// Streams and events are handles that hold nothing; what counts is which of them exist.
class Handles {
 public:
  template <class Handle>
  cudaError_t make(Handle* handle) {
    const std::scoped_lock lock(mutex_);
    auto* const made = new char;
    alive_.insert(made);
    *handle = reinterpret_cast<Handle>(made);
    return cudaSuccess;
  }
  cudaError_t destroy(void* handle) {
    const std::scoped_lock lock(mutex_);
    if (alive_.erase(static_cast<char*>(handle)) == 0) return sim::returned(cudaErrorInvalidResourceHandle);
    delete static_cast<char*>(handle);
    return cudaSuccess;
  }
  bool alive(void* handle) {
    const std::scoped_lock lock(mutex_);
    return alive_.contains(static_cast<char*>(handle));
  }

 private:
  std::mutex mutex_;
  std::unordered_set<char*> alive_;
};
Handles handles;

/// The default streams have small numbers for handles.
cudaError_t with_stream(cudaStream_t stream) {
  if (reinterpret_cast<uintptr_t>(stream) > 2 && !handles.alive(stream))
    return sim::returned(cudaErrorInvalidResourceHandle);
  return sim::returned(sim::device_state());
}

cudaError_t with_event(cudaEvent_t event) {
  return handles.alive(event) ? sim::returned(sim::device_state()) : sim::returned(cudaErrorInvalidResourceHandle);
}

cudaError_t only_device(int device) { return device == 0 ? cudaSuccess : sim::returned(cudaErrorInvalidDevice); }

}  // namespace

extern "C" {

// --- devices ---

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return only_device(device); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return only_device(device); }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return sim::returned(sim::device_state()); }
cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = Device::runtime_version;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = Device::driver_version;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (only_device(device) != cudaSuccess) return cudaErrorInvalidDevice;
  std::snprintf(text, static_cast<size_t>(length), "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (only_device(device) != cudaSuccess) return cudaErrorInvalidDevice;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", Device::name);
  properties->major = Device::major;
  properties->minor = Device::minor;
  properties->multiProcessorCount = Simulator::instance().multiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = Device::memory_bytes;
  properties->totalConstMem = 64 << 10;
  properties->l2CacheSize = static_cast<int>(Device::l2_bytes);
  properties->sharedMemPerBlock = Device::shared_bytes_per_block;
  properties->sharedMemPerBlockOptin = Device::shared_bytes_per_block_optin;
  properties->sharedMemPerMultiprocessor = Device::shared_bytes_per_multiprocessor;
  properties->reservedSharedMemPerBlock = 1024;
  properties->regsPerBlock = properties->regsPerMultiprocessor = static_cast<int>(Device::registers_per_multiprocessor);
  properties->maxThreadsPerBlock = static_cast<int>(Device::threads_per_block);
  properties->maxThreadsPerMultiProcessor = static_cast<int>(Device::threads_per_multiprocessor);
  properties->maxBlocksPerMultiProcessor = static_cast<int>(Device::blocks_per_multiprocessor);
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->unifiedAddressing = properties->managedMemory = properties->concurrentManagedAccess = 1;
  properties->canMapHostMemory = properties->canUseHostPointerForRegisteredMem = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (only_device(device) != cudaSuccess) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = Device::major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = Device::minor; break;
    case cudaDevAttrMultiProcessorCount: *value = Simulator::instance().multiprocessors; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = static_cast<int>(Device::threads_per_block); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = static_cast<int>(Device::threads_per_multiprocessor); break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = static_cast<int>(Device::blocks_per_multiprocessor); break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(Device::shared_bytes_per_block); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(Device::shared_bytes_per_block_optin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(Device::shared_bytes_per_multiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = static_cast<int>(Device::registers_per_multiprocessor);
      break;
    case cudaDevAttrTotalConstantMemory: *value = 64 << 10; break;
    case cudaDevAttrL2CacheSize: *value = static_cast<int>(Device::l2_bytes); break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: *value = 0; break;  // clocks, bus widths, features that are not there
  }
  return cudaSuccess;
}

// --- streams and events ---

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return handles.make(stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return handles.make(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return handles.make(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return handles.destroy(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return with_stream(stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return with_stream(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return with_event(event) != cudaSuccess ? with_event(event) : with_stream(stream);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return with_stream(stream);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return handles.make(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return handles.make(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return handles.destroy(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) { return with_event(event); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t, unsigned) { return with_event(event); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return with_event(event); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return with_event(event); }

/// The simulator has no clock: whoever measures with it gets no number, and a line that says so, but may go on.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::numeric_limits<float>::quiet_NaN();
  sim::say_once("cudaEventElapsedTime gives NaN: there is no clock here");
  return with_event(begin) != cudaSuccess ? with_event(begin) : with_event(end);
}

/// What is put into a stream is done at once, in the order of the calls.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (with_stream(stream) != cudaSuccess) return with_stream(stream);
  function(data);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
  function(stream, with_stream(stream), data);
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = 0;
  return with_stream(stream);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = 0;
  return with_stream(stream);
}

// Declared here: the wheels that bring the compiler do not bring cuda_profiler_api.h.
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
}
