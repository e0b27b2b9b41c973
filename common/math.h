// Small helpers used by kernels and launchers.
#pragma once

#include <cuda_runtime.h>

/// Blocks of `size` needed to cover `count`: the quotient rounded up.
__host__ __device__ constexpr int ceil_div(int count, int size) { return (count + size - 1) / size; }

/// The four floats at p as one 16-byte access; p is 16-byte aligned.
__device__ __forceinline__ float4& float4_at(float* p) { return *reinterpret_cast<float4*>(p); }
__device__ __forceinline__ const float4& float4_at(const float* p) { return *reinterpret_cast<const float4*>(p); }

/// The 16 bytes at p, whatever they hold, as one access; p is 16-byte aligned.
__device__ __forceinline__ uint4& uint4_at(void* p) { return *static_cast<uint4*>(p); }
__device__ __forceinline__ const uint4& uint4_at(const void* p) { return *static_cast<const uint4*>(p); }

/// The first `count` floats at p, zeros for the rest of the four. WIDTH 4: one access, p is 16-byte aligned, and count
/// is a multiple of 4. WIDTH 1: four accesses, any p. Nothing is read for count <= 0.
template <int WIDTH>
__device__ __forceinline__ float4 load_quad(const float* p, int count) {
  if (WIDTH == 4) return count > 0 ? float4_at(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  return make_float4(count > 0 ? p[0] : 0.0f, count > 1 ? p[1] : 0.0f, count > 2 ? p[2] : 0.0f,
                     count > 3 ? p[3] : 0.0f);
}
