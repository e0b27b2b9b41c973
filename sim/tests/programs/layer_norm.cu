// Layer norm of rows, then tanh: vector loads, a sum over the block by __syncthreads, rsqrtf, managed memory.
#include "program.h"

constexpr int columns = 512, threads = columns / 4;

__device__ float block_sum(float x) {
  __shared__ float of_warp[threads / 32];
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
  __syncthreads();  // what an earlier call left there has been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < threads / 32; ++i) sum += of_warp[i];
  return sum;
}

__global__ void layer_norm(const float4* x, float4* y, float gain, float shift) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const float4 v = __ldg(x + i);
  const float mean = block_sum(v.x + v.y + v.z + v.w) / columns;
  const float4 d = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
  const float scale = rsqrtf(block_sum(d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w) / columns + 1e-5f) * gain;
  y[i] = {tanhf(d.x * scale + shift), tanhf(d.y * scale + shift), tanhf(d.z * scale + shift),
          tanhf(d.w * scale + shift)};
}

int main() {
  const int rows = 20, n = rows * columns;
  float *x = nullptr, *y = nullptr;
  CHECK(cudaMallocManaged(&x, n * sizeof(float)));
  CHECK(cudaMallocManaged(&y, n * sizeof(float)));
  const std::vector<float> data = numbers(n);
  std::copy(data.begin(), data.end(), x);
  layer_norm<<<rows, threads>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y), 1.5f, 0.25f);
  CHECK(cudaDeviceSynchronize());
  std::vector<float> expected(n);
  for (int row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    for (int c = 0; c < columns; ++c) mean += data[row * columns + c] / double{columns};
    for (int c = 0; c < columns; ++c) variance += std::pow(data[row * columns + c] - mean, 2) / columns;
    for (int c = 0; c < columns; ++c)
      expected[row * columns + c] =
          std::tanh((data[row * columns + c] - mean) / std::sqrt(variance + 1e-5) * 1.5 + 0.25);
  }
  return verdict("layer_norm", worst_error(std::vector<float>(y, y + n), expected), 2e-6);
}
