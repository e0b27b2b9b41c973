/// How nvcc's host code tells the runtime of its kernels, and launches them.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cuda/errors.h"
#include "cuda/process.h"
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

/// nvcc's wrapper around a fat binary (fatbinary_section.h).
struct FatBinaryWrapper {
  int magic, version;
  const void* data;
  void* unused;
};

/// Writes the trace that was asked for. A process that has reports which nobody asked for says so and fails.
void at_exit() {
  Simulator& simulator = Simulator::instance();
  sim::write_what_was_asked_for();
  if (simulator.reports.all().size() <= simulator.reports_given) return;
  std::fflush(nullptr);
  std::fputs(simulator.report_text().c_str(), stderr);
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

cudaError_t launch(sim::Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   std::optional<sim::Dim3> cluster = std::nullopt) {
  if (!kernel) return sim::returned(cudaErrorInvalidDeviceFunction);
  if (sim::device_state() != cudaSuccess) return sim::returned(sim::device_state());
  switch (Simulator::instance().launch(*kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, arguments,
                                       shared_bytes, cluster)) {
    case sim::LaunchResult::done: return cudaSuccess;
    case sim::LaunchResult::bad_configuration: return sim::returned(cudaErrorInvalidValue);  // as an H200 does
    case sim::LaunchResult::bad_cluster: return sim::returned(cudaErrorInvalidClusterSize);
    case sim::LaunchResult::too_much_shared_memory: return sim::returned(cudaErrorInvalidValue);
    case sim::LaunchResult::not_runnable: return sim::returned(cudaErrorNoKernelImageForDevice);
    case sim::LaunchResult::failed:
      sim::device_failed(cudaErrorLaunchFailure);
      return cudaSuccess;  // as on a GPU: known later
    case sim::LaunchResult::assertion_failed: sim::device_failed(cudaErrorAssert); return cudaSuccess;
  }
  return cudaErrorUnknown;
}

/// The cluster that the attributes of a launch ask for.
std::optional<sim::Dim3> cluster_of(const cudaLaunchConfig_t& configuration) {
  std::optional<sim::Dim3> cluster;
  for (unsigned i = 0; i < configuration.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = configuration.attrs[i];
    const auto& asked = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeClusterDimension) cluster = {asked.x, asked.y, asked.z};
  }
  return cluster;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  static const int once = std::atexit(at_exit);
  (void)once;
  return reinterpret_cast<void**>(
      Simulator::instance().add_module(static_cast<const FatBinaryWrapper*>(wrapper)->data));
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
  return launch(reinterpret_cast<sim::Kernel*>(kernel), grid, block, arguments, shared_bytes);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t) {
  return launch(Simulator::instance().kernel(function), grid, block, arguments, shared_bytes);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function, void** arguments) {
  for (unsigned i = 0; i < configuration->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = configuration->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative)
      return sim::not_supported("a cooperative launch, for a barrier of the whole grid,");
  }
  return launch(Simulator::instance().kernel(function), configuration->gridDim, configuration->blockDim, arguments,
                configuration->dynamicSmemBytes, cluster_of(*configuration));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  sim::Kernel* const kernel = Simulator::instance().kernel(function);
  if (!kernel) return sim::returned(cudaErrorInvalidDeviceFunction);
  const sim::Program* const program = kernel->decoded();
  if (!program) return sim::returned(cudaErrorNoKernelImageForDevice);
  *attributes = {};
  attributes->sharedSizeBytes = program->static_shared_bytes;
  attributes->localSizeBytes = program->local_bytes;
  attributes->maxThreadsPerBlock =
      static_cast<int>(program->max_threads ? program->max_threads : sim::Device::threads_per_block);
  attributes->ptxVersion = 80;
  attributes->binaryVersion = Simulator::instance().device.capability;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(
      kernel->dynamic_shared_limit ? kernel->dynamic_shared_limit
                                   : sim::Device::shared_bytes_per_block - program->static_shared_bytes);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  sim::Kernel* const kernel = Simulator::instance().kernel(function);
  if (!kernel) return sim::returned(cudaErrorInvalidDeviceFunction);
  const sim::Program* const program = kernel->decoded();
  if (!program) return sim::returned(cudaErrorNoKernelImageForDevice);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || program->static_shared_bytes + static_cast<uint64_t>(value) >
                         Simulator::instance().device.shared_bytes_per_block_optin) {
      return sim::returned(cudaErrorInvalidValue);
    }
    kernel->dynamic_shared_limit = static_cast<uint32_t>(value);
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    kernel->non_portable_cluster = value != 0;
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  return sim::not_supported("this attribute of cudaFuncSetAttribute");
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

/// Blocks that fit on a multiprocessor by threads and shared memory. Registers are ptxas's business, which PTX does not
/// tell.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_shared_bytes, 0);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block_size,
                                                                   size_t dynamic_shared_bytes, unsigned) {
  sim::Kernel* const kernel = Simulator::instance().kernel(function);
  if (!kernel) return sim::returned(cudaErrorInvalidDeviceFunction);
  const sim::Program* const program = kernel->decoded();
  if (!program) return sim::returned(cudaErrorNoKernelImageForDevice);
  if (block_size <= 0) return sim::returned(cudaErrorInvalidValue);
  const sim::Device& here = Simulator::instance().device;
  const uint64_t warps = (static_cast<uint64_t>(block_size) + 31) / 32;
  const uint64_t shared = program->static_shared_bytes + dynamic_shared_bytes + sim::Device::reserved_shared_bytes;
  const uint64_t by_threads = here.threads_per_multiprocessor / (32 * warps);
  const uint64_t by_shared = here.shared_bytes_per_multiprocessor / shared;
  *blocks = static_cast<int>(std::min<uint64_t>({by_threads, by_shared, here.blocks_per_multiprocessor}));
  return cudaSuccess;
}

/// As if every group of multiprocessors (GPC) had a multiple of the cluster's blocks.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* configuration) {
  const uint64_t cluster = cluster_of(*configuration).value_or(sim::Dim3{}).count();
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
