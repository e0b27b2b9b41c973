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
  sim::Simulator::instance().wait_for_launch();
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
cudaError_t cudaDeviceSynchronize(void) {
  sim::Simulator::instance().wait_for_launch();
  return sim::returned(sim::device_state());
}
cudaError_t cudaDeviceReset(void) {
  sim::device_failed(cudaSuccess);  // memory and modules stay
  return cudaSuccess;
}
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
  const Device& here = Simulator::instance().device;
  std::snprintf(properties->name, sizeof properties->name, "%s", here.name.c_str());
  properties->major = here.major();
  properties->minor = here.minor();
  properties->multiProcessorCount = Simulator::instance().multiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = here.memory_bytes;
  properties->totalConstMem = 64 << 10;
  properties->l2CacheSize = static_cast<int>(here.l2_bytes);
  properties->persistingL2CacheMaxSize = here.capability >= 80 ? static_cast<int>(here.l2_bytes / 8 * 5) : 0;
  properties->accessPolicyMaxWindowSize = here.capability >= 80 ? 128 << 20 : 0;
  properties->memoryPoolsSupported = 1;
  properties->sharedMemPerBlock = Device::shared_bytes_per_block;
  properties->sharedMemPerBlockOptin = here.shared_bytes_per_block_optin;
  properties->sharedMemPerMultiprocessor = here.shared_bytes_per_multiprocessor;
  properties->reservedSharedMemPerBlock = Device::reserved_shared_bytes;
  properties->regsPerBlock = properties->regsPerMultiprocessor = static_cast<int>(here.registers_per_multiprocessor);
  properties->maxThreadsPerBlock = static_cast<int>(Device::threads_per_block);
  properties->maxThreadsPerMultiProcessor = static_cast<int>(here.threads_per_multiprocessor);
  properties->maxBlocksPerMultiProcessor = static_cast<int>(here.blocks_per_multiprocessor);
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->clusterLaunch = here.largest_cluster != 0;
  properties->cooperativeLaunch = 1;
  properties->unifiedAddressing = properties->managedMemory = properties->concurrentManagedAccess = 1;
  properties->canMapHostMemory = properties->canUseHostPointerForRegisteredMem = 1;
  return cudaSuccess;
}

// Programs compiled with CUDA 12 call it by this name, and their structure has other places for some of its fields.
cudaError_t cudaGetDeviceProperties_v2(void* properties, int device);
cudaError_t cudaGetDeviceProperties_v2(void* properties, int device) {
  constexpr size_t bytes_of_12 = 1032, moved_from = 384;  // up to here both are alike
  cudaDeviceProp newest;
  const cudaError_t error = cudaGetDeviceProperties(&newest, device);
  if (error != cudaSuccess) return error;
  auto* const to = static_cast<std::byte*>(properties);
  std::memset(to, 0, bytes_of_12);
  std::memcpy(to, &newest, moved_from);
  std::memset(to + 348, 0, sizeof(int));  // clockRate
  const auto put = [&](size_t at, auto value) { std::memcpy(to + at, &value, sizeof value); };
  put(388, newest.multiProcessorCount);
  put(400, newest.canMapHostMemory);
  put(576, newest.concurrentKernels);
  put(604, newest.unifiedAddressing);
  put(616, newest.l2CacheSize);
  put(624, newest.maxThreadsPerMultiProcessor);
  put(640, newest.sharedMemPerMultiprocessor);
  put(648, newest.regsPerMultiprocessor);
  put(652, newest.managedMemory);
  put(676, newest.concurrentManagedAccess);
  put(684, newest.canUseHostPointerForRegisteredMem);
  put(688, newest.cooperativeLaunch);
  put(696, newest.sharedMemPerBlockOptin);
  put(712, newest.maxBlocksPerMultiProcessor);
  put(720, newest.reservedSharedMemPerBlock);
  put(772, newest.clusterLaunch);
  return cudaSuccess;
}

