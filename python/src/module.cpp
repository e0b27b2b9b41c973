// gemm_steps._core: what Python calls. Refusals become ValueError or TypeError, errors of CUDA RuntimeError.

#include <cuda_runtime.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "common/harness/errors.h"
#include "common/harness/gpu.h"
#include "common/harness/record.h"
#include "python/src/bench.h"
#include "python/src/framework.h"

namespace {

using namespace nb::literals;

Steps& steps() {
  static Steps all;
  return all;
}

// A step's variants as `--list --json` writes them, in one list.
std::string variants_of(const std::string& asked) {
  const Step& step = steps().find(asked);
  int gpus = 0;
  const bool any = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
  const Gpu gpu = any ? current_gpu() : Gpu{};  // also the simulated one; none: what it holds is not known
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto& table = step.module().variants;
  for (const Variant& variant : table) {
    all.push_back(variant_record(step.name, variant, &variant == &default_on(gpu, table)));
    all.back()["fits"] = gpu.holds(variant);
  }
  return all.dump();
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // a framework refers to its adapter, which refers to it: both last until the end
  nb::register_exception_translator([](const std::exception_ptr& pending, void*) {
    try {
      std::rethrow_exception(pending);
    } catch (const BadInput& refusal) {
      PyErr_SetString(PyExc_ValueError, refusal.what());
    }
  });
  module.def(
      "add_step", [](const std::string& name, const std::string& file) { steps().add(name, file); }, "name"_a,
      "file"_a);
  module.def("variants", variants_of, "step"_a);
  module.def("simulated", &simulated, "Whether the CUDA runtime of this process is the simulator.");
  nb::class_<Framework>(module, "Framework")
      .def(
          "__init__",
          [](Framework* self, std::string name, nb::object array_class, nb::object make, nb::object stream,
             nb::object lend, bool finished) {
            new (self) Framework(steps(), std::move(name), std::move(array_class), std::move(make), std::move(stream),
                                 std::move(lend), finished);
          },
          "name"_a, "array_class"_a, "make"_a, "stream"_a.none() = nb::none(), "lend"_a.none() = nb::none(),
          "finished"_a = false)
      .def("multiply", &Framework::multiply, "a"_a.none(), "b"_a.none(), "step"_a.none(), "variant"_a.none(),
           "out"_a.none(), "alpha"_a, "beta"_a)
      .def("chosen", &Framework::chosen, "a"_a, "b"_a, "out"_a, "step"_a.none())
      .def("launch_seconds", &Framework::launch_seconds, "a"_a, "b"_a, "out"_a, "step"_a.none(), "calls"_a,
           "batches"_a);
  add_bench(module, steps());
}
