// This course's element types as CUTLASS names them.
#pragma once

#include <cutlass/bfloat16.h>
#include <cutlass/half.h>

#include "common/device/types.h"

template <typename T>
struct StoredAs {
  using type = T;
};
template <>
struct StoredAs<__half> {
  using type = cutlass::half_t;
};
template <>
struct StoredAs<__nv_bfloat16> {
  using type = cutlass::bfloat16_t;
};
template <>
struct StoredAs<tf32_t> {  // CUTLASS rounds floats itself where the instruction multiplies TF32
  using type = float;
};

template <typename T>
using Stored = typename StoredAs<T>::type;
