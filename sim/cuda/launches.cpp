/// How nvcc's host code tells the runtime of its kernels, and launches them.
#include "cuda/launches.h"

#include <cuda_runtime_api.h>

#include <vector>

#include "cuda/ending.h"
#include "cuda/errors.h"
#include "session/simulator.h"

namespace {

using sim::Simulator;

/// What `<<<grid, block, shared, stream>>>` says, between the push and the pop around the call of the kernel's stub.
struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};
thread_local std::vector<Configuration> configurations;

/// nvcc's wrapper around a fat binary (fatbinary_section.h). Version 2 is of a program compiled apart: `data` is the
/// machine code that nvlink made, and each part's own fat binary is in a list that ends with null.
struct FatBinaryWrapper {
  int magic, version;
  const void* data;
  void* parts;
};
constexpr int version_of_parts = 2;

}  // namespace

namespace sim {

cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   const cudaLaunchAttribute* attributes, unsigned count) {
  if (!kernel) return returned(cudaErrorInvalidDeviceFunction);
  if (device_state() != cudaSuccess) return returned(device_state());
  Simulator::Request request{.grid = {grid.x, grid.y, grid.z},
                             .block = {block.x, block.y, block.z},
                             .arguments = arguments,
                             .dynamic_shared_bytes = shared_bytes};
  for (unsigned i = 0; i < count; ++i) {
    const auto& [x, y, z] = attributes[i].val.clusterDim;
    if (attributes[i].id == cudaLaunchAttributeClusterDimension) request.cluster = Dim3{x, y, z};
    if (attributes[i].id == cudaLaunchAttributeCooperative) request.cooperative = attributes[i].val.cooperative != 0;
    if (attributes[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
      request.early = attributes[i].val.programmaticStreamSerializationAllowed != 0;
  }
  const LaunchResult result = Simulator::instance().launch(*kernel, request);
  after_launch();
  switch (result) {
    case LaunchResult::done: return cudaSuccess;
    case LaunchResult::bad_configuration: return returned(cudaErrorInvalidValue);  // as an H200 does
    case LaunchResult::bad_cluster: return returned(cudaErrorInvalidClusterSize);
    case LaunchResult::too_much_shared_memory: return returned(cudaErrorInvalidValue);
    case LaunchResult::too_many_blocks: return returned(cudaErrorCooperativeLaunchTooLarge);
    case LaunchResult::not_runnable: return returned(cudaErrorNoKernelImageForDevice);
    case LaunchResult::failed: device_failed(cudaErrorLaunchFailure); return cudaSuccess;  // as on a GPU: known later
    case LaunchResult::assertion_failed: device_failed(cudaErrorAssert); return cudaSuccess;
  }
  return cudaErrorUnknown;
}

cudaError_t attributes_of(Kernel* kernel, cudaFuncAttributes* attributes) {
  if (!kernel) return returned(cudaErrorInvalidDeviceFunction);
  const Program* const program = kernel->decoded();
  if (!program) return returned(cudaErrorNoKernelImageForDevice);
  *attributes = {};
  attributes->sharedSizeBytes = program->static_shared_bytes;
  attributes->localSizeBytes = program->local_bytes;
  attributes->maxThreadsPerBlock =
      static_cast<int>(program->max_threads ? program->max_threads : Device::threads_per_block);
  attributes->ptxVersion = kernel->ptx_architecture;
  attributes->binaryVersion = Simulator::instance().device.capability;
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(kernel->dynamic_shared_limit ? kernel->dynamic_shared_limit
                                                    : Device::shared_bytes_per_block - program->static_shared_bytes);
  return cudaSuccess;
}

cudaError_t set_attribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (!kernel) return returned(cudaErrorInvalidDeviceFunction);
  const Program* const program = kernel->decoded();
  if (!program) return returned(cudaErrorNoKernelImageForDevice);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const uint64_t most = Simulator::instance().device.shared_bytes_per_block_optin;
    if (value < 0 || program->static_shared_bytes + static_cast<uint64_t>(value) > most) {
      say_why(std::to_string(value) + " bytes of dynamic and " + std::to_string(program->static_shared_bytes) +
              " of static shared memory per block for " + readable(kernel->name) + ", where this GPU has " +
              std::to_string(most));
      return returned(cudaErrorInvalidValue);
    }
    kernel->dynamic_shared_limit = static_cast<uint32_t>(value);
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    kernel->non_portable_cluster = value != 0;
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  return not_supported("this attribute of cudaFuncSetAttribute");
}

cudaError_t resident_blocks(Kernel* kernel, int threads, size_t dynamic_shared_bytes, int* blocks) {
  if (!kernel) return returned(cudaErrorInvalidDeviceFunction);
  if (!kernel->decoded()) return returned(cudaErrorNoKernelImageForDevice);
  if (threads <= 0) return returned(cudaErrorInvalidValue);
  *blocks = static_cast<int>(
      Simulator::instance().resident_blocks(*kernel, static_cast<uint64_t>(threads), dynamic_shared_bytes));
  return cudaSuccess;
}

}  // namespace sim

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  sim::watch_the_end();
  const auto& given = *static_cast<const FatBinaryWrapper*>(wrapper);
  std::vector<const void*> fat_binaries;
  if (given.version == version_of_parts) {
    for (auto* part = static_cast<const void* const*>(given.parts); part && *part; ++part)
      fat_binaries.push_back(*part);
  }
  if (fat_binaries.empty()) fat_binaries.push_back(given.data);
  return reinterpret_cast<void**>(Simulator::instance().add_module(fat_binaries));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}  // only ever at the end of the process, when the reports may still be wanted

