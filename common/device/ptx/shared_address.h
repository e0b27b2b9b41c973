// Addresses of shared memory as PTX takes them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// A pointer into shared memory as the 32-bit address that PTX instructions take.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
