// C = alpha * A * B + beta * C on three arrays: everything that can be refused is refused here, before a launch.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "common/harness/shape.h"
#include "python/src/array.h"
#include "python/src/steps.h"

/// What was asked for beside the arrays.
struct Asked {
  const Step* step = nullptr;  // null: the newest that takes the product
  std::string variant{};       // empty: the first of the step that takes it
  float alpha = 1.0f, beta = 0.0f;
};

/// A product that a variant takes.
struct Product {
  const Step* step;
  const Variant* variant;
  Shape shape;
  Place place;
  void *a, *b, *c;
  DType type;

  Problem problem(void* a_at, void* b_at, void* c_at) const {
    return {shape.m, shape.n, shape.k, a_at, shape.lda, b_at, shape.ldb, c_at, shape.ldc, shape.alpha, shape.beta};
  }
  Extent a_extent() const;
  Extent b_extent() const;
  Extent c_extent() const;
};

/// Throws what `decided` would, where a and b have no product whatever multiplies them.
void require_factors(const Array& a, const Array& b);

/// Decides which variant multiplies these arrays. Throws nb::type_error where the element types do not go together,
/// and BadInput, with what to do, where ranks, sizes, strides, alignment or devices do not, where C overlaps A or B, or
/// where the GPU cannot run the step.
Product decided(const Steps& steps, const Asked& asked, const Array& a, const Array& b, const Array& c);

/// Enqueues the product of arrays on a GPU. Throws CudaError.
void launch(const Product& product, cudaStream_t stream);

/// Waits until it is there. Throws CudaError.
void finish(const Product& product, cudaStream_t stream);

/// Copies arrays of the host to the GPU, or into the simulator, multiplies, and copies C back. Throws CudaError.
void multiply_on_host(const Product& product);

/// Whether the CUDA runtime of this process is the simulator.
bool simulated();
