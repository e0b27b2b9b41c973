// Packs of neighbouring halves: what one access moves.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

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
