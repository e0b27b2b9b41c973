// The main program of every step: parse, refuse what cannot be done, verify, time, report, record.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "common/cli.h"
#include "common/record.h"
#include "common/report.h"
#include "common/simulated.h"

namespace {

constexpr int EXIT_CHECK_FAILED = 1, EXIT_BAD_INPUT = 2;
constexpr int DEFAULT_SIZE = 4096;
constexpr int SIMULATED_BLOCKS = 2, SIMULATED_SLICES = 3, SIMULATED_LEAST = 64;

// A step is called by the name of its executable.
std::string step_name(const char* argv0) { return std::filesystem::path(argv0).filename().string(); }

bool gpu_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

std::vector<Variant> chosen_variants(const std::vector<Variant>& all, const std::string& name) {
  if (name == "all") return all;
  if (name.empty()) return {all.front()};
  std::string names;
  for (const Variant& variant : all) {
    if (variant.name == name) return {variant};
    names += " " + variant.name;
  }
  throw BadInput("no variant is called " + name + "; this step has:" + names);
}

// At least 2 x 2 blocks and 3 slices of K: the smallest size at which every part of a kernel runs.
Shape simulated_default(const Variant& v) {
  const auto at_least = [](int block, int count) {
    return std::max(block * count, (SIMULATED_LEAST + block - 1) / block * block);
  };
  const int k = std::max(at_least(v.block_k, SIMULATED_SLICES), v.min_k);
  return {at_least(v.block_m, SIMULATED_BLOCKS), at_least(v.block_n, SIMULATED_BLOCKS), k};
}

// Matrices beside the verified one, so that consecutive calls read data that the L2 has forgotten.
class RotatingInputs {
 public:
  RotatingInputs(const Verifier& first, const Variant& variant, const Shape& shape, std::size_t l2_bytes,
                 std::size_t free_bytes, std::uint64_t seed) {
    problems_.push_back(first.problem());
    const std::size_t wanted = 2 * l2_bytes / first.bytes() + 1;
    const std::size_t affordable = free_bytes / 2 / first.bytes();
    for (std::size_t i = 1; i <= std::min(wanted, affordable); ++i) {
      sets_.push_back(std::make_unique<Verifier>(variant, shape, VerifyMode::off, seed + i));
      sets_.back()->run({}, nullptr);
      problems_.push_back(sets_.back()->problem());
    }
  }
  const Problem& operator[](int call) const { return problems_[call % problems_.size()]; }

 private:
  std::vector<std::unique_ptr<Verifier>> sets_;
  std::vector<Problem> problems_;
};

void require_memory(const Variant& variant, const Shape& shape, VerifyMode mode) {
  std::size_t free_bytes = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
  const std::size_t needed = verification_bytes(variant, shape, mode);
  if (needed > free_bytes)
    throw BadInput("this size needs " + std::to_string(needed >> 20) + " MiB of GPU memory, " +
                   std::to_string(free_bytes >> 20) + " MiB are free; choose a smaller size, or --verify sample");
}

struct Session {
  std::string step;
  Options options;
  std::vector<Variant> all;
  Gpu gpu;
  cudaStream_t stream = nullptr;

