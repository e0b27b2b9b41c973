// Prefix sums: each block scans its part by shuffles, the parts' sums are scanned, and added.
#include "program.h"

constexpr int threads = 256;

__device__ int warp_scan(int x) {
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(0xffffffff, x, step);
    if (threadIdx.x % 32 >= step) x += below;
  }
  return x;
}

__global__ void scan_blocks(int* data, int n, int* totals) {
  __shared__ int of_warp[threads / 32];
  const int i = blockIdx.x * threads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int x = warp_scan(i < n ? data[i] : 0);
  if (lane == 31) of_warp[warp] = x;
  __syncthreads();
  if (warp == 0) {
    const int total = warp_scan(lane < threads / 32 ? of_warp[lane] : 0);
    if (lane < threads / 32) of_warp[lane] = total;
  }
  __syncthreads();
  if (warp > 0) x += of_warp[warp - 1];
  if (i < n) data[i] = x;
  if (totals && threadIdx.x == threads - 1) totals[blockIdx.x] = x;
}

__global__ void add_totals(int* data, int n, const int* totals) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (blockIdx.x > 0 && i < n) data[i] += totals[blockIdx.x - 1];
}

int main() {
  const int n = 20000, blocks = (n + threads - 1) / threads;
  std::vector<int> data(n), expected(n);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    data[i] = i * 37 % 11;
    expected[i] = sum += data[i];
  }
  int *on_data = to_device(data), *totals = nullptr;
  CHECK(cudaMalloc(&totals, blocks * sizeof(int)));
  scan_blocks<<<blocks, threads>>>(on_data, n, totals);
  scan_blocks<<<1, threads>>>(totals, blocks, nullptr);
  add_totals<<<blocks, threads>>>(on_data, n, totals);
  CHECK(cudaGetLastError());
  return verdict("scan", worst_error(to_host(on_data, n), expected), 0);
}
