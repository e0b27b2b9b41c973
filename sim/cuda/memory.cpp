/// Device memory is the host's: a device pointer is an address of this process, known to the table of allocations.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda/errors.h"
#include "session/simulator.h"

namespace {

using sim::Simulator;

constexpr size_t alignment = 256;  // what cudaMalloc promises
constexpr const char* registered = "cudaHostRegister";

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Memory filled with a pattern that no test expects: NaN as floats.
cudaError_t allocate(void** pointer, size_t bytes, const char* origin) {
  if (!pointer) return sim::returned(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Simulator& simulator = Simulator::instance();
  const uint64_t used = simulator.allocations.bytes();
  const uint64_t most = simulator.device.memory_bytes;
  if (bytes > most || used + bytes > most) {
    sim::say_why(std::string(origin) + " of " + std::to_string(bytes) + " bytes: the simulated GPU has " +
                 std::to_string(most >> 20) + " MiB, of which " + std::to_string(used >> 20) +
                 " are in use; PTXSIM_MEMORY, or ptxsim --memory, sets how many");
    return sim::returned(cudaErrorMemoryAllocation);
  }
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory) return sim::returned(cudaErrorMemoryAllocation);
  std::memset(memory, 0xff, bytes);
  simulator.allocations.add(address_of(memory), bytes, origin);
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t release(void* pointer) {
  if (!pointer) return cudaSuccess;
  sim::Allocations& allocations = Simulator::instance().allocations;
  const auto range = allocations.at(address_of(pointer));
  if (!range || range->origin == registered || !allocations.remove(address_of(pointer)))
    return sim::returned(cudaErrorInvalidValue);
  std::free(pointer);
  Simulator::instance().wait_for_launch();
  return cudaSuccess;
}

/// Whether `bytes` bytes from here are the device's.
bool on_device(const void* pointer, size_t bytes) {
  const auto range = Simulator::instance().allocations.holding(address_of(pointer));
  return range && range->holds(address_of(pointer), address_of(pointer) + bytes);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Simulator::instance().wait_for_launch();
  if (sim::device_state() != cudaSuccess) return sim::returned(sim::device_state());
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return sim::returned(cudaErrorInvalidValue);
  const bool writes_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool reads_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return sim::returned(cudaErrorInvalidMemcpyDirection);
  if ((writes_device && !on_device(to, bytes)) || (reads_device && !on_device(from, bytes)))
    return sim::returned(cudaErrorInvalidValue);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t fill(void* pointer, int value, size_t bytes) {
  Simulator::instance().wait_for_launch();
  if (sim::device_state() != cudaSuccess) return sim::returned(sim::device_state());
  if (bytes == 0) return cudaSuccess;
  if (!on_device(pointer, bytes)) return sim::returned(cudaErrorInvalidValue);
  std::memset(pointer, value, bytes);
  return cudaSuccess;
}

struct Pool {
  uint64_t threshold = 0;
};
cudaMemPool_t default_pool() {
  static Pool pool;
  return reinterpret_cast<cudaMemPool_t>(&pool);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes, "cudaMalloc"); }
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return allocate(pointer, bytes, "cudaMallocAsync");
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes, "cudaMallocManaged");
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate(pointer, bytes, "cudaMallocHost"); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes, "cudaHostAlloc"); }
cudaError_t cudaFree(void* pointer) { return release(pointer); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return release(pointer); }
cudaError_t cudaFreeHost(void* pointer) { return release(pointer); }

cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  *flags = cudaHostAllocMapped;
  return on_device(pointer, 1) ? cudaSuccess : sim::returned(cudaErrorInvalidValue);
}

// A pool only hands out memory: what is freed is gone at once.
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new Pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (pool == default_pool()) return sim::returned(cudaErrorInvalidValue);
  delete reinterpret_cast<Pool*>(pool);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = default_pool();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) { return cudaDeviceGetDefaultMemPool(pool, 0); }
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return allocate(pointer, bytes, "cudaMallocFromPoolAsync");
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t, cudaMemLocation*) {
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute == cudaMemPoolAttrReleaseThreshold)
    std::memcpy(&reinterpret_cast<Pool*>(pool)->threshold, value, sizeof(uint64_t));
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const uint64_t bytes = Simulator::instance().allocations.bytes(), one = 1;
  const bool flag = attribute < cudaMemPoolAttrReleaseThreshold;  // an int: what may be reused
  const uint64_t* const from = flag ? &one
                               : attribute == cudaMemPoolAttrReleaseThreshold
                                   ? &reinterpret_cast<Pool*>(pool)->threshold
                                   : &bytes;
  std::memcpy(value, from, flag ? sizeof(int) : sizeof(uint64_t));
  return cudaSuccess;
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(pointer, *pitch * height, "cudaMallocPitch");
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return sim::returned(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) { return fill(pointer, value, bytes); }
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  return fill(pointer, value, bytes);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = fill(static_cast<char*>(pointer) + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t) {
  return cudaMemset2D(pointer, pitch, value, width, height);
}

/// Host memory that kernels may touch, too: its address is the same for both.
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  if (!pointer || bytes == 0) return sim::returned(cudaErrorInvalidValue);
  if (on_device(pointer, 1)) return sim::returned(cudaErrorHostMemoryAlreadyRegistered);
  Simulator::instance().allocations.add(address_of(pointer), bytes, registered);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
  sim::Allocations& allocations = Simulator::instance().allocations;
  const auto range = allocations.at(address_of(pointer));
  if (!range || range->origin != registered) return sim::returned(cudaErrorHostMemoryNotRegistered);
  allocations.remove(address_of(pointer));
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  if (!on_device(host, 1)) return sim::returned(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

/// Memory is where it is: advice and prefetches change nothing.
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned, cudaStream_t) {
  return on_device(pointer, bytes) ? cudaSuccess : sim::returned(cudaErrorInvalidValue);
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return on_device(pointer, bytes) ? cudaSuccess : sim::returned(cudaErrorInvalidValue);
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = Simulator::instance().device.memory_bytes;
  *free = *total - Simulator::instance().allocations.bytes();
  return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  const sim::Module::Variable* const variable = Simulator::instance().variable(symbol);
  if (!variable) return sim::returned(cudaErrorInvalidSymbol);
  *pointer = variable->address;
  return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  const sim::Module::Variable* const variable = Simulator::instance().variable(symbol);
  if (!variable) return sim::returned(cudaErrorInvalidSymbol);
  *bytes = variable->bytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind) {
  const sim::Module::Variable* const variable = Simulator::instance().variable(symbol);
  if (!variable) return sim::returned(cudaErrorInvalidSymbol);
  if (offset > variable->bytes || bytes > variable->bytes - offset) return sim::returned(cudaErrorInvalidValue);
  std::memcpy(variable->address + offset, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
  const sim::Module::Variable* const variable = Simulator::instance().variable(symbol);
  if (!variable) return sim::returned(cudaErrorInvalidSymbol);
  if (offset > variable->bytes || bytes > variable->bytes - offset) return sim::returned(cudaErrorInvalidValue);
  std::memcpy(to, variable->address + offset, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  const bool device = on_device(pointer, 1);
  attributes->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = 0;
  attributes->devicePointer = device ? const_cast<void*>(pointer) : nullptr;
  attributes->hostPointer = device ? nullptr : const_cast<void*>(pointer);
  return cudaSuccess;
}
}
