// What the four warps of a warpgroup do together: share registers out, and wait for each other. sm_90a; PTX ISA,
// "setmaxnreg", "bar".
#pragma once

#include <cuda_runtime.h>

/// This warpgroup keeps so many registers per thread and gives the rest back to the block, for others to take. A
/// multiple of 8, 24 … 256; the kernel needs __launch_bounds__(threads, 1), or ptxas ignores it.
template <int REGISTERS>
__device__ __forceinline__ void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(REGISTERS));
}

/// This warpgroup takes registers until it has so many per thread; it waits until others have given enough back.
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(REGISTERS));
}

/// Waits for all `threads` that come to the barrier with this number, 1 … 15 (__syncthreads is number 0).
__device__ __forceinline__ void named_barrier_sync(int number, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}

/// Counts this thread among those `threads`, and goes on without waiting for them.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}
