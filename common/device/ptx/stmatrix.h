// stmatrix: a warp stores 8×8 matrices of 16-bit elements to shared memory, the reverse of ldmatrix. sm_90 and later;
// PTX ISA, "stmatrix".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Stores four matrices. Lanes 8 * i … 8 * i + 7 name the rows of matrix i by their addresses, each a multiple of 16
/// bytes; lane l holds columns 2 * (l % 4) and the next of row l / 4 of matrix i in registers[i].
__device__ __forceinline__ void stmatrix_x4(uint32_t shared_row, const uint32_t (&registers)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_row),
               "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
               : "memory");
}

/// The same of the transposed matrices: lane l holds rows 2 * (l % 4) and the next of column l / 4.
__device__ __forceinline__ void stmatrix_x4_trans(uint32_t shared_row, const uint32_t (&registers)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_row),
               "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
               : "memory");
}
