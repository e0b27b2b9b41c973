// From a DType known at run time to a C++ type known at compile time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>

#include "common/device/types.h"

template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls visitor(TypeTag<storage type of `type`>{}) and returns what it returns. TF32 is stored as float.
template <typename Visitor>
auto dispatch(DType type, Visitor&& visitor) {
  switch (type) {
    case DType::f16: return visitor(TypeTag<__half>{});
    case DType::bf16: return visitor(TypeTag<__nv_bfloat16>{});
    case DType::e4m3: return visitor(TypeTag<__nv_fp8_e4m3>{});
    case DType::e5m2: return visitor(TypeTag<__nv_fp8_e5m2>{});
    case DType::s8: return visitor(TypeTag<std::int8_t>{});
    case DType::s32: return visitor(TypeTag<int>{});
    default: return visitor(TypeTag<float>{});
  }
}

/// The same for the floating-point types of 16 and 32 bits, where code for the others is not worth its compilation.
template <typename Visitor>
auto dispatch_wide(DType type, Visitor&& visitor) {
  switch (type) {
    case DType::f16: return visitor(TypeTag<__half>{});
    case DType::bf16: return visitor(TypeTag<__nv_bfloat16>{});
    default: return visitor(TypeTag<float>{});
  }
}

template <typename T>
__host__ __device__ inline double to_double(T value) {
  return static_cast<double>(static_cast<float>(value));
}
template <>
__host__ __device__ inline double to_double(int value) {
  return value;
}

/// The nearest integer within the type's range, to even half way; NaN becomes the least one.
template <typename T>
__host__ __device__ inline T to_integer(double value, double least, double largest) {
  return static_cast<T>(value >= least ? rint(value < largest ? value : largest) : least);
}

/// Rounds to nearest even, once.
template <typename T>
__host__ __device__ inline T from_double(double value) {
  return static_cast<T>(value);
}
template <>
__host__ __device__ inline std::int8_t from_double(double value) {
  return to_integer<std::int8_t>(value, -128, 127);
}
template <>
__host__ __device__ inline int from_double(double value) {
  return to_integer<int>(value, -2147483648.0, 2147483647.0);
}
template <>
__host__ __device__ inline __half from_double(double value) {
  return __double2half(value);
}
template <>
__host__ __device__ inline __nv_bfloat16 from_double(double value) {
  return __double2bfloat16(value);
}
