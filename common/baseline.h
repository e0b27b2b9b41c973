// What a step is measured against: the vendor's library in the same types, layout and accumulator.
#pragma once

#include <memory>
#include <string>

#include "common/gemm.h"

enum class BaselineKind { none, cublas, cublaslt };

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
/// Throws BadInput where the library cannot be loaded. `none` gives nullptr.
std::unique_ptr<Baseline> make_baseline(BaselineKind kind, const Variant& variant, const Problem& problem,
                                        cudaStream_t stream);