  bool is_default(const Variant& variant) const { return variant.name == all.front().name; }
};

// Prints what failed; returns whether all is well.
bool right(const Variant& variant, const Shape& shape, const Comparison& found, const char* when) {
  if (!found.passed)
    std::cerr << "WRONG RESULT " << when << ": variant " << variant.name << ", m " << shape.m << " n " << shape.n
              << " k " << shape.k << ": " << found.message() << "\n";
  return found.passed;
}

bool simulate(const Session& session, const Variant& variant, const Shape& shape) {
  const Options& options = session.options;
  Verifier verifier(variant, shape, options.verify, options.seed);
  simulated::begin();
  Comparison found = verifier.check(InputKind::exact, options.launch, session.stream);
  std::vector<std::string> reports = simulated::end().reports;
  simulated::begin();  // the counts are of one launch
  if (found.passed) found = verifier.check(InputKind::normal, options.launch, session.stream);
  const simulated::Outcome counted = simulated::end();
  if (reports.empty()) reports = counted.reports;

  const bool fine = right(variant, shape, found, "in the simulator") && reports.empty();
  for (const std::string& report : reports) std::cerr << report << "\n";
  std::cout << session.step << " " << variant.name << ", m " << shape.m << " n " << shape.n << " k " << shape.k
            << ", in the simulator: " << (fine ? "right" : "WRONG") << "\n";
  if (session.options.show_matrix) print_corners(std::cout, verifier);
  if (!fine) return false;
  simulated::print(std::cout, counted);
  if (!session.options.json.empty()) {
    nlohmann::ordered_json record = identity_record(session.step, variant, session.is_default(variant), shape);
    record["counts"] = counted.counts;
    merge_records(session.options.json, {record});
  }
  return true;
}

bool measure(const Session& session, ResultTable& table, const Variant& variant, const Shape& shape) {
  const Options& options = session.options;
  require_memory(variant, shape, options.verify);
  Verifier verifier(variant, shape, options.verify, options.seed);
  const Comparison before = verifier.run(options.launch, session.stream);
  if (!right(variant, shape, before, "before timing")) return false;
  if (options.show_matrix) print_corners(std::cout, verifier);

  std::this_thread::sleep_for(std::chrono::duration<double>(options.cooldown_seconds));
  const RotatingInputs inputs(verifier, variant, shape, session.gpu.l2_bytes, session.gpu.free_bytes, options.seed);
  const auto baseline = make_baseline(options.baseline.value_or(BaselineKind::cublas), variant, inputs[0], session.stream);
  const Enqueue kernel = [&](int call, cudaStream_t stream) { variant.launch(inputs[call], options.launch, stream); };
  const Enqueue other = [&](int call, cudaStream_t stream) { baseline->launch(inputs[call], stream); };
  TimingPlan plan = options.timing;
  if (!options.min_time_given && variant.tensor_cores) plan.min_seconds = 0.5;
  const Timing timing = time_in_turn(plan, kernel, baseline ? other : Enqueue(), session.stream);

  const Comparison after = verifier.run(options.launch, session.stream);
  if (!right(variant, shape, after, "after timing")) return false;
  const std::string baseline_name = baseline ? baseline->name() : "";
  table.add(variant, shape, timing, baseline_name, after);
  if (!options.json.empty())
    merge_records(options.json, {timing_record(session.step, variant, session.is_default(variant), shape, options.launch,
                                               timing, baseline_name.empty() ? "none" : baseline_name, after, session.gpu)});
  return true;
}

int list(const Session& session) {
  if (session.options.json.empty()) {
    print_variants(std::cout, session.step, session.all);
    return 0;
  }
  std::vector<nlohmann::ordered_json> records;
  for (const Variant& variant : session.all)
    records.push_back(variant_record(session.step, variant, session.is_default(variant)));
  merge_records(session.options.json, records);
  return 0;
}

int run(int argc, char** argv) {
  std::optional<Options> options = parse_options(argc, argv);
  if (!options) return 0;
  Session session{step_name(argv[0]), std::move(*options), variants(), {}};
  const std::vector<Variant> chosen = chosen_variants(session.all, session.options.variant);
  if (!session.options.json.empty()) require_writable(session.options.json);
  if (session.options.list) return list(session);
  if (session.options.verify == VerifyMode::off && !session.options.json.empty())
    throw BadInput("--json records only what was verified; leave out --verify off");

  // Everything is refused before anything is launched.
  std::vector<std::pair<const Variant*, Shape>> work;
  for (const Variant& variant : chosen) {
    std::vector<Shape> shapes = session.options.shapes;
    if (shapes.empty()) shapes = {{DEFAULT_SIZE, DEFAULT_SIZE, DEFAULT_SIZE}};
    const bool small = session.options.shapes.empty() && (session.options.simulate || simulated::active() || !gpu_present());
    if (small) shapes = {simulated_default(variant)};
    for (const Shape& shape : shapes) {
      work.emplace_back(&variant, completed(shape, session.options, variant));
      require_accepted(variant, work.back().second);
    }
  }

  if (!simulated::active() && (session.options.simulate || !gpu_present())) {
    if (!simulated::library())
      throw BadInput(session.options.simulate ? "the simulator is not built; run: meson compile -C build"
                                              : "no CUDA GPU was found, and the simulator is not built; run on a machine "
                                                "with an NVIDIA GPU and its driver");
    if (!session.options.simulate) std::cout << "no CUDA GPU was found: running in the simulator\n" << std::flush;
    simulated::restart_in_simulator(argv);
  }

  bool fine = true;
  if (simulated::active()) {
    for (const auto& [variant, shape] : work) fine = simulate(session, *variant, shape) && fine;
    return fine ? 0 : EXIT_CHECK_FAILED;
  }
  session.gpu = current_gpu();
  CUDA_CHECK(cudaStreamCreate(&session.stream));
  ResultTable table(std::cout, session.step, session.gpu);
  for (const auto& [variant, shape] : work) fine = measure(session, table, *variant, shape) && fine;
  return fine ? 0 : EXIT_CHECK_FAILED;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const BadInput& error) {
    std::cerr << step_name(argv[0]) << ": " << error.what() << "\n";
    return EXIT_BAD_INPUT;
  } catch (const CudaError& error) {
    std::cerr << step_name(argv[0]) << ": " << error.what() << "\n";
    return EXIT_CHECK_FAILED;
  }
}
