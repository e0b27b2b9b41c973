// Every kernel of the CUTLASS module, verified on a GPU as the steps are: exact and random inputs, with and without the
// old C, on sizes that end inside a tile. Exit code 77 where there is no GPU.

#include <iostream>

#include "common/cutlass/kernels.h"
#include "common/harness/errors.h"
#include "common/harness/gpu.h"
#include "common/harness/session.h"
#include "common/harness/verify.h"

namespace {

constexpr int SKIPPED = 77, HOPPER = 90;
constexpr std::uint64_t SEED = 1;

// What the kernels take: rows of A, B and C that start at multiples of 16 bytes.
constexpr Shape SHAPES[] = {{256, 256, 128}, {264, 136, 72}, {1000, 2040, 520}, {2048, 1024, 1024}};
constexpr float SCALINGS[][2] = {{1, 0}, {1.5f, -0.5f}};

void never(const Gemm<float>&, const LaunchOptions&, cudaStream_t) {}

// The kernel as the variant of a step, which is what a verifier takes.
Variant as_variant(const CutlassKernel& kernel) {
  Variant variant(kernel.name, never);
  variant.ab = kernel.ab, variant.acc = kernel.acc, variant.out = kernel.out;
  variant.b_transposed = kernel.b_transposed;
  const auto call = [](const AnyLauncher& self, const Problem& problem, const LaunchOptions&, cudaStream_t stream) {
    const auto& asked = *static_cast<const CutlassKernel*>(self.state);
    if (const char* refusal = asked.launch(problem, asked.swizzle, stream))
      throw CudaError(std::string("CUTLASS: ") + refusal);
  };
  variant.launch = {nullptr, call, &kernel};
  return variant;
}

// Says of one kernel what is wrong with it. Returns whether nothing is.
bool verified(const CutlassKernel& kernel, ReferenceStore& references) {
  const Variant variant = as_variant(kernel);
  bool right = true;
  for (Shape shape : SHAPES) {
    for (const auto& [alpha, beta] : SCALINGS) {
      shape.alpha = alpha, shape.beta = beta;
      const Shape whole = completed(shape, {}, variant);
      Verifier verifier(variant, whole, VerifyMode::full, SEED, &references);
      const Comparison found = verifier.run({}, nullptr);
      if (found.passed) continue;
      right = false;
      std::cout << "WRONG RESULT: " << kernel.name << ", " << name_of(kernel.ab) << ", sums in " << name_of(kernel.acc)
                << (kernel.b_transposed ? ", TN" : ", NN") << ", m " << whole.m << " n " << whole.n << " k " << whole.k
                << ", beta " << beta << ": " << found.message() << "\n";
    }
  }
  return right;
}

}  // namespace

int main() {
  if (!gpu_present()) return SKIPPED;
  const bool hopper = current_gpu().capability == HOPPER;
  ReferenceStore references;
  int right = 0, wrong = 0, left_out = 0;
  for (const CutlassKernel& kernel : gemm_cutlass_kernels()) {
    if (kernel.unit == CutlassUnit::wgmma && !hopper) {
      ++left_out;
      continue;
    }
    ++(verified(kernel, references) ? right : wrong);
  }
  std::cout << right << " kernels right, " << wrong << " wrong, " << left_out << " left out\n";
  return wrong == 0 ? 0 : 1;
}
