// Heat on a plate: each point becomes the mean of its four neighbours, step by step, with two buffers, in a stream.
#include "program.h"

constexpr int size = 64, side = 16;

__global__ void step(const float* from, float* to) {
  __shared__ float part[side + 2][side + 2];
  const int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const auto at = [&](int row, int column) {
    return row < 0 || row >= size || column < 0 || column >= size ? 0 : from[row * size + column];
  };
  part[ty][tx] = at(y, x);
  if (tx == 1) part[ty][0] = at(y, x - 1);
  if (tx == side) part[ty][side + 1] = at(y, x + 1);
  if (ty == 1) part[0][tx] = at(y - 1, x);
  if (ty == side) part[side + 1][tx] = at(y + 1, x);
  __syncthreads();
  to[y * size + x] = (part[ty][tx - 1] + part[ty][tx + 1] + part[ty - 1][tx] + part[ty + 1][tx]) / 4;
}

int main() {
  std::vector<float> plate = numbers(size * size), next(size * size);
  float *from = to_device(plate), *to = to_device(next);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 10; ++i) {
    step<<<dim3(size / side, size / side), dim3(side, side), 0, stream>>>(from, to);
    std::swap(from, to);
    const auto at = [&](int y, int x) { return y < 0 || y >= size || x < 0 || x >= size ? 0 : plate[y * size + x]; };
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x)
        next[y * size + x] = (at(y, x - 1) + at(y, x + 1) + at(y - 1, x) + at(y + 1, x)) / 4;
    plate.swap(next);
  }
  CHECK(cudaStreamSynchronize(stream));
  return verdict("stencil", worst_error(to_host(from, size * size), plate), 0);
}
