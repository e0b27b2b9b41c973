// Launches that overlap: a kernel may begin before the one in front of it in the stream has ended, if it was launched
// so (launch_early in common/device/launch_early.h). sm_90 and later; PTX ISA, "griddepcontrol".
#pragma once

#include <cuda_runtime.h>

/// The next kernel may begin as soon as every block of this one has come here or has ended, and room is free.
__device__ __forceinline__ void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}

/// Waits until the kernels in front of this one have ended and what they wrote is visible. What they write must not be
/// read before, what they read or write must not be written. Returns at once in a kernel that was launched as usual.
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;\n" ::: "memory"); }
