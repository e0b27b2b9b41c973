#include "common/harness/baseline.h"

#include "common/harness/errors.h"
#include "common/harness/shared_library.h"

namespace {

constexpr std::size_t WORKSPACE_BYTES = std::size_t{64} << 20;

// The C function; in C++ the header overloads its name, so that decltype cannot find it.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                              const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                              cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);

// cublasGemmEx. Row-major C = A B is column-major C' = B' A', so A and B change places; a row-major B that is stored
// n x k is a column-major k x n matrix, which has to be transposed to become B'.
class Cublas : public Baseline {
 public:
  Cublas(const Variant& variant, BaselineKind kind)
      : types_(library_types(variant, kind)), transpose_b_(variant.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N) {
    check(library_.function<decltype(cublasCreate_v2)>("cublasCreate_v2")(&handle_), "cublasCreate");
    check(library_.function<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2")(handle_, workspace_.get(),
                                                                                      workspace_.bytes()),
          "cublasSetWorkspace");
  }
  ~Cublas() override { library_.function<decltype(cublasDestroy_v2)>("cublasDestroy_v2")(handle_); }

  void launch(const Problem& p, cudaStream_t stream) override {
    check(set_stream_(handle_, stream), "cublasSetStream");
    const Scalar alpha(p.alpha, types_.scale), beta(p.beta, types_.scale);
    check(gemm_(handle_, transpose_b_, CUBLAS_OP_N, p.n, p.m, p.k, alpha.get(), p.b, types_.ab, p.ldb, p.a, types_.ab,
                p.lda, beta.get(), p.c, types_.out, p.ldc, types_.compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  }

 private:
  static void check(cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw CudaError(std::string(call) + ": cuBLAS status " + std::to_string(static_cast<int>(status)));
  }

  SharedLibrary library_{"libcublas.so.13"};
  GemmEx* gemm_ = library_.function<GemmEx>("cublasGemmEx");
  decltype(cublasSetStream_v2)* set_stream_ = library_.function<decltype(cublasSetStream_v2)>("cublasSetStream_v2");
  DeviceBuffer workspace_{WORKSPACE_BYTES};
  LibraryTypes types_;
  cublasOperation_t transpose_b_;
  cublasHandle_t handle_ = nullptr;
};

constexpr cudaDataType library_type(DType type) {
  switch (type) {
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::e4m3: return CUDA_R_8F_E4M3;
    case DType::e5m2: return CUDA_R_8F_E5M2;
    case DType::s8: return CUDA_R_8I;
    case DType::s32: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}

bool sums_in_fp16(const Variant& variant) { return variant.acc == DType::f16; }

// Whether the same matrices can be multiplied with sums in FP16, which would be less precise.
bool could_sum_in_fp16(const Variant& variant) {
  return variant.ab == DType::f16 && variant.out == DType::f16 && !sums_in_fp16(variant);
}

// FP8 is for cublasLt alone.
std::vector<BaselineKind> for_fp8(const Variant& variant) {
  if (variant.acc == DType::f22) return {BaselineKind::cublaslt, BaselineKind::cublaslt_fast_sums};
  return {BaselineKind::cublaslt};
}

std::vector<BaselineKind> all_for(const Variant& variant) {
  if (is_fp8(variant.ab)) return for_fp8(variant);
  std::vector<BaselineKind> all = {BaselineKind::cublas, BaselineKind::cublaslt};
  if (sums_in_fp16(variant)) all.push_back(BaselineKind::cublas_f32_sums);
  if (could_sum_in_fp16(variant)) all.push_back(BaselineKind::cublas_f16_sums);
  return all;
}

std::vector<BaselineKind> standard_for(const Variant& variant, bool is_default) {
  if (!variant.tensor_cores) return {BaselineKind::cublas};
  if (is_fp8(variant.ab)) return for_fp8(variant);
  if (!is_default || !sums_in_fp16(variant)) return {BaselineKind::cublas, BaselineKind::cublaslt};
  return all_for(variant);
}

}  // namespace

std::unique_ptr<Baseline> make_cublaslt(BaselineKind kind, const Variant& variant, const RotatingInputs& inputs,
                                        cudaStream_t stream);
std::unique_ptr<Baseline> make_cutlass(const Variant& variant, const std::string& arch, const RotatingInputs& inputs,
                                       cudaStream_t stream);
void require_cutlass();  // that it was built

const char* name_of(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::cublas: return "cublas";
    case BaselineKind::cublaslt: return "cublaslt";
    case BaselineKind::cublas_f32_sums: return "cublas_f32_sums";
    case BaselineKind::cublas_f16_sums: return "cublas_f16_sums";
    case BaselineKind::cublaslt_fast_sums: return "cublaslt_fast_sums";
    case BaselineKind::cutlass: return "cutlass";
  }
  return "?";
}

// Sums in FP16 are CUBLAS_COMPUTE_16F with FP16 scalars; TF32 is FP32 data with CUBLAS_COMPUTE_32F_FAST_TF32.
LibraryTypes library_types(const Variant& variant, BaselineKind kind) {
  const cudaDataType ab = library_type(variant.ab), out = library_type(variant.out);
  const bool f16_sums = sums_in_fp16(variant) ? kind != BaselineKind::cublas_f32_sums  // the variant's own or the other
                                              : kind == BaselineKind::cublas_f16_sums;
  if (f16_sums) return {ab, out, CUDA_R_16F, CUBLAS_COMPUTE_16F};
  if (variant.ab == DType::s8) return {ab, out, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  return {ab, out, CUDA_R_32F, variant.ab == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
          library_type(variant.b)};
}

std::vector<BaselineKind> baselines_for(BaselineChoice choice, const Variant& variant, bool is_default) {
  switch (choice) {
    case BaselineChoice::none: return {};
    case BaselineChoice::cublas:
      if (is_fp8(variant.ab))
        throw BadInput("variant " + std::string(variant.name) + " multiplies " + name_of(variant.ab) +
                       ", which cuBLAS does in cublasLt alone; use --baseline cublaslt");
      return {BaselineKind::cublas};
    case BaselineChoice::cublaslt: return {BaselineKind::cublaslt};
    case BaselineChoice::both:
      if (is_fp8(variant.ab)) return for_fp8(variant);
      return {BaselineKind::cublas, BaselineKind::cublaslt};
    case BaselineChoice::cublas_f32_sums:
      if (sums_in_fp16(variant)) return {BaselineKind::cublas_f32_sums};
      throw BadInput("variant " + std::string(variant.name) + " sums in " + name_of(variant.acc) +
                     ": --baseline cublas_f32_sums is for sums in f16; use --baseline cublas");
    case BaselineChoice::cublas_f16_sums:
      if (could_sum_in_fp16(variant)) return {BaselineKind::cublas_f16_sums};
      throw BadInput("variant " + std::string(variant.name) + " multiplies " + name_of(variant.ab) + " with sums in " +
                     name_of(variant.acc) +
                     ": --baseline cublas_f16_sums is for f16 with sums in f32; use --baseline cublas");
    case BaselineChoice::all: return all_for(variant);
    case BaselineChoice::cutlass: {
      require_cutlass();
      std::vector<BaselineKind> kinds = standard_for(variant, is_default);
      kinds.push_back(BaselineKind::cutlass);
      return kinds;
    }
    case BaselineChoice::standard: break;
  }
  return standard_for(variant, is_default);
}

std::unique_ptr<Baseline> make_baseline(BaselineKind kind, const Variant& variant, const std::string& arch,
                                        const RotatingInputs& inputs, cudaStream_t stream) {
  if (kind == BaselineKind::cutlass) return make_cutlass(variant, arch, inputs, stream);
  if (kind == BaselineKind::cublaslt || kind == BaselineKind::cublaslt_fast_sums)
    return make_cublaslt(kind, variant, inputs, stream);
  return std::make_unique<Cublas>(variant, kind);
}
