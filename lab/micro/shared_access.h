// Accesses to shared memory that the compiler leaves as they are, whoever uses the result or not. `address`: of the
// shared window, a multiple of the bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

__device__ __forceinline__ void load_4_bytes(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(value) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_8_bytes(uint32_t address) {
  uint32_t value[2];
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];\n" : "=r"(value[0]), "=r"(value[1]) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_16_bytes(uint32_t address) {
  uint32_t value[4];
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void store_16_bytes(uint32_t address) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};\n" ::"r"(address), "r"(0) : "memory");
}
