// A histogram: each block counts in shared memory by atomics, and adds its counts to the grid's. Lanes of a warp that
// hold the same value can also be found by __match_any_sync: one lane counts for all of them.
#include "program.h"

constexpr int bins = 64;

__global__ void histogram(const unsigned char* data, int n, unsigned* counts, unsigned* largest) {
  __shared__ unsigned of_block[bins];
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) of_block[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&of_block[data[i] % bins], 1u);
    atomicMax(largest, unsigned{data[i]});
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], of_block[bin]);
}

__global__ void histogram_by_match(const unsigned char* data, int n, unsigned* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bin = data[i] % bins;
  const unsigned alike = __match_any_sync(__activemask(), bin);
  if (threadIdx.x % 32 == __ffs(alike) - 1) atomicAdd(&counts[bin], __popc(alike));
}

int main() {
  const int n = 30000;
  std::vector<unsigned char> data(n);
  std::vector<unsigned> expected(bins);
  for (int i = 0; i < n; ++i) ++expected[(data[i] = static_cast<unsigned char>(i * i % 251)) % bins];
  const std::vector<unsigned> zeros(bins);
  unsigned *counts = to_device(zeros), *by_match = to_device(zeros), *largest = to_device(std::vector<unsigned>{0});
  unsigned char* const on_data = to_device(data);
  histogram<<<6, 256>>>(on_data, n, counts, largest);
  histogram_by_match<<<(n + 255) / 256, 256>>>(on_data, n, by_match);
  CHECK(cudaGetLastError());
  const double error = worst_error(to_host(counts, bins), expected) + worst_error(to_host(by_match, bins), expected) +
                       worst_error(to_host(largest, 1), {unsigned{*std::max_element(data.begin(), data.end())}});
  return verdict("histogram", error, 0);
}
