// y = A·x with x in constant memory, a count in a device variable, and a table of names in global memory.
#include "program.h"

constexpr int rows = 200, columns = 256;
__constant__ float x[columns];
__device__ int negative_rows;
__managed__ int largest_row = -1;

__global__ void multiply(const float* __restrict__ a, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (row < rows)
    for (int c = 0; c < columns; ++c) sum += a[c * rows + row] * x[c];
  if (row < rows) y[row] = sum;
  const int negative = __syncthreads_count(row < rows && sum < 0);
  if (threadIdx.x == 0) atomicAdd(&negative_rows, negative);
  if (row < rows) atomicMax(&largest_row, row);
}

int main() {
  const std::vector<float> a = numbers(rows * columns, 1), on_host = numbers(columns, 2);
  CHECK(cudaMemcpyToSymbol(x, on_host.data(), sizeof(x)));
  std::vector<float> expected(rows);
  int negative = 0;
  for (int row = 0; row < rows; ++row) {
    for (int c = 0; c < columns; ++c) expected[row] = std::fma(a[c * rows + row], on_host[c], expected[row]);
    negative += expected[row] < 0;
  }
  float* y = nullptr;
  CHECK(cudaMallocAsync(&y, rows * sizeof(float), nullptr));
  multiply<<<(rows + 63) / 64, 64>>>(to_device(a), y);
  CHECK(cudaDeviceSynchronize());
  int counted = -1;
  CHECK(cudaMemcpyFromSymbol(&counted, negative_rows, sizeof(counted)));
  if (counted != negative || largest_row != rows - 1) return verdict("matrix_vector, variables", 1, 0);
  return verdict("matrix_vector", worst_error(to_host(y, rows), expected), 0);
}
