// The types of a variant in cuBLAS's and cublasLt's words.
#pragma once

#include <cublas_v2.h>

#include "common/device/gemm.h"

struct LibraryTypes {
  cudaDataType ab, out, scale;
  cublasComputeType_t compute;
};

constexpr cudaDataType library_type(DType type) {
  switch (type) {
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

/// FP16 accumulation is CUBLAS_COMPUTE_16F with FP16 scalars; TF32 is FP32 data with CUBLAS_COMPUTE_32F_FAST_TF32.
inline LibraryTypes library_types(const Variant& variant) {
  const cudaDataType ab = library_type(variant.ab), out = library_type(variant.out);
  if (variant.acc == DType::f16) return {ab, out, CUDA_R_16F, CUBLAS_COMPUTE_16F};
  if (variant.acc == DType::f64) return {ab, out, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  return {ab, out, CUDA_R_32F, variant.ab == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
}

/// alpha or beta in the type that the library reads it in.
class Scalar {
 public:
  Scalar(float value, cudaDataType type) : single_(value), double_(value), half_(value), type_(type) {}
  const void* get() const {
    if (type_ == CUDA_R_64F) return &double_;
    return type_ == CUDA_R_16F ? static_cast<const void*>(&half_) : &single_;
  }

 private:
  float single_;
  double double_;
  __half half_;
  cudaDataType type_;
};
