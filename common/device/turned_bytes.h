// Four words as a tile of 4×4 bytes, turned in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// turned[i] has byte i of each row, that of rows[0] lowest.
__device__ __forceinline__ void turn_bytes(const uint32_t (&rows)[4], uint32_t (&turned)[4]) {
  // Bytes 0 and 1 of two rows side by side, then their bytes 2 and 3: pairs that belong to one word of the result.
  const uint32_t low01 = __byte_perm(rows[0], rows[1], 0x5140), low23 = __byte_perm(rows[2], rows[3], 0x5140);
  const uint32_t high01 = __byte_perm(rows[0], rows[1], 0x7362), high23 = __byte_perm(rows[2], rows[3], 0x7362);
  turned[0] = __byte_perm(low01, low23, 0x5410);
  turned[1] = __byte_perm(low01, low23, 0x7632);
  turned[2] = __byte_perm(high01, high23, 0x5410);
  turned[3] = __byte_perm(high01, high23, 0x7632);
}
