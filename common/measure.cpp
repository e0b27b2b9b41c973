#include "common/measure.h"

#include <chrono>
#include <iostream>
#include <thread>

#include "common/record.h"
#include "common/record_file.h"
#include "common/rotating_inputs.h"

namespace {

constexpr double TENSOR_CORE_SECONDS = 0.5;                     // until clocks have settled at the power limit
constexpr std::size_t RESERVED_BYTES = std::size_t{256} << 20;  // the library's workspace and code

TimingPlan plan_for(const Options& options, const Variant& variant, const RotatingInputs& inputs) {
  TimingPlan plan = options.timing;
  if (!options.min_time_given && variant.tensor_cores) plan.min_seconds = TENSOR_CORE_SECONDS;
  plan.input_sets = inputs.count();
  return plan;
}

Timing timed(const Session& session, const Variant& variant, const RotatingInputs& inputs, Baseline* baseline) {
  const LaunchOptions& launch = session.options.launch;
  const Enqueue kernel = [&](int call, cudaStream_t stream) { variant.launch(inputs[call], launch, stream); };
  const Enqueue other = [&](int call, cudaStream_t stream) { baseline->launch(inputs[call], stream); };
  std::this_thread::sleep_for(std::chrono::duration<double>(session.options.cooldown_seconds));
  const TimingPlan plan = plan_for(session.options, variant, inputs);
  return time_in_turn(plan, kernel, baseline != nullptr ? other : Enqueue(), session.stream);
}

}  // namespace

bool measure(const Session& session, ResultTable& table, const Work& work) {
  const Options& options = session.options;
  const auto& [variant, shape] = work;
  const VerifyMode mode = variant->left_out.empty() ? options.verify : VerifyMode::off;
  require_memory(verification_bytes(*variant, shape, mode) + RESERVED_BYTES);
  Verifier verifier(*variant, shape, mode, options.seed);
  const Comparison before = verifier.run(options.launch, session.stream);
  if (!report_verdict(std::cerr, work, before, "before timing")) return false;

  const RotatingInputs inputs(verifier.matrices(), *variant, shape, session.gpu.l2_bytes, options.seed);
  const auto baseline = make_baseline(options.baseline, *variant, inputs[0], session.stream);
  const Timing timing = timed(session, *variant, inputs, baseline.get());

  const Comparison after = verifier.run(options.launch, session.stream);
  if (!report_verdict(std::cerr, work, after, "after timing")) return false;
  const std::string library = baseline ? baseline->name() : "none";
  table.add(*variant, shape, timing, library, after);
  if (options.show_matrix) print_corners(std::cout, verifier.matrices());
  if (!options.json.empty())
    merge_records(options.json, {timing_record(session.step, *variant, session.is_default(*variant), shape,
                                               options.launch, timing, library, after, session.gpu)});
  return true;
}
