// ld.shared of 16 bytes that stays whole. PTX ISA, "ld".
//
// nvcc may split a plain 16-byte load where only a part is used at once, and whether it does may differ from one
// compilation to the next: the kernel then has more loads than its chapter counts.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/shared_address.h"

/// to[0 … 3] = the four floats in shared memory at `from`, which is 16-byte aligned. `to`: an array kept in registers.
/// "memory": the load stays behind the barrier that makes its tile complete.
__device__ __forceinline__ void load_shared_x4(float* to, const float* from) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];\n"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(shared_address(from))
               : "memory");
}

/// to[0], to[1] = the two floats at `from`, an address in shared memory that is a multiple of 8. As above.
__device__ __forceinline__ void load_shared_x2(float* to, uint32_t from) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];\n" : "=f"(to[0]), "=f"(to[1]) : "r"(from) : "memory");
}
