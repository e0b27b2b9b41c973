// wmma.load of TF32 and BF16 fragments from shared memory. sm_80 and later; PTX ISA, "wmma.load".
//
// For these two types alone nvcuda::wmma::load_matrix_sync emits the form for a generic address. ptxas then makes LD of
// it, element by element, instead of LDS and, for 16-bit elements, LDSM.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/shared_address.h"

/// A's 16×8 TF32 fragment of a product m16n16k8, row-major; pitch in elements from row to row, a multiple of 4.
__device__ __forceinline__ void wmma_load_a_tf32(uint32_t (&a)[4], const void* shared, int pitch) {
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;\n"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared_address(shared)), "r"(pitch)
               : "memory");
}

/// B's 8×16 TF32 fragment, row-major.
__device__ __forceinline__ void wmma_load_b_tf32(uint32_t (&b)[4], const void* shared, int pitch) {
  asm volatile("wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;\n"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(shared_address(shared)), "r"(pitch)
               : "memory");
}

/// A's 16×16 BF16 fragment of a product m16n16k16, row-major; pitch a multiple of 8.
__device__ __forceinline__ void wmma_load_a_bf16(uint32_t (&a)[4], const void* shared, int pitch) {
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;\n"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared_address(shared)), "r"(pitch)
               : "memory");
}

/// B's 16×16 BF16 fragment, row-major.
__device__ __forceinline__ void wmma_load_b_bf16(uint32_t (&b)[4], const void* shared, int pitch) {
  asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;\n"
               : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
               : "r"(shared_address(shared)), "r"(pitch)
               : "memory");
}
