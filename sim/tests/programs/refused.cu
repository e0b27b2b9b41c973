// What the simulator refuses: each launch fails, with one line that names the instruction, the kernel and its line.
#include "program.h"

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* out) { *out = fibonacci(*out); }

__global__ void allocates(int** out) { *out = static_cast<int*>(malloc(4)); }

__device__ __noinline__ int add_one(int x) { return x + 1; }
__device__ __noinline__ int add_two(int x) { return x + 2; }
__device__ int (*functions[])(int) = {add_one, add_two};
__global__ void calls_by_pointer(int* out) { *out = functions[*out](1); }

__global__ void is_right(int* out) { *out = 1; }

int main() {
  void* out = nullptr;
  CHECK(cudaMalloc(&out, 64));
  recursion<<<1, 1>>>(static_cast<int*>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  allocates<<<1, 1>>>(static_cast<int**>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  calls_by_pointer<<<1, 1>>>(static_cast<int*>(out));
  if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
  void* arguments[] = {&out};
  if (cudaLaunchCooperativeKernel(is_right, 1 << 20, 1, arguments) != cudaErrorCooperativeLaunchTooLarge) return 2;
  return 0;  // and 1, since there are reports that nobody asked for
}
