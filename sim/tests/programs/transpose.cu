// A transpose through a tile of shared memory whose rows are one word longer, in memory with padded rows.
#include "program.h"

constexpr int tile = 32, rows_at_once = 8;

__global__ void transpose(const float* from, size_t from_pitch, float* to, size_t to_pitch, int rows, int columns) {
  __shared__ float part[tile][tile + 1];
  int c = blockIdx.x * tile + threadIdx.x, r = blockIdx.y * tile;
  for (int i = threadIdx.y; i < tile; i += rows_at_once)
    if (c < columns && r + i < rows) part[i][threadIdx.x] = from[(r + i) * from_pitch + c];
  __syncthreads();
  c = blockIdx.y * tile + threadIdx.x, r = blockIdx.x * tile;
  for (int i = threadIdx.y; i < tile; i += rows_at_once)
    if (c < rows && r + i < columns) to[(r + i) * to_pitch + c] = part[threadIdx.x][i];
}

int main() {
  const int rows = 100, columns = 70;
  const std::vector<float> a = numbers(rows * columns);
  std::vector<float> expected(columns * rows), got(columns * rows);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) expected[c * rows + r] = a[r * columns + c];
  float *from = nullptr, *to = nullptr;
  size_t from_pitch = 0, to_pitch = 0;
  CHECK(cudaMallocPitch(&from, &from_pitch, columns * sizeof(float), rows));
  CHECK(cudaMallocPitch(&to, &to_pitch, rows * sizeof(float), columns));
  CHECK(cudaMemset2D(to, to_pitch, 0, rows * sizeof(float), columns));
  CHECK(cudaMemcpy2D(from, from_pitch, a.data(), columns * sizeof(float), columns * sizeof(float), rows,
                     cudaMemcpyHostToDevice));
  const dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile);
  transpose<<<grid, dim3(tile, rows_at_once)>>>(from, from_pitch / 4, to, to_pitch / 4, rows, columns);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(got.data(), rows * sizeof(float), to, to_pitch, rows * sizeof(float), columns,
                     cudaMemcpyDeviceToHost));
  return verdict("transpose", worst_error(got, expected), 0);
}
