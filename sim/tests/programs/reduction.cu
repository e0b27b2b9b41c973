// The sum of an array: each warp by shuffles, each block by shared memory, the grid by one atomic a block.
#include "program.h"

__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffff, x, step);
  return x;
}

__global__ void sum(const float* data, int n, float* result) {
  __shared__ float of_warp[32];
  float x = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += data[i];
  x = warp_sum(x);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = x;
  __syncthreads();
  if (warp != 0) return;
  x = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0);
  if (lane == 0) atomicAdd(result, x);
}

int main() {
  const int n = 100000;
  const std::vector<float> data = numbers(n);
  float* const result = to_device(std::vector<float>{0});
  sum<<<8, 256>>>(to_device(data), n, result);
  CHECK(cudaGetLastError());
  double expected = 0;
  for (const float x : data) expected += x;
  return verdict("reduction", worst_error(to_host(result, 1), {static_cast<float>(expected)}), 1e-4);
}
