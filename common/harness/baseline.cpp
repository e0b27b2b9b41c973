#include "common/harness/baseline.h"

#include <cublas_v2.h>

#include "common/harness/baseline_types.h"
#include "common/harness/memory.h"
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
  explicit Cublas(const Variant& variant)
      : types_(library_types(variant)), transpose_b_(variant.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N) {
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
  std::string name() const override { return "cublas"; }

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

}  // namespace

std::unique_ptr<Baseline> make_cublaslt(const Variant& variant, const Problem& problem, cudaStream_t stream);

std::vector<BaselineKind> baselines_for(BaselineChoice choice, const Variant& variant) {
  switch (choice) {
    case BaselineChoice::none: return {};
    case BaselineChoice::cublas: return {BaselineKind::cublas};
    case BaselineChoice::cublaslt: return {BaselineKind::cublaslt};
    case BaselineChoice::both: return {BaselineKind::cublas, BaselineKind::cublaslt};
    case BaselineChoice::standard: break;
  }
  return baselines_for(variant.tensor_cores ? BaselineChoice::both : BaselineChoice::cublas, variant);
}

std::unique_ptr<Baseline> make_baseline(BaselineKind kind, const Variant& variant, const Problem& problem,
                                        cudaStream_t stream) {
  if (kind == BaselineKind::cublaslt) return make_cublaslt(variant, problem, stream);
  return std::make_unique<Cublas>(variant);
}
