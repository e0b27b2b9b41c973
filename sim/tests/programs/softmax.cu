// Softmax of each row, one warp a row: exponentials, maximum and sum by shuffles; then its logarithm.
#include "program.h"

__global__ void softmax(const float* x, float* y, float* log_y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  x += row * columns, y += row * columns, log_y += row * columns;
  float largest = -INFINITY, sum = 0;
  for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, x[c]);
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
  for (int c = lane; c < columns; c += 32) sum += expf(x[c] - largest);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  for (int c = lane; c < columns; c += 32) {
    y[c] = __expf(x[c] - largest) / sum;
    log_y[c] = x[c] - largest - logf(sum);
  }
}

int main() {
  const int rows = 50, columns = 300, n = rows * columns;
  std::vector<float> x = numbers(n), expected(n), expected_log(n);
  for (float& each : x) each *= 20;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(double{x[row * columns + c]});
    for (int c = 0; c < columns; ++c) {
      expected[row * columns + c] = std::exp(double{x[row * columns + c]}) / sum;
      expected_log[row * columns + c] = x[row * columns + c] - std::log(sum);
    }
  }
  float *y = nullptr, *log_y = nullptr;
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMalloc(&log_y, n * sizeof(float)));
  softmax<<<(rows + 3) / 4, dim3(32, 4)>>>(to_device(x), y, log_y, rows, columns);
  CHECK(cudaGetLastError());
  return verdict("softmax",
                 std::max(worst_error(to_host(y, n), expected), worst_error(to_host(log_y, n), expected_log)), 2e-6);
}
