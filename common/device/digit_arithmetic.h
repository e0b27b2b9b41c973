// An FP32 number as balanced digits of 8 bits: arithmetic alone, which the pages of the site compile as well.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// The size of x as bits, which are ordered as sizes are. NaN is larger than infinity, so that no maximum loses it.
__device__ __forceinline__ uint32_t size_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

/// The largest shift by which x * 2^shift, rounded, fits DIGITS digits for all sizes up to `largest`.
template <int DIGITS>
__device__ __forceinline__ int digits_shift(uint32_t largest) {
  constexpr float MOST = (127 * 256 + 127) / 32768.0f;  // digits 127, 127, as a share of 2^15: more need one bit less
  int exponent;
  const float fraction = frexpf(__uint_as_float(largest), &exponent);  // ½ ≤ fraction < 1, or 0
  return 8 * DIGITS - 1 - exponent - (fraction > MOST);
}

/// 2^-shift; NaN where the row or column holds an infinity or NaN, so that its results become NaN. A double: the power
/// may be beyond FP32 where all elements are subnormal, and products of two scales in any case.
__device__ __forceinline__ double digits_scale(int shift, uint32_t largest) {
  constexpr uint32_t INFINITE = 0x7f800000;
  return __hiloint2double(largest < INFINITE ? (1023 - shift) << 20 : 0x7ff80000, 0);
}

/// x * 2^shift. The power comes in two factors, for it may be beyond FP32; neither product rounds unless the integer
/// nearest to the result is 0.
__device__ __forceinline__ float4 scaled_four(float4 x, int shift) {
  const float half = __int_as_float((127 + shift / 2) << 23), rest = __int_as_float((127 + shift - shift / 2) << 23);
  return make_float4(x.x * half * rest, x.y * half * rest, x.z * half * rest, x.w * half * rest);
}

/// Rounds four scaled elements to integers, and puts their digits of equal weight side by side, largest weight first.
template <int DIGITS>
__device__ __forceinline__ void digits_of(float4 x, uint32_t (&words)[DIGITS]) {
  int left[] = {__float2int_rn(x.x), __float2int_rn(x.y), __float2int_rn(x.z), __float2int_rn(x.w)};
#pragma unroll
  for (int digit = DIGITS - 1; digit >= 0; --digit) {
    const uint32_t low = __byte_perm(left[0], left[1], 0x0040), high = __byte_perm(left[2], left[3], 0x0040);
    words[digit] = __byte_perm(low, high, 0x5410);
#pragma unroll
    for (int& integer : left) integer = (integer + 128) >> 8;  // takes away a digit in -128 … 127, and its weight
  }
}
