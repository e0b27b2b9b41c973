// From a DType known at run time to a C++ type known at compile time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/device/check.h"
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
    default: return visitor(TypeTag<float>{});
  }
}

template <typename T>
__host__ __device__ inline double to_double(T value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Rounds to nearest even, once.
template <typename T>
__host__ __device__ inline T from_double(double value) {
  return static_cast<T>(value);
}
template <>
__host__ __device__ inline __half from_double(double value) {
  return __double2half(value);
}
template <>
__host__ __device__ inline __nv_bfloat16 from_double(double value) {
  return __double2bfloat16(value);
}
