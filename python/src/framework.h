// The arrays of one framework: how they are read, on which stream they are worked on, how a new one is made.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "python/src/exchange.h"
#include "python/src/product.h"

/// What gemm_steps._core.Framework is in Python.
class Framework {
 public:
  /// name: "PyTorch". array_class: what its arrays are instances of. make: called with a, m and n, returns a new m x n
  /// array like a. stream: called with a, returns the address of the current stream; None: arrays of the host. lend:
  /// called with an array, returns what __dlpack__ is asked of; None: the array itself. The last two are not called
  /// where the framework has DLPack's C exchange API. finished: whether a product is waited for.
  Framework(const Steps& steps, std::string name, nb::object array_class, nb::object make, nb::object stream,
            nb::object lend, bool finished);

  /// out = alpha * a @ b + beta * out, enqueued on the current stream; arrays of the host: at once. With None a new
  /// array is made. Returns the result.
  nb::object multiply(nb::handle a, nb::handle b, nb::handle step, nb::handle variant, nb::handle out, float alpha,
                      float beta) const;

  /// The names of the step and of the variant that multiply these arrays.
  nb::tuple chosen(nb::handle a, nb::handle b, nb::handle out, nb::handle step) const;

  /// Seconds that the launch alone takes the CPU, the median of `batches` of `calls`.
  double launch_seconds(nb::handle a, nb::handle b, nb::handle out, nb::handle step, int calls, int batches) const;

 private:
  Array array(const char* name, nb::handle object) const;
  cudaStream_t stream(nb::handle a, const Place& place) const;

  const Steps& steps_;
  const std::string name_;
  const nb::object class_, make_, stream_, lend_;
  const ExchangeApi* const exchange_;
  const bool finished_;
};
