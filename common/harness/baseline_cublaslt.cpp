// The fastest of cublasLt's heuristics for one problem: the candidates are timed in turn, the best one stays.

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <vector>

#include "common/harness/baseline.h"
#include "common/harness/errors.h"
#include "common/harness/shared_library.h"
#include "common/harness/timing.h"

namespace {

constexpr std::size_t LT_WORKSPACE_BYTES = std::size_t{64} << 20;
constexpr int CANDIDATES = 16;
// Timed as the kernel is: on inputs that the L2 cache has forgotten, in rounds, so that a clock that drifts favours
// none.
constexpr int LT_TRIAL_WARMUP = 1, LT_TRIAL_ROUNDS = 3;
constexpr double LT_TRIAL_SECONDS = 0.02;  // per candidate and round

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(std::string(call) + ": cublasLt status " + std::to_string(static_cast<int>(status)));
}

class CublasLt : public Baseline {
 public:
  CublasLt(BaselineKind kind, const Variant& variant, const RotatingInputs& inputs, cudaStream_t stream)
      : types_(library_types(variant, kind)) {
    const Problem& problem = inputs[0];
    check(function<decltype(cublasLtCreate)>("cublasLtCreate")(&handle_), "cublasLtCreate");
    check(function<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")(&matmul_, types_.compute,
                                                                                   types_.scale),
          "cublasLtMatmulDescCreate");
    const cublasOperation_t transpose = variant.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(kind == BaselineKind::cublaslt_fast_sums));
    b_ = layout(types_.b, variant.b_transposed ? problem.k : problem.n, variant.b_transposed ? problem.n : problem.k,
                problem.ldb);
    a_ = layout(types_.ab, problem.k, problem.m, problem.lda);
    c_ = layout(types_.out, problem.n, problem.m, problem.ldc);
    choose(inputs, stream);
  }
  ~CublasLt() override {
    for (cublasLtMatrixLayout_t each : {a_, b_, c_})
      function<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")(each);
    function<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")(matmul_);
    function<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle_);
  }

  void launch(const Problem& p, cudaStream_t stream) override { check(run(p, best_, stream), "cublasLtMatmul"); }

 private:
  template <typename Function>
  Function* function(const char* symbol) const {
    return library_.function<Function>(symbol);
  }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(function<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute")(matmul_, attribute,
                                                                                               &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }

  // Column-major, as cublasLt sees our row-major matrices: see baseline.cpp.
  cublasLtMatrixLayout_t layout(cudaDataType type, int rows, int cols, int ld) {
    cublasLtMatrixLayout_t made = nullptr;
    check(function<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")(&made, type, rows, cols, ld),
          "cublasLtMatrixLayoutCreate");
    return made;
  }

  cublasStatus_t run(const Problem& p, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) {
    const Scalar alpha(p.alpha, types_.scale), beta(p.beta, types_.scale);
    return matmul_function_(handle_, matmul_, alpha.get(), p.b, b_, p.a, a_, beta.get(), p.c, c_, p.c, c_, &algorithm,
                            workspace_.get(), workspace_.bytes(), stream);
  }

  // What the library would try, in the order of its own guess.
  std::vector<cublasLtMatmulAlgo_t> candidates() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(function<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate")(&preference),
          "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = workspace_.bytes();
    check(function<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute")(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    std::array<cublasLtMatmulHeuristicResult_t, CANDIDATES> found{};
    int count = 0;
    check(function<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic")(
              handle_, matmul_, b_, a_, c_, c_, preference, CANDIDATES, found.data(), &count),
          "cublasLtMatmulAlgoGetHeuristic");
    function<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy")(preference);
    std::vector<cublasLtMatmulAlgo_t> all;
    for (int i = 0; i < count; ++i) all.push_back(found[i].algo);
    return all;
  }

  void choose(const RotatingInputs& inputs, cudaStream_t stream) {
    std::vector<Rival> rivals;
    std::vector<cublasLtMatmulAlgo_t> tried;
    for (const cublasLtMatmulAlgo_t& algorithm : candidates()) {
      if (run(inputs[0], algorithm, stream) != CUBLAS_STATUS_SUCCESS) continue;  // it needs more than there is
      tried.push_back(algorithm);
      rivals.push_back({"", [this, algorithm, &inputs](int call, cudaStream_t on) {
                          check(run(inputs[call], algorithm, on), "cublasLtMatmul");
                        }});
    }
    if (tried.empty()) throw BadInput("cublasLt has no algorithm for this problem; use --baseline cublas");
    const TimingPlan plan{LT_TRIAL_WARMUP, LT_TRIAL_SECONDS, LT_TRIAL_ROUNDS, inputs.count()};
    best_ = tried[fastest_of(plan, rivals, stream)];
  }

  SharedLibrary library_{"libcublasLt.so.13"};
  decltype(cublasLtMatmul)* matmul_function_ = library_.function<decltype(cublasLtMatmul)>("cublasLtMatmul");
  DeviceBuffer workspace_{LT_WORKSPACE_BYTES};
  LibraryTypes types_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t best_{};
};

}  // namespace

std::unique_ptr<Baseline> make_cublaslt(BaselineKind kind, const Variant& variant, const RotatingInputs& inputs,
                                        cudaStream_t stream) {
  return std::make_unique<CublasLt>(kind, variant, inputs, stream);
}
