// What the simulator's checks cost: a kernel for each kind of access, by its name. tests/speed.py compares two builds.
#include <string>

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

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "";
  const int n = blocks * threads * 64;
  const std::vector<float> data(n, 1);
  float *in = to_device(data), *out = nullptr;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  for (int i = 0; i < 4; ++i) {
    if (name == "arithmetic") arithmetic<<<blocks, threads>>>(out);
    if (name == "streaming") streaming<<<blocks, threads>>>(in, out, n);
    if (name == "rereading") rereading<<<blocks, threads>>>(in, out);
    if (name == "barriers") barriers<<<blocks, threads>>>(out);
    if (name == "volatile_scan") volatile_scan<<<blocks, threads>>>(reinterpret_cast<unsigned*>(out));
    if (name == "counting") counting<<<blocks, threads>>>(reinterpret_cast<int*>(out));
  }
  CHECK(cudaGetLastError());
}
