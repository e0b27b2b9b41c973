// Where the clusters of a launch stand on the chip. Multiprocessors form groups (GPCs), and those of one group share
// what they read from L2 at the same time. So clusters of one group should have neighbouring tiles. But the hardware
// deals clusters out to the groups in turn, and there is no register that names a block's group.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/tiles.h"

/// Writes the number of the multiprocessor that each block runs on. The block stays there for a while, so that no other
/// takes its place.
static __global__ void note_multiprocessors(int* of_block) {
  int multiprocessor;
  asm volatile("mov.u32 %0, %%smid;\n" : "=r"(multiprocessor));
  of_block[blockIdx.x] = multiprocessor;
  __nanosleep(50'000);
}

/// The multiprocessor of each block of a launch of `blocks` in clusters of `cluster` (1: without). One block per
/// multiprocessor fits. Throws CudaError.
inline std::vector<int> multiprocessors_of_blocks(int blocks, int cluster) {
  constexpr int MOST_OF_THE_SHARED_MEMORY = 200 << 10;
  int* noted;
  CUDA_CHECK(cudaMalloc(&noted, blocks * sizeof(int)));
  CUDA_CHECK(cudaFuncSetAttribute(note_multiprocessors, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  MOST_OF_THE_SHARED_MEMORY));
  if (cluster == 1)
    note_multiprocessors<<<blocks, 32, MOST_OF_THE_SHARED_MEMORY>>>(noted);
  else
    launch_in_clusters(note_multiprocessors, cluster, blocks, 32, MOST_OF_THE_SHARED_MEMORY, nullptr, noted);
  std::vector<int> found(blocks);
  CUDA_CHECK(cudaMemcpy(found.data(), noted, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(noted));
  return found;
}

/// For each of `clusters` clusters, its place in an order that goes through the chip group by group: a permutation of
/// 0 … clusters - 1. A launch without clusters fills group after group, so its blocks tell the order.
inline std::vector<int> cluster_places(int clusters, int cluster) {
  const std::vector<int> in_order = multiprocessors_of_blocks(multiprocessors_here(), 1);
  multiprocessors_of_blocks(clusters * cluster, cluster);  // the next one begins at the group where this one ends
  const std::vector<int> dealt = multiprocessors_of_blocks(clusters * cluster, cluster);
  std::map<int, int> order_of;  // by multiprocessor
  for (int i = 0; i < static_cast<int>(in_order.size()); ++i) order_of[in_order[i]] = i;
  std::vector<std::pair<int, int>> by_order;  // where the cluster's first block stands, the cluster
  for (int i = 0; i < clusters; ++i) by_order.emplace_back(order_of[dealt[i * cluster]], i);
  std::sort(by_order.begin(), by_order.end());
  std::vector<int> place(clusters);
  for (int i = 0; i < clusters; ++i) place[by_order[i].second] = i;
  return place;
}

/// cluster_places in the memory of the current device, found out once per number of clusters. Null, for "as they are
/// dealt out", while `stream` is being captured into a graph for the first time. A launch that finds the chip in
/// another state is as correct: its clusters are only placed less well. Throws CudaError.
inline const int* cluster_places_on_device(int clusters, int cluster, cudaStream_t stream) {
  static std::mutex one_at_a_time;
  static std::map<std::pair<int, int>, int*> known;  // by device and number of clusters
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  int device;
  CUDA_CHECK(cudaGetDevice(&device));
  int*& places = known[{device, clusters}];
  if (places) return places;
  cudaStreamCaptureStatus capture;
  CUDA_CHECK(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) return nullptr;
  const std::vector<int> found = cluster_places(clusters, cluster);
  CUDA_CHECK(cudaMalloc(&places, clusters * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(places, found.data(), clusters * sizeof(int), cudaMemcpyHostToDevice));
  return places;
}
