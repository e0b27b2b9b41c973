// The fastest of the CUTLASS kernels that multiply as a variant does: all are timed in turn, the best one stays. The
// module that holds them is loaded when it is asked for; an executable neither needs it nor knows CUTLASS's headers.

#include <filesystem>
#include <vector>

#include "common/cutlass/kernels.h"
#include "common/harness/baseline.h"
#include "common/harness/errors.h"
#include "common/harness/shared_library.h"
#include "common/harness/timing.h"

namespace {

// Timed as cublasLt's algorithms are (baseline_cublaslt.cpp), but for longer: at the power limit, on the H200, trials
// of 20 ms chose another kernel of the same 16 in each of two runs at 8192^3, and one was 5 % slower than the other.
constexpr int TRIAL_WARMUP = 1, TRIAL_ROUNDS = 3;
constexpr double TRIAL_SECONDS = 0.1;  // per kernel and round

// Beside the folder of this executable, as Meson builds it.
std::filesystem::path module_file() {
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  return executable.parent_path().parent_path() / "common" / "cutlass" / "libgemm_cutlass.so";
}

// Steps for sm_80 are compared with mma.sync on newer GPUs, too: with what their own instructions reach.
CutlassUnit unit_of(const Variant& variant, const std::string& arch) {
  if (!variant.tensor_cores) return CutlassUnit::fma;
  return std::stoi(arch) >= 90 ? CutlassUnit::wgmma : CutlassUnit::mma;
}

class Cutlass : public Baseline {
 public:
  Cutlass(const Variant& variant, const std::string& arch, const RotatingInputs& inputs, cudaStream_t stream) {
    const CutlassUnit unit = unit_of(variant, arch);
    for (const CutlassKernel& kernel : module_.function<decltype(gemm_cutlass_kernels)>("gemm_cutlass_kernels")()) {
      const bool multiplies_alike = kernel.ab == variant.ab && kernel.acc == variant.acc && kernel.out == variant.out &&
                                    kernel.b_transposed == variant.b_transposed;
      if (kernel.unit == unit && multiplies_alike) candidates_.push_back(&kernel);
    }
    if (candidates_.empty())
      throw BadInput("CUTLASS was built without a kernel for variant " + std::string(variant.name) +
                     ", its types and its layout; leave out --baseline cutlass");
    choose(inputs, stream);
  }

  void launch(const Problem& problem, cudaStream_t stream) override { check(run(*best_, problem, stream)); }

  std::string kernel() const override {
    const std::string order = best_->swizzle == 0 ? "" : ", swizzle " + std::to_string(best_->swizzle);
    return best_->name + order;
  }

 private:
  static const char* run(const CutlassKernel& kernel, const Problem& problem, cudaStream_t stream) {
    return kernel.launch(problem, kernel.swizzle, stream);
  }
  static void check(const char* refusal) {
    if (refusal != nullptr) throw CudaError(std::string("CUTLASS: ") + refusal);
  }

  void choose(const RotatingInputs& inputs, cudaStream_t stream) {
    std::vector<Rival> rivals;
    std::vector<const CutlassKernel*> tried;
    std::string refusal;
    for (const CutlassKernel* const kernel : candidates_) {
      if (const char* word = run(*kernel, inputs[0], stream)) {
        refusal = word;
        continue;
      }
      tried.push_back(kernel);
      rivals.push_back({"", [kernel, &inputs](int call, cudaStream_t on) { check(run(*kernel, inputs[call], on)); }});
    }
    if (tried.empty()) throw BadInput("CUTLASS refuses this problem (" + refusal + "); leave out --baseline cutlass");
    const TimingPlan plan{TRIAL_WARMUP, TRIAL_SECONDS, TRIAL_ROUNDS, inputs.count()};
    best_ = tried[fastest_of(plan, rivals, stream)];
  }

  SharedLibrary module_{module_file().c_str()};
  std::vector<const CutlassKernel*> candidates_;
  const CutlassKernel* best_ = nullptr;
};

}  // namespace

void require_cutlass() {
  if (!std::filesystem::exists(module_file()))
    throw BadInput(
        "--baseline cutlass: CUTLASS is not built; run: pip install --no-deps nvidia-cutlass, then: "
        "meson configure build -Dcutlass=package, then: meson compile -C build gemm_cutlass");
}

std::unique_ptr<Baseline> make_cutlass(const Variant& variant, const std::string& arch, const RotatingInputs& inputs,
                                       cudaStream_t stream) {
  return std::make_unique<Cutlass>(variant, arch, inputs, stream);
}
