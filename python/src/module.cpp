// gemm_steps._core: what Python calls. Refusals become ValueError or TypeError, errors of CUDA RuntimeError.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "common/device/check.h"
#include "common/harness/record.h"
#include "common/harness/timing.h"
#include "python/src/bench.h"
#include "python/src/product.h"

namespace {

using namespace nb::literals;

Steps& steps() {
  static Steps all;
  return all;
}

// 7, "07" and "07_thread_tile_8x8" name a step; None names none.
const Step* step_of(nb::handle asked) {
  if (asked.is_none()) return nullptr;
  if (nb::isinstance<nb::str>(asked)) return &steps().find(nb::cast<std::string>(asked));
  if (nb::isinstance<nb::int_>(asked)) return &steps().find(nb::str(asked).c_str());
  throw nb::type_error("step is a number or a name, such as 11 or '11_warp_tiling'");
}

std::string variant_named(nb::handle asked) {
  if (asked.is_none()) return "";
  if (nb::isinstance<nb::str>(asked)) return nb::cast<std::string>(asked);
  throw nb::type_error("variant is a name; gemm_steps.variants(step) lists them");
}

Product product_of(nb::handle a, nb::handle b, nb::handle out, nb::handle step, nb::handle variant, float alpha,
                   float beta) {
  const Array a_array("a", a), b_array("b", b), out_array("out", out);  // refused in this order
  return decided(steps(), {step_of(step), variant_named(variant), alpha, beta}, a_array, b_array, out_array);
}

void multiply(nb::handle a, nb::handle b, nb::handle out, nb::handle step, nb::handle variant, float alpha, float beta,
              nb::handle stream) {
  const Product product = product_of(a, b, out, step, variant, alpha, beta);
  if (stream.is_none()) {
    if (product.place.on_gpu) throw BadInput("a is " + product.place.spoken() + ", and no stream was given");
    const nb::gil_scoped_release others_run;
    return multiply_on_host(product);
  }
  if (!product.place.on_gpu)
    throw BadInput("a is in the memory of the CPU; move the arrays to the GPU, or pass NumPy arrays");
  launch(product, reinterpret_cast<cudaStream_t>(nb::cast<std::uintptr_t>(stream)));
}

std::string variants_of(nb::handle asked) {
  const Step* const step = step_of(asked);
  if (step == nullptr) throw nb::type_error("variants needs a step, such as 11");
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto& table = step->module().variants;
  for (const Variant& variant : table) all.push_back(variant_record(step->name, variant, &variant == &table.front()));
  return all.dump();
}

}  // namespace

NB_MODULE(_core, module) {
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
  module.def("multiply", multiply, "a"_a, "b"_a, "out"_a, "step"_a.none(), "variant"_a.none(), "alpha"_a, "beta"_a,
             "stream"_a.none(),
             "out = alpha * a @ b + beta * out, enqueued on the stream; with None: arrays of the host, at once.");
  module.def(
      "chosen",
      [](nb::handle a, nb::handle b, nb::handle out, nb::handle step) {
        const Product product = product_of(a, b, out, step, nb::none(), 1, 0);
        return nb::make_tuple(product.step->name, product.variant->name);
      },
      "a"_a, "b"_a, "out"_a, "step"_a.none(), "The step and the variant that multiply these arrays.");
  module.def(
      "launch_seconds",
      [](nb::handle a, nb::handle b, nb::handle out, nb::handle step, std::uintptr_t stream, int calls, int batches) {
        const Product product = product_of(a, b, out, step, nb::none(), 1, 0);
        std::vector<double> seconds;
        for (int batch = 0; batch < batches; ++batch) {
          CUDA_CHECK(cudaDeviceSynchronize());
          const auto start = std::chrono::steady_clock::now();
          for (int call = 0; call < calls; ++call) launch(product, reinterpret_cast<cudaStream_t>(stream));
          seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
        }
        return spread_of(seconds).median;
      },
      "a"_a, "b"_a, "out"_a, "step"_a.none(), "stream"_a, "calls"_a, "batches"_a,
      "Seconds that the launch alone takes the CPU, the median of some batches: what a call of matmul is compared "
      "with.");
  module.def(
      "synchronize",
      [](std::uintptr_t stream) {
        const nb::gil_scoped_release others_run;
        CUDA_CHECK(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(stream)));
      },
      "stream"_a);
  module.def("variants", variants_of, "step"_a, "A step's variants as `--list --json` writes them, in one list.");
  module.def("simulated", &simulated, "Whether the CUDA runtime of this process is the simulator.");
  add_bench(module, steps());
}
