// Launches that may begin before the kernel in front of them in the stream has ended.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/device/check.h"
#include "common/device/cluster_launch.h"

/// kernel<<<grid, threads, shared_bytes, stream>>>(arguments...) in clusters of `cluster` blocks (1: without). With
/// `early`, its blocks may begin while the kernel in front is still running, where that one lets them: the kernel waits
/// by itself before it touches global memory (common/device/ptx/dependent_launch.h). Throws CudaError.
template <class... Parameters, class... Arguments>
void launch_early(bool early, void (*kernel)(Parameters...), int cluster, int grid, int threads, int shared_bytes,
                  cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t configuration = cluster_configuration(attributes[0], cluster, grid, threads, shared_bytes, stream);
  // A cluster of one block is no cluster: told of as one, it would be placed differently.
  if (cluster == 1) configuration.numAttrs = 0;
  if (early) {
    cudaLaunchAttribute& overlap = attributes[configuration.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  CUDA_CHECK(cudaLaunchKernelEx(&configuration, kernel, std::forward<Arguments>(arguments)...));
}