char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* device_name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Simulator::instance().add_kernel(reinterpret_cast<sim::Module*>(module), host_function, device_name);
}

void __cudaRegisterVar(void** module, char* host_variable, char*, const char* device_name, int, size_t, int, int) {
  Simulator::instance().add_variable(reinterpret_cast<sim::Module*>(module), host_variable, device_name);
}

/// The host has a pointer to a managed variable.
void __cudaRegisterManagedVar(void** module, void** host_pointer, char*, const char* device_name, int, size_t, int,
                              int) {
  sim::Module* const holder = reinterpret_cast<sim::Module*>(module);
  Simulator::instance().add_variable(holder, host_pointer, device_name);
  if (const auto* const variable = holder->variable(device_name)) *host_pointer = variable->address;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return sim::returned(cudaErrorUnknown);
  const Configuration configuration = configurations.back();
  configurations.pop_back();
  *grid = configuration.grid;
  *block = configuration.block;
  *shared_bytes = configuration.shared_bytes;
  *static_cast<void**>(stream) = configuration.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(Simulator::instance().kernel(host_function));
  return *kernel ? cudaSuccess : sim::returned(cudaErrorInvalidDeviceFunction);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t) {
  return sim::launch(reinterpret_cast<sim::Kernel*>(kernel), grid, block, arguments, shared_bytes);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t) {
  return sim::launch(Simulator::instance().kernel(function), grid, block, arguments, shared_bytes);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* with, const void* function, void** arguments) {
  return sim::launch(Simulator::instance().kernel(function), with->gridDim, with->blockDim, arguments,
                     with->dynamicSmemBytes, with->attrs, with->numAttrs);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  return sim::launch(Simulator::instance().kernel(function), grid, block, arguments, shared_bytes, &cooperative, 1);
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return __cudaGetKernel(kernel, host_function);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return sim::attributes_of(Simulator::instance().kernel(function), attributes);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return sim::set_attribute(Simulator::instance().kernel(function), attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          size_t dynamic_shared_bytes) {
  return sim::resident_blocks(Simulator::instance().kernel(function), block_size, dynamic_shared_bytes, blocks);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block_size,
                                                                   size_t dynamic_shared_bytes, unsigned) {
  return sim::resident_blocks(Simulator::instance().kernel(function), block_size, dynamic_shared_bytes, blocks);
}

/// As if every group of multiprocessors (GPC) had a multiple of the cluster's blocks.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* configuration) {
  uint64_t cluster = 1;
  for (unsigned i = 0; i < configuration->numAttrs; ++i) {
    const auto& [x, y, z] = configuration->attrs[i].val.clusterDim;
    if (configuration->attrs[i].id == cudaLaunchAttributeClusterDimension) cluster = sim::Dim3{x, y, z}.count();
  }
  if (cluster == 0) return sim::returned(cudaErrorInvalidClusterSize);
  int blocks = 0;
  const auto& block = configuration->blockDim;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, static_cast<int>(sim::Dim3{block.x, block.y, block.z}.count()),
      configuration->dynamicSmemBytes);
  if (error != cudaSuccess) return error;
  const auto multiprocessors = static_cast<uint64_t>(Simulator::instance().multiprocessors);
  *clusters = static_cast<int>(static_cast<uint64_t>(blocks) * multiprocessors / cluster);
  return cudaSuccess;
}
}
