// Measures the errors of a step's variants, and of cuBLAS in FP32 and TF32, on five kinds of data, prints them and, if
// asked, records them. In the simulator there is no cuBLAS, and nothing is recorded.

#include <cmath>
#include <cstdio>

#include "common/device/also.h"
#include "common/harness/baseline.h"
#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/errors/measure.h"
#include "lab/program.h"

namespace {

using nlohmann::ordered_json;

// Of cuBLAS, which is told the types alone.
template <class AB>
Variant library(const char* name) {
  return Variant(name, +[](const Gemm<AB, float, float>&, const LaunchOptions&, cudaStream_t) {});
}

// One product after the other of the same size on the same data.
class Measurement {
 public:
  Measurement(const std::string& step, int size, std::vector<ordered_json>& records)
      : step_(step), shape_(completed({size, size, size}, {}, variants_.front())), records_(records) {}

  void run(Data kind) {
    fill(matrices_, kind, 1);
    const Reference reference = exact(matrices_, shape_);
    for (const Variant& variant : variants_) {
      if (variant.b_transposed) continue;  // the same sums
      const DeviceBuffer workspace(variant.workspace_bytes(shape_.m, shape_.n, shape_.k));
      LaunchOptions options;
      options.workspace = workspace.get();
      measure(step_, variant, kind, reference, [&] { variant.launch(matrices_.problem(shape_), options, nullptr); });
    }
    if (simulated::active()) return;
    for (const Variant& variant : {library<float>("cublas"), library<tf32_t>("cublas_tf32")}) {
      const RotatingInputs inputs(matrices_, variant, shape_, 0, 1);
      const auto cublas = make_baseline(BaselineKind::cublas, variant, "", inputs, nullptr);
      measure("cublas", variant, kind, reference, [&] { cublas->launch(matrices_.problem(shape_), nullptr); });
    }
  }

 private:
  template <class Launch>
  void measure(const std::string& step, const Variant& variant, Data kind, const Reference& reference,
               const Launch& launch) {
    matrices_.c.poison();
    launch();
    CUDA_CHECK(cudaDeviceSynchronize());
    const Error error = error_of(matrices_, reference);
    std::printf("%6d  %-8s  %-16s  rms 2^%6.2f  largest 2^%6.2f\n", shape_.n, name_of(kind), variant.name.c_str(),
                std::log2(error.rms), std::log2(error.largest));
    ordered_json record = identity_record(step, variant, false, shape_);
    record.erase("default");
    record["data"] = name_of(kind);
    record["rms"] = error.rms;
    record["largest"] = error.largest;
    records_.push_back(record);
  }

  std::vector<Variant> variants_ = all_variants();
  std::string step_;
  Shape shape_;
  Matrices matrices_{library<float>("cublas"), shape_};
  std::vector<ordered_json>& records_;
};

int run(const std::string& step, const std::vector<int>& sizes, const std::string& file) {
  const bool on_gpu = !simulated::active();
  if (!file.empty() && !on_gpu) throw BadInput("--json: what the simulator computes is no measurement; leave it out");
  if (!file.empty()) require_writable(file);
  if (on_gpu && !gpu_present()) {
    std::puts("skipped: no GPU was found");
    return EXIT_SKIPPED;
  }
  std::vector<ordered_json> records;
  for (const int size : sizes) {
    Measurement measurement(step, size, records);
    for (const Data kind : EVERY_DATA) measurement.run(kind);
  }
  if (file.empty()) return 0;
  for (ordered_json& record : records) add_machine(record, std::nullopt, current_gpu());
  merge_records(file, records);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {1024, 2048, 4096};
  std::string file;
  const std::string step = STEP, name = "errors_" + step;
  CLI::App app("The error of every variant of " + step + " on five kinds of data, relative to |A||B|.");
  app.add_option("--size", sizes, "m, n and k")->delimiter(',')->capture_default_str()->check(CLI::Range(1, 8192));
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program(name.c_str(), app, argc, argv, [&] { return run(step, sizes, file); });
}
