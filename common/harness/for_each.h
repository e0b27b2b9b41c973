// Work on all elements of a matrix: a kernel on a GPU, and in the simulator, where device memory is host memory, a loop
// on the host's threads (simulating the harness's own kernels would take longer and count for nothing). For .cu files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "common/harness/in_simulator.h"
#include "common/harness/memory.h"

inline std::size_t host_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Calls work(part, first, last) for the consecutive parts of 0 … count, each on a thread of its own and of at least
/// `least` elements; there are at most `host_threads()` parts.
template <typename Work>
void in_host_threads(std::size_t count, std::size_t least, const Work& work) {
  const std::size_t parts = std::clamp<std::size_t>(count / least, 1, host_threads());
  std::vector<std::thread> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.emplace_back(work, part, count * part / parts, count * (part + 1) / parts);
  work(std::size_t{0}, std::size_t{0}, count / parts);
  for (std::thread& other : others) other.join();
}

namespace for_each_detail {

constexpr int THREADS = 256;
constexpr std::size_t MOST_BLOCKS = 1024, LEAST_PER_HOST_THREAD = 8192;

inline unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>(std::clamp<std::size_t>((count + THREADS - 1) / THREADS, 1, MOST_BLOCKS));
}

template <typename Body>
__global__ void for_each_kernel(std::size_t count, Body body) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count; at += step) body(at);
}

template <typename Total, typename Body>
__global__ void total_kernel(std::size_t count, Body body, Total* of_blocks) {
  __shared__ Total of_threads[THREADS];
  Total mine{};
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count; at += step) body(at, mine);
  of_threads[threadIdx.x] = mine;
  for (unsigned half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();  // what the upper half has added up is there before the lower one adds it
    if (threadIdx.x < half) of_threads[threadIdx.x].add(of_threads[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = of_threads[0];
}

}  // namespace for_each_detail

/// body(at) for every `at` below `count`, in no order. Body: a functor for host and device.
template <typename Body>
void for_each(std::size_t count, const Body& body) {
  using namespace for_each_detail;
  if (simulated::active()) {
    in_host_threads(count, LEAST_PER_HOST_THREAD, [&body](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t at = first; at < last; ++at) body(at);
    });
    return;
  }
  for_each_kernel<<<blocks_for(count), THREADS>>>(count, body);
  CUDA_CHECK(cudaGetLastError());
}

/// What body(at, total) adds up over every `at` below `count`. Total: a plain struct, zeros where nothing was added,
/// with `void add(const Total&)`. The order of the sums is the same at every run on one machine.
template <typename Total, typename Body>
Total total_over(std::size_t count, const Body& body) {
  using namespace for_each_detail;
  std::vector<Total> parts(simulated::active() ? host_threads() : blocks_for(count));
  if (simulated::active()) {
    in_host_threads(count, LEAST_PER_HOST_THREAD, [&](std::size_t part, std::size_t first, std::size_t last) {
      Total mine{};
      for (std::size_t at = first; at < last; ++at) body(at, mine);
      parts[part] = mine;
    });
  } else {
    DeviceBuffer of_blocks(parts.size() * sizeof(Total));
    total_kernel<<<blocks_for(count), THREADS>>>(count, body, of_blocks.as<Total>());
    CUDA_CHECK(cudaGetLastError());
    of_blocks.download(parts.data());
  }
  Total total{};
  for (const Total& part : parts) total.add(part);
  return total;
}
