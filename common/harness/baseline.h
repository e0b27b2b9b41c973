// What a step is measured against: the vendor's library in the same types, layout and accumulator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/device/gemm.h"

enum class BaselineKind { cublas, cublaslt };

/// What was asked for. standard: cuBLAS, and for tensor-core variants the best of cublasLt's algorithms besides.
enum class BaselineChoice { standard, none, cublas, cublaslt, both };

/// What a variant is measured against, in the order in which they take turns.
std::vector<BaselineKind> baselines_for(BaselineChoice choice, const Variant& variant);

/// A library's GEMM. Loading it takes a second or so; nothing is loaded before make_baseline.
class Baseline {
 public:
  virtual ~Baseline() = default;
  /// Enqueues one product. Throws CudaError with the library's own word.
  virtual void launch(const Problem& problem, cudaStream_t stream) = 0;
  /// "cublas" or "cublaslt", as records name it.
  virtual std::string name() const = 0;
};

/// Makes the baseline for a variant's types and layout; `problem` is what a cublasLt search is tried on.
/// Throws BadInput where the library cannot be loaded.
std::unique_ptr<Baseline> make_baseline(BaselineKind kind, const Variant& variant, const Problem& problem,
                                        cudaStream_t stream);
