// ldmatrix: 8×8 matrices of 16-bit elements from shared memory into the registers of a warp, as mma wants them.
// sm_75 and later; PTX ISA, "Warp-level matrix load instruction: ldmatrix".
//
// Lane 8i + r gives the address of row r of matrix i: 16 bytes, at a multiple of 16. Register i of lane l then holds
// elements (l / 4, 2 * (l % 4)) and (l / 4, 2 * (l % 4) + 1) of matrix i; with .trans those of the transposed matrix.
// The addresses are those of the shared window (shared_address in common/device/ptx/shared_address.h).
//
// Eight rows that lie in eight different 16-byte columns of the banks take one wavefront a matrix. "memory": a load
// stays behind the barrier that makes its tile complete.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// One matrix; lanes 0 … 7 give the rows' addresses, those of the others are ignored.
__device__ __forceinline__ void ldmatrix_x1(uint32_t& d, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\n" : "=r"(d) : "r"(address) : "memory");
}

/// Two matrices; lanes 0 … 15 give the addresses.
__device__ __forceinline__ void ldmatrix_x2(uint32_t (&d)[2], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(address)
               : "memory");
}

/// Four matrices; every lane gives an address.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&d)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address)
               : "memory");
}

/// Two matrices, each transposed on its way.
__device__ __forceinline__ void ldmatrix_x2_trans(uint32_t (&d)[2], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(address)
               : "memory");
}

/// Four matrices, each transposed on its way.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&d)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(address)
               : "memory");
}
