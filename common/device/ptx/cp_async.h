// cp.async: copies from global to shared memory that bypass the registers. sm_80 and later; PTX ISA, "cp.async".
#pragma once

#include <cuda_runtime.h>

#include "common/device/ptx/shared_address.h"

/// Start a copy of 4 bytes; both addresses are multiples of 4. Through L1: 4-byte copies exist only as .ca.
__device__ __forceinline__ void cp_async_4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(shared_address(shared)), "l"(global) : "memory");
}

/// The same, of which only the first src_bytes (0 or 4) are read; the rest of the 4 bytes is filled with zeros.
__device__ __forceinline__ void cp_async_4(void* shared, const void* global, int src_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(src_bytes)
               : "memory");
}

/// Start a copy of 16 bytes; both addresses are multiples of 16. Past L1 (.cg): a block reads each of them once.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared_address(shared)), "l"(global) : "memory");
}

/// The same, of which only the first src_bytes (0 … 16) are read; the rest of the 16 bytes is filled with zeros.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global, int src_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(src_bytes)
               : "memory");
}

/// Close the group of copies that this thread started since the last commit. An empty group counts as one.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

/// Wait until at most PENDING of this thread's latest groups are unfinished. Other threads still need a barrier.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(PENDING) : "memory");
}
