// Measures the errors of a step's variants, and of cuBLAS on the same elements, on five kinds of data, prints them and,
// if asked, records them. In the simulator there is no cuBLAS, and nothing is recorded.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/harness/baseline.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/errors/measure.h"
#include "lab/program.h"

namespace {

using nlohmann::ordered_json;

// Of cuBLAS, which is told the types alone.
template <class AB, class Acc, class Out>
Variant library(const char* name) {
  return Variant(name, +[](const Gemm<AB, Acc, Out>&, const LaunchOptions&, cudaStream_t) {});
}

struct LibraryCall {
  Variant variant;
  BaselineKind kind = BaselineKind::cublas;
};

// The libraries' products of the same elements.
std::vector<LibraryCall> libraries(DType ab) {
  if (ab == DType::e4m3) {
    using e4m3 = __nv_fp8_e4m3;
    Variant fast = library<e4m3, float, __nv_bfloat16>("cublaslt_e4m3_fast_sums");
    Variant promoted = library<e4m3, float, __nv_bfloat16>("cublaslt_e4m3");
    return {{fast.tn(), BaselineKind::cublaslt_fast_sums}, {promoted.tn(), BaselineKind::cublaslt}};
  }
  if (ab == DType::f16)
    return {{library<__half, __half, __half>("cublas_f16_sums")}, {library<__half, float, __half>("cublas_f16")}};
  if (ab == DType::bf16) return {{library<__nv_bfloat16, float, __nv_bfloat16>("cublas_bf16")}};
  return {{library<float, float, float>("cublas")}, {library<tf32_t, float, float>("cublas_tf32")}};
}

// The variants to measure: those that were named, or all that multiply floating-point numbers, blocks of which have no
// factors of their own.
std::vector<Variant> chosen(const std::vector<std::string>& names) {
  std::vector<Variant> found;
  for (const Variant& variant : all_variants()) {
    const bool named = std::find(names.begin(), names.end(), variant.name) != names.end();
    const bool of_floats = variant.ab != DType::s8 && !variant.scaled;
    if (names.empty() ? of_floats && variant.left_out.empty() : named) found.push_back(variant);
  }
  if (found.empty()) throw BadInput("no variant of this step is among those that were named");
  return found;
}

// One product after the other of the same size on the same data, of floats that each rounds to its own type. What is
// exact is the product of the floats; where elements have 8 bits, that of the elements themselves: whoever has such
// matrices has rounded before, by scales of his own, and what the rounding lost would hide what the sums lose. How far
// the result is from the product of the floats is recorded besides.
class Measurement {
 public:
  Measurement(const std::string& step, const std::vector<Variant>& variants, int size, cudaStream_t stream,
              std::vector<ordered_json>& records)
      : variants_(variants), step_(step), size_(size), stream_(stream), shape_(of(floats_)), records_(records) {}

  void run(Data kind) {
    fill(matrices_, kind, 1);
    const Reference reference = exact(matrices_, shape_);
    for (const Variant& variant : variants_) {
      const DeviceBuffer workspace(variant.workspace_bytes(size_, size_, size_));
      LaunchOptions options;
      options.workspace = workspace.get();
      measure(step_, variant, kind, reference,
              [&](const Matrices& own, const Shape& shape) { variant.launch(own.problem(shape), options, nullptr); });
    }
    if (simulated::active()) return;
    for (const auto& [variant, baseline] : libraries(variants_.front().ab)) {
      measure("cublas", variant, kind, reference, [&](const Matrices& own, const Shape& shape) {
        const RotatingInputs inputs(own, variant, shape, 0, 1);
        make_baseline(baseline, variant, "", inputs, stream_)->launch(own.problem(shape), stream_);
        CUDA_CHECK(cudaDeviceSynchronize());
      });
    }
  }

 private:
  Shape of(const Variant& variant) const { return completed({size_, size_, size_}, {}, variant); }

  template <class Launch>
  void measure(const std::string& step, const Variant& variant, Data kind, const Reference& of_floats,
               const Launch& launch) {
    const Shape shape = of(variant);
    Matrices own(variant, shape);
    round_to(matrices_, own, variant.b_transposed);
    own.c.poison();
    launch(own, shape);
    CUDA_CHECK(cudaDeviceSynchronize());
    const Error error = bytes_of(variant.ab) > 1 ? error_of(own.c, of_floats)
                                                 : error_of(own.c, exact(own, shape, variant.b_transposed));
    std::printf("%6d  %-8s  %-16s  rms 2^%6.2f  largest 2^%6.2f  relative %.3g\n", size_, name_of(kind),
                std::string(variant.name).c_str(), std::log2(error.rms), std::log2(error.largest), error.relative);
    if (!std::isfinite(error.rms)) return;  // beyond the type: nothing that a record could hold
    ordered_json record = identity_record(step, variant, false, shape);
    record.erase("default");
    record["data"] = name_of(kind);
    record["rms"] = error.rms;
    record["largest"] = error.largest;
    record["relative"] = error.relative;
    if (bytes_of(variant.ab) == 1) record["relative_to_floats"] = error_of(own.c, of_floats).relative;
    records_.push_back(record);
  }

  std::vector<Variant> variants_;
  std::string step_;
  int size_;
  cudaStream_t stream_;  // of the libraries
  Variant floats_ = library<float, float, float>("cublas");
  Shape shape_;
  Matrices matrices_{floats_, shape_};
  std::vector<ordered_json>& records_;
};

int run(const std::string& step, const std::vector<int>& sizes, const std::vector<std::string>& names,
        const std::string& file) {
  const bool on_gpu = !simulated::active();
  if (!file.empty() && !on_gpu) throw BadInput("--json: what the simulator computes is no measurement; leave it out");
  if (!file.empty()) require_writable(file);
  if (on_gpu && !gpu_present()) {
    std::puts("skipped: no GPU was found");
    return EXIT_SKIPPED;
  }
  const std::vector<Variant> variants = chosen(names);
  cudaStream_t stream = nullptr;  // not the default one, which no graph can be captured on
  if (on_gpu) CUDA_CHECK(cudaStreamCreate(&stream));
  std::vector<ordered_json> records;
  for (const int size : sizes) {
    Measurement measurement(step, variants, size, stream, records);
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
  std::vector<std::string> names;
  std::string file;
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  const std::string step = name.substr(std::string("errors_").size());
  CLI::App app("The error of every variant of " + step + " on five kinds of data, relative to |A||B|.");
  app.add_option("--size", sizes, "m, n and k")->delimiter(',')->capture_default_str()->check(CLI::Range(1, 8192));
  app.add_option("--variant", names, "which variants; all of floating-point numbers where it is left out")
      ->delimiter(',');
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program(name.c_str(), app, argc, argv, [&] { return run(step, sizes, names, file); });
}
