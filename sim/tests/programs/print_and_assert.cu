// printf from a kernel, a switch, a table of texts, and an assertion that fails: the program learns of it as an error.
#include <cassert>

#include "program.h"

__device__ const char* const colours[] = {"red", "green", "blue"};

__device__ __noinline__ int area_of(int shape, int side) {
  switch (shape) {
    case 0: return side * side;
    case 1: return 3 * side * side;
    case 2: return side * side / 2;
    case 3: return side + 1;
    case 4: return side ^ 5;
    default: return -1;
  }
}

__global__ void print(int* areas) {
  const int i = threadIdx.x;
  areas[i] = area_of(i, 10 + i);
  if (i < 3) printf("thread %d: %s, area %d, half of it %.1f\n", i, colours[i], areas[i], areas[i] / 2.0);
}

__global__ void fail(const int* areas, int limit) { assert(areas[threadIdx.x] < limit); }

int main(int argc, char**) {
  int* const areas = to_device(std::vector<int>(6));
  print<<<1, 6>>>(areas);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> expected = {100, 363, 72, 14, 11, -1};
  if (argc > 1) fail<<<1, 6>>>(areas, 300);  // with any argument
  const cudaError_t error = cudaDeviceSynchronize();
  if (argc > 1) return error == cudaErrorAssert ? 0 : verdict("print_and_assert, error", 1, 0);
  return verdict("print_and_assert", worst_error(to_host(areas, 6), expected), 0);
}
