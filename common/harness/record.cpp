#include "common/harness/record.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace {

using nlohmann::ordered_json;

std::string today() {
  std::array<char, 16> text{};
  const std::time_t now = std::time(nullptr);
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

// What git says of the checkout that this executable was built in, or "unknown".
std::string asked_commit() {
  std::error_code failed;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string folder = executable.parent_path().string();
  if (failed || folder.find('\'') != std::string::npos) return "unknown";
  std::string text;
  if (std::FILE* git = popen(("git -C '" + folder + "' rev-parse --short HEAD 2>/dev/null").c_str(), "r")) {
    std::array<char, 64> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), git) != nullptr) text = buffer.data();
    pclose(git);
  }
  return text.empty() ? "unknown" : text.substr(0, text.find('\n'));
}

std::string commit() {
  if (const char* given = std::getenv("GEMM_COMMIT")) return given;
  static const std::string asked_once = asked_commit();
  return asked_once;
}

// To six significant digits, more than any timing repeats: keeps records readable.
double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

void add_machine(ordered_json& record, const std::optional<Telemetry>& state, const Gpu& gpu) {
  record["gpu"] = gpu.name;
  record["driver"] = gpu.driver;
  record["cuda"] = gpu.cuda;
  if (state) {
    record["sm_mhz"] = state->sm_mhz;
    record["power_w"] = rounded(state->power_mw * 1e-3);
    record["temperature_c"] = state->temperature_c;
  }
  record["commit"] = commit();
  record["date"] = today();
}

ordered_json options_record(const LaunchOptions& options) {
  ordered_json record = ordered_json::object();
  if (options.swizzle_stride != 0) record["swizzle_stride"] = options.swizzle_stride;
  return record;
}

ordered_json identity_record(const std::string& step, const Variant& variant, bool is_default, const Shape& shape) {
  ordered_json record = {{"step", step},
                         {"variant", variant.name},
                         {"default", is_default},
                         {"m", shape.m},
                         {"n", shape.n},
                         {"k", shape.k},
                         {"a", name_of(variant.ab)},
                         {"b", name_of(variant.b)},
                         {"acc", name_of(variant.acc)},
                         {"c", name_of(variant.out)},
                         {"layout", variant.b_transposed ? "TN" : "NN"},
                         {"alpha", rounded(shape.alpha)},
                         {"beta", rounded(shape.beta)}};
  if (shape.lda != shape.k) record["lda"] = shape.lda;
  if (shape.ldb != (variant.b_transposed ? shape.k : shape.n)) record["ldb"] = shape.ldb;
  if (shape.ldc != shape.n) record["ldc"] = shape.ldc;
  return record;
}

std::vector<ordered_json> timing_records(const std::string& step, const Variant& variant, bool is_default,
                                         const Shape& shape, const LaunchOptions& options, const Timing& timing,
                                         const Comparison& verified, const Gpu& gpu) {
  const auto record_of = [&](const Against* against) {
    ordered_json record = identity_record(step, variant, is_default, shape);
    record["ms"] = rounded(timing.ms.median);
    record["ms_p20"] = rounded(timing.ms.p20);
    record["ms_p80"] = rounded(timing.ms.p80);
    record["tflops"] = rounded(tflops(shape, timing.ms.median));
    record["baseline"] = against == nullptr ? "none" : against->name;
    if (against != nullptr) {
      record["baseline_ms"] = rounded(against->ms.median);
      record["baseline_tflops"] = rounded(tflops(shape, against->ms.median));
      record["ratio"] = rounded(against->ratio.median);
      record["ratio_p20"] = rounded(against->ratio.p20);
      record["ratio_p80"] = rounded(against->ratio.p80);
      if (!against->kernel.empty()) record["baseline_kernel"] = against->kernel;
    }
    if (variant.left_out.empty()) {
      record["error"] = rounded(verified.error);
      record["worst_of_bound"] = rounded(verified.worst_of_bound);
    } else {
      record["leaves_out"] = variant.left_out;
    }
    record["options"] = options_record(options);
    add_machine(record, timing.state, gpu);
    return record;
  };
  if (timing.against.empty()) return {record_of(nullptr)};
  std::vector<ordered_json> records;
  for (const Against& against : timing.against) records.push_back(record_of(&against));
  if (timing.best) {
    ordered_json best = records[*timing.best];
    best["library"] = best["baseline"];
    best["baseline"] = BEST_LIBRARY;
    records.push_back(best);
  }
  return records;
}

ordered_json limit_record(const std::string& name, DType ab, DType acc, double flop, const Timing& timing,
                          const Gpu& gpu) {
  const auto speed = [&](double ms) { return rounded(flop / (ms * 1e9)); };
  ordered_json record = {{"limit", name},
                         {"a", name_of(ab)},
                         {"acc", name_of(acc)},
                         {"tflops", speed(timing.ms.median)},
                         {"tflops_p20", speed(timing.ms.p80)},
                         {"tflops_p80", speed(timing.ms.p20)}};
  add_machine(record, timing.state, gpu);
  return record;
}

ordered_json variant_record(const std::string& step, const Variant& variant, bool is_default) {
  ordered_json record = {{"step", step},
                         {"variant", variant.name},
                         {"default", is_default},
                         {"a", name_of(variant.ab)},
                         {"acc", name_of(variant.acc)},
                         {"c", name_of(variant.out)},
                         {"layout", variant.b_transposed ? "TN" : "NN"},
                         {"multiple_m", variant.multiple_m},
                         {"multiple_n", variant.multiple_n},
                         {"multiple_k", variant.multiple_k},
                         {"multiple_lda", variant.multiple_lda},
                         {"multiple_ldb", variant.multiple_ldb},
                         {"multiple_ldc", variant.multiple_ldc},
                         {"block", {variant.block_m, variant.block_n, variant.block_k}},
                         {"most_blocks", {variant.most_block_rows, variant.most_block_cols}},
                         {"takes_swizzle_stride", variant.takes_stride},
                         {"shared_bytes", variant.shared_bytes},
                         {"covers", variant.published_names},
                         {"note", variant.remark}};
  if (variant.digits > 0) record["digits"] = variant.digits;
  if (!variant.left_out.empty()) record["leaves_out"] = variant.left_out;
  return record;
}
