#include <chrono>
#include <iostream>
#include <thread>

#include "common/harness/record.h"
#include "common/harness/report.h"
#include "common/harness/simulated.h"

namespace {

constexpr double TENSOR_CORE_SECONDS = 0.5;                     // until clocks have settled at the power limit
constexpr std::size_t RESERVED_BYTES = std::size_t{512} << 20;  // the libraries' workspaces and code

TimingPlan plan_for(const Options& options, const Variant& variant, const RotatingInputs& inputs) {
  TimingPlan plan = options.timing;
  if (!options.min_time_given && variant.tensor_cores) plan.min_seconds = TENSOR_CORE_SECONDS;
  plan.input_sets = inputs.count();
  return plan;
}

Timing timed(const Session& session, const Work& work, const LaunchOptions& launch, const RotatingInputs& inputs) {
  const Variant* const variant = work.variant;
  const Enqueue kernel = [&](int call, cudaStream_t stream) { variant->launch(inputs[call], launch, stream); };
  std::vector<std::unique_ptr<Baseline>> libraries;
  std::vector<Rival> rivals;
  for (const BaselineKind kind : baselines_for(session.options.baseline, *variant, session.is_default(*variant))) {
    libraries.push_back(make_baseline(kind, *variant, session.arch, inputs, session.stream));
    Baseline* const library = libraries.back().get();
    rivals.push_back({name_of(kind),
                      [library, &inputs](int call, cudaStream_t stream) { library->launch(inputs[call], stream); },
                      may_be_best(kind), library->kernel()});
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(session.options.cooldown_seconds));
  return time_in_turn(plan_for(session.options, *variant, inputs), kernel, rivals, session.stream);
}

}  // namespace

bool launch_once(const Session& session, const Work& work) {
  const auto& [variant, shape, launch, instead_of] = work;
  const VerifyMode mode = variant->left_out.empty() ? session.options.verify : VerifyMode::off;
  require_memory(verification_bytes(*variant, shape, mode) + RESERVED_BYTES);
  Verifier verifier(*variant, shape, mode, session.options.seed);
  const Comparison found = verifier.check(InputKind::normal, launch, session.stream);
  if (!report_verdict(std::cerr, work, found, "launched once")) return false;
  print_fingerprint(std::cout, session.step, work, verifier.matrices());
  return true;
}

bool measure(const Session& session, ResultTable& table, const Work& work) {
  const Options& options = session.options;
  const auto& [variant, shape, launch, instead_of] = work;
  const VerifyMode mode = variant->left_out.empty() ? options.verify : VerifyMode::off;
  require_memory(verification_bytes(*variant, shape, mode) + RESERVED_BYTES);
  Verifier verifier(*variant, shape, mode, options.seed);
  const Comparison before = verifier.run(launch, session.stream);
  if (!report_verdict(std::cerr, work, before, "before timing")) return false;

  const RotatingInputs inputs(verifier.matrices(), *variant, shape, session.gpu.l2_bytes, options.seed);
  const Timing timing = timed(session, work, verifier.complete(launch), inputs);

  const Comparison after = verifier.run(launch, session.stream);
  if (!report_verdict(std::cerr, work, after, "after timing")) return false;
  table.add(work, timing, after);
  if (options.show_matrix) print_corners(std::cout, verifier.matrices());
  if (!options.json.empty())
    merge_records(options.json, timing_records(session.step, *variant, session.is_default(*variant), shape, launch,
                                               timing, after, session.gpu));
  return true;
}

bool count(const Session& session, const Work& work) {
  const Options& options = session.options;
  const auto& [variant, shape, launch, instead_of] = work;
  require_memory(verification_bytes(*variant, shape, options.verify));
  Verifier verifier(*variant, shape, options.verify, options.seed);

  simulated::begin();
  Comparison found = verifier.check(InputKind::exact, launch, session.stream);
  auto [reports, warnings] = simulated::mistakes();
  simulated::begin();  // the counts are of one launch
  if (found.passed) found = verifier.check(InputKind::normal, launch, session.stream);
  const simulated::Outcome counted = simulated::end();
  if (reports.empty()) reports = counted.reports;

  if (warnings.empty()) warnings = counted.warnings;

  for (const std::string& report : reports) std::cerr << report << "\n";
  for (const std::string& warning : warnings) std::cerr << warning << "\n";
  const bool fine = report_verdict(std::cerr, work, found, "in the simulator") && reports.empty();
  const char* verdict = !fine ? "WRONG" : options.verify == VerifyMode::off ? "not checked" : "right";
  std::cout << session.step << " " << variant->name << ", m " << shape.m << " n " << shape.n << " k " << shape.k
            << ", in the simulator: " << verdict << "\n";
  if (options.show_matrix) print_corners(std::cout, verifier.matrices());
  if (options.fingerprint) print_fingerprint(std::cout, session.step, work, verifier.matrices());
  if (!fine) return false;
  simulated::print(std::cout, counted);
  if (!options.json.empty()) {
    nlohmann::ordered_json record = identity_record(session.step, *variant, session.is_default(*variant), shape);
    if (launch.swizzle_stride != 0) record["options"] = options_record(launch);
    record["kernels"] = counted.kernels;
    record["counts"] = counted.counts;
    record["blocks"] = counted.blocks;
    record["threads"] = counted.threads;
    record["lines"] = counted.lines;
    merge_records(options.json, {record});
  }
  return true;
}
