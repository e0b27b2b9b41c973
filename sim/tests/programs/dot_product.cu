// A dot product in double precision, with atomicAdd of doubles, and functions of double that are not inlined.
#include "program.h"

__device__ __noinline__ double length_of(double x, double y, double* square) {
  *square = x * x + y * y;
  return sqrt(*square);
}

__global__ void dot(const double* a, const double* b, int n, double* result) {
  __shared__ double of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  atomicAdd(&of_block, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(result, of_block);
}

__global__ void functions(const double* a, const double* b, int n, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double square;
  const double length = length_of(a[i], b[i], &square);
  out[i] = pow(length, 1.5) + exp(a[i]) + log(square) + sin(1e6 * b[i]) + a[i] / length + fma(a[i], b[i], -square);
}

int main() {
  const int n = 3000;
  const std::vector<float> x = numbers(n, 1), y = numbers(n, 2);
  const std::vector<double> a(x.begin(), x.end()), b(y.begin(), y.end());
  std::vector<double> expected(n);
  double product = 0;
  for (int i = 0; i < n; ++i) {
    const double square = a[i] * a[i] + b[i] * b[i], length = std::sqrt(square);
    expected[i] = std::pow(length, 1.5) + std::exp(a[i]) + std::log(square) + std::sin(1e6 * b[i]) + a[i] / length +
                  std::fma(a[i], b[i], -square);
    product += a[i] * b[i];
  }
  double *on_a = to_device(a), *on_b = to_device(b), *result = to_device(std::vector<double>{0}), *out = nullptr;
  CHECK(cudaMalloc(&out, n * sizeof(double)));
  dot<<<4, 128>>>(on_a, on_b, n, result);
  functions<<<(n + 127) / 128, 128>>>(on_a, on_b, n, out);
  CHECK(cudaGetLastError());
  return verdict("dot_product",
                 std::max(worst_error(to_host(result, 1), {product}), worst_error(to_host(out, n), expected)), 1e-12);
}
