// Launches in clusters: blocks that run at the same time and reach each other's shared memory.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/device/check.h"

/// What cudaLaunchKernelEx is told of a launch of `grid` blocks in clusters of `cluster`, which divides it. The blocks
/// of a cluster are neighbours along x. Points to `attribute`, which has to live as long.
inline cudaLaunchConfig_t cluster_configuration(cudaLaunchAttribute& attribute, int cluster, int grid, int threads,
                                                int shared_bytes, cudaStream_t stream) {
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(grid);
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  return configuration;
}

/// kernel<<<grid, threads, shared_bytes, stream>>>(arguments...) in clusters of `cluster` blocks. Throws CudaError.
template <class... Parameters, class... Arguments>
void launch_in_clusters(void (*kernel)(Parameters...), int cluster, int grid, int threads, int shared_bytes,
                        cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  const auto configuration = cluster_configuration(attribute, cluster, grid, threads, shared_bytes, stream);
  CUDA_CHECK(cudaLaunchKernelEx(&configuration, kernel, std::forward<Arguments>(arguments)...));
}

/// Clusters of a kernel that the current device holds at once. A GPU whose groups of multiprocessors (GPCs) have no
/// multiple of `cluster` leaves some idle: fewer blocks than `resident_blocks` counts. Throws CudaError.
template <class... Parameters>
int resident_clusters(void (*kernel)(Parameters...), int cluster, int threads, int shared_bytes) {
  cudaLaunchAttribute attribute{};
  const auto configuration = cluster_configuration(attribute, cluster, cluster, threads, shared_bytes, nullptr);
  int count = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&count, kernel, &configuration));
  return count;
}