// The same functions, as older programs or programs with a default stream per thread call them.
#if defined(__x86_64__)
#define SIM_ALSO_AS(other, name) asm(".globl " #other "\n.type " #other ",@function\n" #other ": jmp " #name "@PLT\n")
#else
#define SIM_ALSO_AS(other, name) asm(".globl " #other "\n.type " #other ",%function\n" #other ": b " #name "\n")
#endif
#define SIM_PER_THREAD(name) SIM_ALSO_AS(name##_ptsz, name)
SIM_ALSO_AS(cudaEventElapsedTime_v2, cudaEventElapsedTime);
SIM_ALSO_AS(cudaMemAdvise_v2, cudaMemAdvise);
SIM_ALSO_AS(cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync);
SIM_ALSO_AS(cudaThreadSynchronize, cudaDeviceSynchronize);
SIM_ALSO_AS(cudaThreadExit, cudaDeviceReset);
SIM_ALSO_AS(cudaMemcpy_ptds, cudaMemcpy);
SIM_ALSO_AS(cudaMemcpy2D_ptds, cudaMemcpy2D);
SIM_ALSO_AS(cudaMemset_ptds, cudaMemset);
SIM_ALSO_AS(cudaMemset2D_ptds, cudaMemset2D);
SIM_ALSO_AS(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);
SIM_ALSO_AS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);
SIM_PER_THREAD(cudaEventRecord);
SIM_PER_THREAD(cudaEventRecordWithFlags);
SIM_PER_THREAD(cudaFreeAsync);
SIM_PER_THREAD(cudaGetDriverEntryPoint);
SIM_PER_THREAD(cudaGetDriverEntryPointByVersion);
SIM_PER_THREAD(cudaLaunchCooperativeKernel);
SIM_PER_THREAD(cudaLaunchHostFunc);
SIM_PER_THREAD(cudaLaunchKernel);
SIM_PER_THREAD(cudaLaunchKernelExC);
SIM_PER_THREAD(cudaMallocAsync);
SIM_PER_THREAD(cudaMallocFromPoolAsync);
SIM_PER_THREAD(cudaMemPrefetchAsync);
SIM_PER_THREAD(cudaMemcpy2DAsync);
SIM_PER_THREAD(cudaMemcpyAsync);
SIM_PER_THREAD(cudaMemcpyFromSymbolAsync);
SIM_PER_THREAD(cudaMemcpyToSymbolAsync);
SIM_PER_THREAD(cudaMemset2DAsync);
SIM_PER_THREAD(cudaMemsetAsync);
SIM_PER_THREAD(cudaStreamAddCallback);
SIM_PER_THREAD(cudaStreamAttachMemAsync);
SIM_PER_THREAD(cudaStreamGetFlags);
SIM_PER_THREAD(cudaStreamGetPriority);
SIM_PER_THREAD(cudaStreamIsCapturing);
SIM_PER_THREAD(cudaStreamQuery);
SIM_PER_THREAD(cudaStreamSetAttribute);
SIM_PER_THREAD(cudaStreamSynchronize);
SIM_PER_THREAD(cudaStreamWaitEvent);

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (only_device(device) != cudaSuccess) return cudaErrorInvalidDevice;
  const Device& here = Simulator::instance().device;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = here.major(); break;
    case cudaDevAttrComputeCapabilityMinor: *value = here.minor(); break;
    case cudaDevAttrMultiProcessorCount: *value = Simulator::instance().multiprocessors; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = static_cast<int>(Device::threads_per_block); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = static_cast<int>(here.threads_per_multiprocessor); break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = static_cast<int>(here.blocks_per_multiprocessor); break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(Device::shared_bytes_per_block); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(here.shared_bytes_per_block_optin); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(here.shared_bytes_per_multiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = Device::reserved_shared_bytes; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = static_cast<int>(here.registers_per_multiprocessor); break;
    case cudaDevAttrTotalConstantMemory: *value = 64 << 10; break;
    case cudaDevAttrL2CacheSize: *value = static_cast<int>(here.l2_bytes); break;
    case cudaDevAttrClusterLaunch: *value = here.largest_cluster != 0; break;
    case cudaDevAttrCooperativeLaunch:
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
// What to keep in the L2 cache changes no result, and there is none.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return with_stream(stream);
}
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }
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
