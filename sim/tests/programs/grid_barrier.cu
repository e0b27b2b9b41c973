// A sum over the grid in one launch: partial sums, a barrier of all blocks, then the first block's sum of them, which
// waits for its threads at a cuda::barrier. A clock is read, too: it only grows.
#include <cooperative_groups.h>

#include <cuda/barrier>

#include "program.h"

constexpr int BLOCKS = 12, THREADS = 128;

__global__ void sum_all(const float* in, float* partial, float* out, long long* ticks) {
  const long long begun = clock64();
  __shared__ float sums[THREADS];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, THREADS);
  sums[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
  __syncthreads();
  for (int width = THREADS / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    barrier.arrive_and_wait();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *out = 0;
    for (int i = 0; i < BLOCKS; ++i) *out += partial[i];
    *ticks = clock64() - begun;
  }
}

int main() {
  const std::vector<float> in = numbers(BLOCKS * THREADS);
  double expected = 0;
  for (const float x : in) expected += x;
  float* device_in = to_device(in);
  float* partial = to_device(std::vector<float>(BLOCKS));
  float* out = to_device(std::vector<float>(1));
  long long* ticks = to_device(std::vector<long long>(1));
  void* arguments[] = {&device_in, &partial, &out, &ticks};
  CHECK(cudaLaunchCooperativeKernel(sum_all, BLOCKS, THREADS, arguments));
  if (to_host(ticks, 1)[0] <= 0) return 3;
  return verdict("grid_barrier", std::abs(to_host(out, 1)[0] - expected), 1e-4);
}
