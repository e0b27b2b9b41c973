// Sums in half precision: packed arithmetic, atomics on two halves, and the same by cooperative groups' tiles.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void sums(const __half2* data, int n, __half2* total, float* by_tile) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const __half2 twice = i < n ? __hfma2(data[i], __float2half2_rn(2), __float2half2_rn(0.25f)) : __float2half2_rn(0);
  atomicAdd(total, twice);
  float x = __low2float(twice) + __high2float(twice);
  for (int step = tile.size() / 2; step > 0; step /= 2) x += tile.shfl_down(x, step);
  if (tile.thread_rank() == 0) by_tile[i / 16] = x;
  block.sync();
}

int main() {
  const int n = 128;
  std::vector<__half2> data(n);
  std::vector<float> tiles(n / 16);
  float low = 0, high = 0;
  for (int i = 0; i < n; ++i) {  // small multiples of 1/4, whose sums are exact
    const float a = i % 4 * 0.25f, b = i % 3 * 0.5f;
    data[i] = __floats2half2_rn(a, b);
    low += 2 * a + 0.25f, high += 2 * b + 0.25f;
    tiles[i / 16] += 2 * a + 2 * b + 0.5f;
  }
  __half2* const total = to_device(std::vector<__half2>{__float2half2_rn(0)});
  float* by_tile = nullptr;
  CHECK(cudaMalloc(&by_tile, tiles.size() * sizeof(float)));
  sums<<<n / 64, 64>>>(to_device(data), n, total, by_tile);
  CHECK(cudaGetLastError());
  const __half2 sum = to_host(total, 1)[0];
  const std::vector<float> got = {__low2float(sum), __high2float(sum)};
  return verdict("half_sums", worst_error(got, {low, high}) + worst_error(to_host(by_tile, tiles.size()), tiles), 0);
}
