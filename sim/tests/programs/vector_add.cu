// c = a + b, and what a program should do about errors: a launch that is not possible is reported, and the next works.
#include "program.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 10000;
  const std::vector<float> a = numbers(n, 1), b = numbers(n, 2);
  float *on_a = to_device(a), *on_b = to_device(b), *on_c = nullptr;
  CHECK(cudaMalloc(&on_c, n * sizeof(float)));

  add<<<1, 2048>>>(on_a, on_b, on_c, n);  // more threads than a block may have
  if (cudaGetLastError() == cudaSuccess) return verdict("vector_add, error", 1, 0);

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  add<<<(n + 255) / 256, 256>>>(on_a, on_b, on_c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;  // NaN in the simulator, which says so and goes on
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));

  std::vector<float> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = a[i] + b[i];
  return verdict("vector_add", worst_error(to_host(on_c, n), expected), 0);
}
