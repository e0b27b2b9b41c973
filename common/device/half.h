// FP16 on CUDA cores: packs of neighbouring halves, and the multiply-add of the three kinds of sums.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/device/epilogue.h"

/// What one access moves that brings N halves at once.
template <int N>
struct PackOf;
template <>
struct PackOf<2> {
  using Type = unsigned;
};
template <>
struct PackOf<4> {
  using Type = uint2;
};
template <>
struct PackOf<8> {
  using Type = uint4;
};

/// N halves at p (half or half2) as one access of 2N bytes; p is a multiple of 2N bytes.
template <int N, typename T>
__device__ __forceinline__ typename PackOf<N>::Type& pack_at(T* p) {
  return *reinterpret_cast<typename PackOf<N>::Type*>(p);
}
template <int N, typename T>
__device__ __forceinline__ const typename PackOf<N>::Type& pack_at(const T* p) {
  return *reinterpret_cast<const typename PackOf<N>::Type*>(p);
}

/// A half as it is, or twice.
template <typename T>
__device__ __forceinline__ T copies(half value) {
  if constexpr (sizeof(T) == sizeof(half)) {
    return value;
  } else {
    return __half2half2(value);
  }
}

/// a * b + sum, two products of one a at once (HFMA2: a's half is picked by the instruction, and nothing is
/// duplicated).
__device__ __forceinline__ half2 multiply_add(half a, half2 b, half2 sum) { return __hfma2(__half2half2(a), b, sum); }
/// The same with a doubled already.
__device__ __forceinline__ half2 multiply_add(half2 a, half2 b, half2 sum) { return __hfma2(a, b, sum); }
/// The same for one product.
__device__ __forceinline__ half multiply_add(half a, half b, half sum) { return __hfma(a, b, sum); }
/// The same with the sum in float; the product of two halves is exact there.
__device__ __forceinline__ float multiply_add(half a, half b, float sum) {
  return fmaf(__half2float(a), __half2float(b), sum);
}

/// c[0 … N-1] = alpha * sum[0 … N-1] + beta * c[0 … N-1] in one access of 2N bytes.
template <int N>
__device__ __forceinline__ void store_pack(half* c, float alpha, const half* sum, float beta) {
  alignas(2 * N) half out[N];
  if (beta != 0.0f) pack_at<N>(out) = pack_at<N>(c);
#pragma unroll
  for (int q = 0; q < N; ++q) out[q] = scaled(alpha, sum[q], beta, out + q);
  pack_at<N>(c) = pack_at<N>(out);
}
