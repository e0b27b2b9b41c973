// Where the clusters of a launch stand on the chip. Multiprocessors form groups (GPCs), and those of one group share
// what they read from L2 at the same time. So clusters of one group should have neighbouring tiles. But the hardware
// deals clusters out to the groups in turn, and there is no register that names a block's group.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/ptx/cluster.h"
#include "common/device/tiles.h"

/// Writes the number of the multiprocessor that each block runs on. The block stays there for a while, so that no other
/// takes its place.
static __global__ void note_multiprocessors(int* of_block) {
  of_block[blockIdx.x] = multiprocessor_number();
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

/// The place of each cluster among all of them, a permutation of 0, 1, …, when they go by their first blocks in the
/// order of `in_order`, a list of multiprocessors; block i of the clusters of `cluster` blocks is on `dealt[i]`.
inline std::vector<int> places_in_order(const std::vector<int>& in_order, const std::vector<int>& dealt, int cluster) {
  std::map<int, int> position;  // by multiprocessor
  for (size_t i = 0; i < in_order.size(); ++i) position[in_order[i]] = static_cast<int>(i);
  std::vector<std::pair<int, int>> by_position;  // of the first block; the cluster
  for (size_t i = 0; i < dealt.size(); i += cluster)
    by_position.emplace_back(position[dealt[i]], static_cast<int>(i) / cluster);
  std::sort(by_position.begin(), by_position.end());
  std::vector<int> places(by_position.size());
  for (size_t i = 0; i < places.size(); ++i) places[by_position[i].second] = static_cast<int>(i);
  return places;
}

/// The place of each of `clusters` clusters in an order that goes through the chip group by group. A launch without
/// clusters fills group after group, so its blocks tell the order. Throws CudaError.
inline std::vector<int> cluster_places(int clusters, int cluster) {
  const std::vector<int> in_order = multiprocessors_of_blocks(multiprocessors_here(), 1);
  multiprocessors_of_blocks(clusters * cluster, cluster);  // the next one begins at the group where this one ends
  return places_in_order(in_order, multiprocessors_of_blocks(clusters * cluster, cluster), cluster);
}

/// cluster_places in the memory of the current device, for a launch of `wanted` clusters where `resident` fit at once.
/// They are found out once per number and size of clusters, and stay until the program ends. Null, for "as they are
/// dealt out", where fewer are wanted than fit, and where launches to find them out would fall into a graph that is
/// being captured on `stream`. A launch that finds the chip in another state is as correct: its clusters are only
/// placed less well. Throws CudaError.
inline const int* places_on_device(int wanted, int resident, int cluster, cudaStream_t stream) {
  static std::mutex one_at_a_time;
  static std::map<std::tuple<int, int, int>, int*> known;  // by device, number of clusters and blocks of each
  if (wanted < resident) return nullptr;
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  int device;
  CUDA_CHECK(cudaGetDevice(&device));
  int*& places = known[{device, resident, cluster}];
  if (places) return places;
  cudaStreamCaptureStatus capture;
  CUDA_CHECK(cudaStreamIsCapturing(stream, &capture));
  if (capture != cudaStreamCaptureStatusNone) return nullptr;
  const std::vector<int> found = cluster_places(resident, cluster);
  CUDA_CHECK(cudaMalloc(&places, resident * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(places, found.data(), resident * sizeof(int), cudaMemcpyHostToDevice));
  return places;
}
