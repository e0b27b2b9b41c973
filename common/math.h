// Small helpers used by kernels and launchers.
#pragma once

#include <cuda_runtime.h>

/// Blocks of `size` needed to cover `count`: the quotient rounded up.
__host__ __device__ constexpr int ceil_div(int count, int size) { return (count + size - 1) / size; }

/// The four floats at p as one 16-byte access; p is 16-byte aligned.
__device__ __forceinline__ float4& float4_at(float* p) { return *reinterpret_cast<float4*>(p); }
__device__ __forceinline__ const float4& float4_at(const float* p) { return *reinterpret_cast<const float4*>(p); }
