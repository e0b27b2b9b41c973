// The types of a variant in cuBLAS's and cublasLt's words.
#pragma once

#include <cublas_v2.h>

#include "common/gemm.h"

struct LibraryTypes {
  cudaDataType ab, out, scale;
  cublasComputeType_t compute;
};

constexpr cudaDataType library_type(DType type) {
  return type == DType::f16    ? CUDA_R_16F
         : type == DType::bf16 ? CUDA_R_16BF
         : type == DType::f64  ? CUDA_R_64F
                               : CUDA_R_32F;
}

/// FP16 accumulation is CUBLAS_COMPUTE_16F with FP16 scalars; TF32 is FP32 data with CUBLAS_COMPUTE_32F_FAST_TF32.
inline LibraryTypes library_types(const Variant& variant) {
  const bool half_sums = variant.acc == DType::f16;
  return {library_type(variant.ab), library_type(variant.out), half_sums ? CUDA_R_16F : CUDA_R_32F,
          half_sums                   ? CUBLAS_COMPUTE_16F
          : variant.ab == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F};
}

/// alpha or beta in the type that the library reads it in.
class Scalar {
 public:
  Scalar(float value, cudaDataType type) : single_(value), half_(value), is_half_(type == CUDA_R_16F) {}
  const void* get() const { return is_half_ ? static_cast<const void*>(&half_) : &single_; }

 private:
  float single_;
  __half half_;
  bool is_half_;
};
