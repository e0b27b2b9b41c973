// A bitonic sort of 64-bit keys: within a block by shared memory, over blocks by a launch for each step.
#include "program.h"

constexpr int block = 256;
using Key = unsigned long long;

__device__ void order(Key& a, Key& b, bool ascending) {
  if ((a > b) != ascending) return;
  const Key kept = a;
  a = b;
  b = kept;
}

__global__ void sort_in_blocks(Key* keys, int from_length, int to_length) {
  __shared__ Key part[block];
  const int i = blockIdx.x * block + threadIdx.x;
  part[threadIdx.x] = keys[i];
  __syncthreads();
  for (int length = from_length; length <= to_length; length *= 2) {
    for (int step = min(length, block) / 2; step > 0; step /= 2) {
      const int other = threadIdx.x ^ step;
      if (other > threadIdx.x) order(part[threadIdx.x], part[other], (i & length) == 0);
      __syncthreads();
    }
  }
  keys[i] = part[threadIdx.x];
}

__global__ void sort_step(Key* keys, int length, int step) {
  const int i = blockIdx.x * block + threadIdx.x, other = i ^ step;
  if (other > i) order(keys[i], keys[other], (i & length) == 0);
}

int main() {
  const int n = 2048;
  std::vector<Key> keys(n);
  Key state = 1;
  for (Key& key : keys) key = state = state * 6364136223846793005u + 1442695040888963407u;
  Key* const on_keys = to_device(keys);
  sort_in_blocks<<<n / block, block>>>(on_keys, 2, block);
  for (int length = 2 * block; length <= n; length *= 2) {
    for (int step = length / 2; step >= block; step /= 2) sort_step<<<n / block, block>>>(on_keys, length, step);
    sort_in_blocks<<<n / block, block>>>(on_keys, length, length);
  }
  CHECK(cudaDeviceSynchronize());
  std::sort(keys.begin(), keys.end());
  return verdict("bitonic_sort", to_host(on_keys, n) == keys ? 0 : 1, 0);
}
