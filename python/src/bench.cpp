#include "python/src/bench.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <sstream>
#include <tuple>
#include <vector>

#include "common/harness/cli.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/report.h"

namespace {

using namespace nb::literals;

constexpr double TENSOR_CORE_SECONDS = 0.5, OTHER_SECONDS = 0.1;  // a side and round, as of the steps' executables

// One step's table of results on the current GPU, with records as the step's executable writes them.
class Bench {
 public:
  explicit Bench(const Step& step) : step_(step), gpu_(current_gpu()), table_(text_, step.name, gpu_) {
    if (!runs_on(step.module().arch, gpu_.capability))
      throw BadInput(step.name + " needs " + needed_gpu(step.module().arch) + ", and this is an " + gpu_.name);
  }

  std::size_t l2_bytes() const { return gpu_.l2_bytes; }

  // The table's next line, with its heading where that is new. Throws std::runtime_error where a result is wrong.
  std::string measure(const std::string& variant_name, int m, int n, int k, const nb::callable& kernel,
                      const std::string& rival_name, const nb::callable& rival, std::uintptr_t stream_handle,
                      int input_sets, const std::string& json) {
    const Variant& variant = named(variant_name);
    const auto stream = reinterpret_cast<cudaStream_t>(stream_handle);
    const Shape shape = completed({m, n, k}, {}, variant);
    const Work work{&variant, shape};
    require_accepted(variant, shape);
    verified(work, stream);

    TimingPlan plan;
    plan.min_seconds = variant.tensor_cores ? TENSOR_CORE_SECONDS : OTHER_SECONDS;
    plan.input_sets = input_sets;
    const Timing timing = time_in_turn(plan, enqueue(kernel), {{rival_name, enqueue(rival)}}, stream);
    const Comparison after = verified(work, stream);

    table_.add(work, timing, after);
    const bool is_default = &variant == &default_on(gpu_, step_.module().variants);
    if (!json.empty())
      merge_records(json, timing_records(step_.name, variant, is_default, shape, work.launch, timing, after, gpu_));
    std::string lines = text_.str();
    text_.str("");
    return lines;
  }

 private:
  const Variant& named(const std::string& name) const {
    for (const Variant& variant : step_.module().variants)
      if (variant.name == name) return variant;
    throw BadInput("no variant is called " + name);
  }

  // On matrices of its own, which are freed before anything is timed.
  static Comparison verified(const Work& work, cudaStream_t stream) {
    constexpr VerifyMode MODE = VerifyMode::standard;
    constexpr std::uint64_t SEED = 1;
    require_memory(verification_bytes(*work.variant, work.shape, MODE));
    Verifier verifier(*work.variant, work.shape, MODE, SEED);
    const Comparison found = verifier.run(work.launch, stream);
    std::ostringstream said;
    if (!report_verdict(said, work, found, "on the harness's inputs")) throw std::runtime_error(said.str());
    return found;
  }

  static Enqueue enqueue(const nb::callable& call) {
    return [&call](int index, cudaStream_t) { call(index); };
  }

  const Step& step_;
  Gpu gpu_;
  std::ostringstream text_;
  ResultTable table_;
};

// The sizes of one of the harness's sweeps, as (m, n, k).
std::vector<std::tuple<int, int, int>> sweep(const std::string& name) {
  std::vector<std::tuple<int, int, int>> sizes;
  for (const Shape& shape : sweep_shapes(name)) sizes.emplace_back(shape.m, shape.n, shape.k);
  return sizes;
}

}  // namespace

void add_bench(nb::module_& module, const Steps& steps) {
  module.def("sweep", sweep, "name"_a, "The sizes of one of the harness's sweeps, as (m, n, k).");
  module.def(
      "require_writable", [](const std::string& file) { require_writable(file); }, "file"_a,
      "Raises ValueError where records could not be written.");
  nb::class_<Bench>(module, "Bench")
      .def(
          "__init__", [&steps](Bench* self, const std::string& step) { new (self) Bench(steps.find(step)); }, "step"_a)
      .def_prop_ro("l2_bytes", &Bench::l2_bytes)
      .def("measure", &Bench::measure, "variant"_a, "m"_a, "n"_a, "k"_a, "kernel"_a, "rival_name"_a, "rival"_a,
           "stream"_a, "input_sets"_a, "json"_a,
           "Times two callables in turn, each of which enqueues call number i, and returns the table's next line.");
}
