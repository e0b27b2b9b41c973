// One head of attention: for each query the softmax of its products with all keys weights the values. A block takes a
// tile of queries, and goes over keys and values tile by tile; the softmax is corrected as larger products appear.
#include "program.h"

constexpr int length = 96, depth = 32, tile = 16;

__global__ void attend(const float* q, const float* k, const float* v, float* out) {
  extern __shared__ float memory[];
  float (*keys)[depth + 1] = reinterpret_cast<float (*)[depth + 1]>(memory);
  float (*values)[depth + 1] = keys + tile;
  const int lane = threadIdx.x, query = blockIdx.x * tile + threadIdx.y;  // a warp a query, a lane a column
  const float mine = q[query * depth + lane] * rsqrtf(depth);
  float largest = -INFINITY, sum = 0, result = 0;
  for (int first = 0; first < length; first += tile) {
    __syncthreads();
    keys[threadIdx.y][lane] = k[(first + threadIdx.y) * depth + lane];
    values[threadIdx.y][lane] = v[(first + threadIdx.y) * depth + lane];
    __syncthreads();
    for (int j = 0; j < tile; ++j) {
      float product = mine * keys[j][lane];
      for (int step = 16; step > 0; step /= 2) product += __shfl_xor_sync(0xffffffff, product, step);
      const float larger = fmaxf(largest, product), correction = expf(largest - larger),
                  weight = expf(product - larger);
      sum = sum * correction + weight;
      result = result * correction + weight * values[j][lane];
      largest = larger;
    }
  }
  out[query * depth + lane] = result / sum;
}

int main() {
  const int n = length * depth;
  const std::vector<float> q = numbers(n, 1), k = numbers(n, 2), v = numbers(n, 3);
  std::vector<float> expected(n);
  for (int i = 0; i < length; ++i) {
    double sum = 0;
    std::vector<double> result(depth);
    for (int j = 0; j < length; ++j) {
      double product = 0;
      for (int d = 0; d < depth; ++d) product += double{q[i * depth + d]} * k[j * depth + d];
      const double weight = std::exp(product / std::sqrt(double{depth}));
      sum += weight;
      for (int d = 0; d < depth; ++d) result[d] += weight * v[j * depth + d];
    }
    for (int d = 0; d < depth; ++d) expected[i * depth + d] = static_cast<float>(result[d] / sum);
  }
  float* out = nullptr;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  const int bytes = 2 * tile * (depth + 1) * sizeof(float);
  CHECK(cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  attend<<<length / tile, dim3(32, tile), bytes>>>(to_device(q), to_device(k), to_device(v), out);
  CHECK(cudaGetLastError());
  return verdict("attention", worst_error(to_host(out, n), expected), 1e-5);
}
