// What the simulator's checks cost: a kernel for each kind of access. tests/speed.py compares two builds on it.
#include "program.h"

constexpr int threads = 256, blocks = 64, rounds = 64;

__global__ void arithmetic(float* out) {
  float x = threadIdx.x;
  for (int i = 0; i < 16 * rounds; ++i) x = x * 1.0001f + 0.5f;
  out[blockIdx.x * threads + threadIdx.x] = x;
}

__global__ void streaming(const float* in, float* out, int n) {
  for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += blocks * threads) out[i] = 2 * in[i];
}

__global__ void rereading(const float* in, float* out) {  // rows by lane: as many sectors as lanes
  float sum = 0;
  for (int i = 0; i < 4 * rounds; ++i) sum += in[threadIdx.x % 32 * 4 * rounds + i];
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

__global__ void barriers(float* out) {
  __shared__ float tile[threads];
  float x = threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    tile[threadIdx.x] = x;
    __syncthreads();
    x += tile[(threadIdx.x + i) % threads];
    __syncthreads();
  }
  out[blockIdx.x * threads + threadIdx.x] = x;
}

__global__ void volatile_scan(unsigned* out) {
  __shared__ unsigned data[2 * threads];
  volatile unsigned* const sums = data;
  const unsigned at = threads + threadIdx.x;
  for (int round = 0; round < rounds / 8; ++round) {
    sums[threadIdx.x] = 0;
    sums[at] = threadIdx.x;
    for (int step = 1; step < threads; step *= 2) {
      __syncthreads();
      const unsigned sum = sums[at] + sums[at - step];
      __syncthreads();
      sums[at] = sum;
    }
    __syncthreads();
  }
  out[blockIdx.x * threads + threadIdx.x] = sums[at];
}

__global__ void counting(int* counts) {
  for (int i = 0; i < rounds; ++i) atomicAdd(&counts[(threadIdx.x * 7 + i) % 64], 1);
}

int main() {
  const int n = blocks * threads * 16;
  const std::vector<float> data(n, 1);
  float *in = to_device(data), *out = nullptr;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  arithmetic<<<blocks, threads>>>(out);
  streaming<<<blocks, threads>>>(in, out, n);
  rereading<<<blocks, threads>>>(in, out);
  barriers<<<blocks, threads>>>(out);
  volatile_scan<<<blocks, threads>>>(reinterpret_cast<unsigned*>(out));
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  counting<<<blocks, threads>>>(reinterpret_cast<int*>(out));
  CHECK(cudaGetLastError());
  const std::vector<int> expected(64, blocks * threads * rounds / 64);
  return verdict("speed", worst_error(to_host(reinterpret_cast<int*>(out), 64), expected), 0);
}
