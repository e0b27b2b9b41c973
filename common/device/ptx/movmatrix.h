// movmatrix: an 8×8 matrix of 16-bit elements, held by a warp, transposed from register to register.
// sm_75 and later; PTX ISA, "Warp-level matrix transpose instruction: movmatrix".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Lane l gives row l / 4, columns 2 * (l % 4) and the next, and gets the same place of the transposed matrix.
__device__ __forceinline__ uint32_t movmatrix_trans(uint32_t a) {
  uint32_t d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\n" : "=r"(d) : "r"(a));
  return d;
}
