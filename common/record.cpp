#include "common/record.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "common/check.h"

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// Two records with the same values of these are of the same measurement.
constexpr std::array IDENTITY = {"step", "variant", "m",     "n",   "k",   "lda", "ldb",      "ldc",
                                 "a",    "acc",     "c",     "layout", "alpha", "beta", "baseline", "options"};

bool same_measurement(const ordered_json& x, const ordered_json& y) {
  for (const char* key : IDENTITY)
    if (x.value(key, ordered_json()) != y.value(key, ordered_json())) return false;
  return true;
}

std::string today() {
  std::array<char, 16> text{};
  const std::time_t now = std::time(nullptr);
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

// GEMM_COMMIT, else what git says, else "unknown".
std::string commit() {
  if (const char* given = std::getenv("GEMM_COMMIT")) return given;
  std::string text;
  if (std::FILE* git = popen("git rev-parse --short HEAD 2>/dev/null", "r")) {
    std::array<char, 64> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), git) != nullptr) text = buffer.data();
    pclose(git);
  }
  return text.empty() ? "unknown" : text.substr(0, text.find('\n'));
}

// Four significant digits more than any comparison needs; keeps records readable.
double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

double tflops(const Shape& shape, double ms) { return 2.0 * shape.m * shape.n * shape.k / (ms * 1e9); }

ordered_json identity_record(const std::string& step, const Variant& variant, bool is_default, const Shape& shape) {
  ordered_json record = {{"step", step},
                         {"variant", variant.name},
                         {"default", is_default},
                         {"m", shape.m},
                         {"n", shape.n},
                         {"k", shape.k},
                         {"a", name_of(variant.ab)},
                         {"b", name_of(variant.ab)},
                         {"acc", name_of(variant.acc)},
                         {"c", name_of(variant.out)},
                         {"layout", variant.b_transposed ? "TN" : "NN"},
                         {"alpha", shape.alpha},
                         {"beta", shape.beta}};
  if (shape.lda != shape.k) record["lda"] = shape.lda;
  if (shape.ldb != (variant.b_transposed ? shape.k : shape.n)) record["ldb"] = shape.ldb;
  if (shape.ldc != shape.n) record["ldc"] = shape.ldc;
  return record;
}

ordered_json timing_record(const std::string& step, const Variant& variant, bool is_default, const Shape& shape,
                           const LaunchOptions& options, const Timing& timing, const std::string& baseline,
                           const Comparison& verified, const Gpu& gpu) {
  ordered_json record = identity_record(step, variant, is_default, shape);
  record["ms"] = rounded(timing.ms.median);
  record["ms_p20"] = rounded(timing.ms.p20);
  record["ms_p80"] = rounded(timing.ms.p80);
  record["tflops"] = rounded(tflops(shape, timing.ms.median));
  record["baseline"] = baseline;
  if (timing.ratio.median > 0) {
    record["baseline_ms"] = rounded(timing.other_ms.median);
    record["baseline_tflops"] = rounded(tflops(shape, timing.other_ms.median));
    record["ratio"] = rounded(timing.ratio.median);
    record["ratio_p20"] = rounded(timing.ratio.p20);
    record["ratio_p80"] = rounded(timing.ratio.p80);
  }
  record["error"] = rounded(verified.error);
  record["worst_of_bound"] = rounded(verified.worst_of_bound);
  record["options"] = ordered_json::object();
  if (options.swizzle_stride != 0) record["options"]["swizzle_stride"] = options.swizzle_stride;
  record["gpu"] = gpu.name;
  record["driver"] = gpu.driver;
  record["cuda"] = gpu.cuda;
  if (timing.state) {
    record["sm_mhz"] = timing.state->sm_mhz;
    record["power_w"] = rounded(timing.state->power_mw * 1e-3);
    record["temperature_c"] = timing.state->temperature_c;
  }
  record["commit"] = commit();
  record["date"] = today();
  return record;
}

ordered_json variant_record(const std::string& step, const Variant& variant, bool is_default) {
  return {{"step", step},
          {"variant", variant.name},
          {"default", is_default},
          {"a", name_of(variant.ab)},
          {"acc", name_of(variant.acc)},
          {"c", name_of(variant.out)},
          {"layout", variant.b_transposed ? "TN" : "NN"},
          {"multiple_m", variant.multiple_m},
          {"multiple_n", variant.multiple_n},
          {"multiple_k", variant.multiple_k},
          {"min_k", variant.min_k},
          {"multiple_lda", variant.multiple_lda},
          {"multiple_ldb", variant.multiple_ldb},
          {"multiple_ldc", variant.multiple_ldc},
          {"block", {variant.block_m, variant.block_n, variant.block_k}},
          {"covers", variant.published_names},
          {"note", variant.remark}};
}

std::vector<ordered_json> read_records(const fs::path& file) {
  std::vector<ordered_json> records;
  if (!fs::exists(file)) return records;
  std::ifstream in(file);
  if (!in) throw BadInput("cannot read " + file.string());
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    ordered_json record = ordered_json::parse(line, nullptr, false);
    if (!record.is_object())
      throw BadInput(file.string() + ":" + std::to_string(number) + ": not a JSON object; mend or remove the line");
    records.push_back(std::move(record));
  }
  return records;
}

void merge_records(const fs::path& file, const std::vector<ordered_json>& records) {
  std::vector<ordered_json> all = read_records(file);
  for (const ordered_json& record : records) {
    const auto old = std::find_if(all.begin(), all.end(), [&](const auto& r) { return same_measurement(r, record); });
    if (old == all.end()) {
      all.push_back(record);
    } else {
      *old = record;
    }
  }
  const fs::path temporary = file.string() + ".part" + std::to_string(getpid());
  {
    std::ofstream out(temporary);
    for (const ordered_json& record : all) out << record.dump() << '\n';
    out.flush();
    if (!out) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw BadInput("cannot write " + file.string() + "; choose another --json file");
    }
  }
  std::error_code failed;
  fs::rename(temporary, file, failed);
  if (failed) {
    fs::remove(temporary, failed);
    throw BadInput("cannot write " + file.string() + "; choose another --json file");
  }
}

void require_writable(const fs::path& file) {
  std::error_code ignored;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored))
    throw BadInput("cannot write " + file.string() + ": there is no folder " + folder.string());
  const bool allowed = !fs::is_directory(file, ignored) && access(folder.c_str(), W_OK) == 0 &&
                       (!fs::exists(file, ignored) || access(file.c_str(), W_OK) == 0);
  if (!allowed) throw BadInput("cannot write " + file.string() + "; choose another --json file");
  read_records(file);  // a corrupt file is found now, not after the timing
}
