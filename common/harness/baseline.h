// What a step is measured against: the vendor's libraries in the same types, layout and accumulator.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <memory>
#include <string>
#include <vector>

#include "common/harness/errors.h"
#include "common/harness/matrix.h"

/// cublas_f32_sums: cuBLAS on the same FP16 matrices with sums in FP32, for variants that sum in FP16. It is more
/// accurate, and faster at some sizes. cublas_f16_sums: with sums in FP16, for variants that sum in FP32: less
/// accurate. cublaslt_fast_sums: cublasLt with sums of FP8 products that stay in the tensor core, where its other call
/// promotes them every so often, for variants that do as the first. cutlass: the fastest of the kernels that this
/// course builds from CUTLASS's templates, where they were built.
enum class BaselineKind { cublas, cublaslt, cublas_f32_sums, cublas_f16_sums, cublaslt_fast_sums, cutlass };

/// Whether it is one of those of which the best library call is the fastest: a library's call, not a template that was
/// compiled here, and one that sums at least as precisely as the variant.
constexpr bool may_be_best(BaselineKind kind) {
  return kind != BaselineKind::cublas_f16_sums && kind != BaselineKind::cutlass;
}

/// As records and --baseline name it.
const char* name_of(BaselineKind kind);

/// What was asked for. standard: cuBLAS, for tensor-core variants the best of cublasLt's algorithms besides, and for a
/// step's default among these, if it sums in FP16, cuBLAS with FP32 sums. all: whatever multiplies the same matrices,
/// with sums of the other type, too, where there are two. cutlass: CUTLASS beside the standard ones.
enum class BaselineChoice { standard, none, cublas, cublaslt, cublas_f32_sums, cublas_f16_sums, both, all, cutlass };

/// What a variant is measured against, in the order in which they take turns. Throws BadInput where cublas_f32_sums is
/// asked for and the variant does not sum in FP16, or cublas_f16_sums and it does not sum FP16 products in FP32, or
/// cutlass and it was not built.
std::vector<BaselineKind> baselines_for(BaselineChoice choice, const Variant& variant, bool is_default);

/// A library's GEMM. Loading it takes a second or so; nothing is loaded before make_baseline.
class Baseline {
 public:
  virtual ~Baseline() = default;
  /// Enqueues one product. Throws CudaError with the library's own word.
  virtual void launch(const Problem& problem, cudaStream_t stream) = 0;
  /// The kernel that was chosen, where the baseline knows its name; else empty.
  virtual std::string kernel() const { return ""; }
};

/// Makes the baseline for a variant's types and layout; `inputs` are what cublasLt's algorithms and CUTLASS's kernels
/// are tried on, and `arch`, the architecture that the step is compiled for, tells which of CUTLASS's are its like.
/// Throws BadInput where the library cannot be loaded or has nothing for this problem.
std::unique_ptr<Baseline> make_baseline(BaselineKind kind, const Variant& variant, const std::string& arch,
                                        const RotatingInputs& inputs, cudaStream_t stream);

/// The types of a variant in the libraries' words; compute and scale: of the sums and of alpha and beta.
struct LibraryTypes {
  cudaDataType ab, out, scale;
  cublasComputeType_t compute;
  cudaDataType b = ab;  // where it is not A's
};
LibraryTypes library_types(const Variant& variant, BaselineKind kind);

/// alpha or beta in the type that the library reads it in: FP16 where it sums in FP16, an integer where it sums
/// integers, else FP32. Throws BadInput for what is no integer where one is needed.
class Scalar {
 public:
  Scalar(float value, cudaDataType type) : single_(value), half_(value), type_(type) {
    if (type != CUDA_R_32I) return;
    integer_ = static_cast<int>(value);
    if (static_cast<float>(integer_) != value)
      throw BadInput("the libraries scale sums of integers by integers alone; use --baseline none");
  }
  const void* get() const {
    if (type_ == CUDA_R_32I) return &integer_;
    return type_ == CUDA_R_16F ? static_cast<const void*>(&half_) : &single_;
  }

 private:
  float single_;
  __half half_;
  int integer_ = 0;
  cudaDataType type_;
};
