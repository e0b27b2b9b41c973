// What the simulator refuses: each launch fails, with one line that names the instruction, the kernel and its line.
#include <cooperative_groups.h>

#include "program.h"

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* out) { *out = fibonacci(*out); }

__global__ void reads_the_clock(long long* out) { *out = clock64(); }

__global__ void allocates(int** out) { *out = static_cast<int*>(malloc(4)); }

__device__ __noinline__ int add_one(int x) { return x + 1; }
__device__ __noinline__ int add_two(int x) { return x + 2; }
__device__ int (*functions[])(int) = {add_one, add_two};
__global__ void calls_by_pointer(int* out) { *out = functions[*out](1); }

__global__ void syncs_the_grid(int* out) {
  cooperative_groups::this_grid().sync();
  *out = 1;
}

int main() {
  void* out = nullptr;
  CHECK(cudaMalloc(&out, 64));
  recursion<<<1, 1>>>(static_cast<int*>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  reads_the_clock<<<1, 1>>>(static_cast<long long*>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  allocates<<<1, 1>>>(static_cast<int**>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  calls_by_pointer<<<1, 1>>>(static_cast<int*>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  void* arguments[] = {&out};
  if (cudaLaunchCooperativeKernel(syncs_the_grid, 1, 1, arguments) != cudaErrorNotSupported) return 2;
  return 0;  // and 1, since there are reports that nobody asked for
}
