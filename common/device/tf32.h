// TF32: floats of 10 bits of fraction, of which tensor cores multiply two exactly.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// The nearest TF32, ties to even, as TMA rounds where the tensor map's type is TFLOAT32. Not for NaN.
__device__ __forceinline__ float nearest_tf32(float x) {
  constexpr uint32_t LOW_BITS = 13, HALF = 1u << (LOW_BITS - 1);
  const uint32_t bits = __float_as_uint(x);
  const uint32_t up = bits + (HALF - 1) + (bits >> LOW_BITS & 1);
  return __uint_as_float(up >> LOW_BITS << LOW_BITS);
}
