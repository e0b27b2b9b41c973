// A flag in global memory, by which one block tells another that what it has written may be read. sm_70 and later; PTX
// ISA, "Memory Consistency Model".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Raises the flag. What this thread has written before is visible to whoever sees it raised, and so is what other
/// threads of the block have written before a barrier that this thread has passed.
__device__ __forceinline__ void flag_raise(uint32_t* flag) {
  asm volatile("st.release.gpu.global.u32 [%0], 1;\n" ::"l"(__cvta_generic_to_global(flag)) : "memory");
}

/// Waits until the flag is raised, and lowers it. By the one thread that the flag is for.
__device__ __forceinline__ void flag_wait_and_lower(uint32_t* flag) {
  const auto address = __cvta_generic_to_global(flag);
  uint32_t raised;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(raised) : "l"(address) : "memory");
  while (raised == 0);
  asm volatile("st.relaxed.gpu.global.u32 [%0], 0;\n" ::"l"(address) : "memory");
}
