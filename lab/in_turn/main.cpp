// Times the variants of a step in turn with each other, and beside them the libraries. A measurement of one variant
// after the other finds the GPU warmer or colder; here all of a size share its state.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "common/device/also.h"
#include "common/harness/baseline.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/verify.h"
#include "lab/program.h"

namespace {

constexpr const char* STEP = "29_split_k";
constexpr std::uint64_t SEED = 1;

/// A line of the plan: m n k beta seconds rounds, and the names of variants, `cublas` and `cublaslt` among them.
struct Line {
  Shape shape;
  TimingPlan plan;
  std::vector<const Variant*> variants;
  std::vector<BaselineKind> libraries;
};

Line parsed(const std::string& text, const std::vector<Variant>& known) {
  Line line;
  std::istringstream words(text);
  if (!(words >> line.shape.m >> line.shape.n >> line.shape.k >> line.shape.beta >> line.plan.min_seconds >>
        line.plan.rounds))
    throw BadInput("not m n k beta seconds rounds and names: " + text);
  for (std::string name; words >> name;) {
    const auto named = [&](const Variant& one) { return one.name == name; };
    const auto found = std::find_if(known.begin(), known.end(), named);
    if (name == "cublas" || name == "cublaslt")
      line.libraries.push_back(name == "cublas" ? BaselineKind::cublas : BaselineKind::cublaslt);
    else if (found != known.end())
      line.variants.push_back(&*found);
    else
      throw BadInput("there is no variant " + name);
  }
  if (line.variants.empty()) throw BadInput("no variant is named: " + text);
  return line;
}

/// Verifies all of a line, times them, prints a row and records what was measured.
void measure(const Line& line, const Gpu& gpu, cudaStream_t stream, std::vector<nlohmann::ordered_json>& records) {
  const Shape shape = completed(line.shape, {}, *line.variants.front());
  ReferenceStore references;
  std::vector<Comparison> verified;
  for (const Variant* variant : line.variants) {
    require_accepted(*variant, shape);
    Verifier verifier(*variant, shape, VerifyMode::sample, SEED, &references);
    verified.push_back(verifier.run(verifier.complete({}), stream));
    if (!verified.back().passed) throw BadInput(std::string(variant->name) + " is wrong at " + std::to_string(shape.m));
  }
  const Variant& first = *line.variants.front();
  Matrices matrices(first, shape);
  matrices.draw(first, shape, InputKind::normal, SEED);
  matrices.c.fill(Matrices::recipe(first, shape, InputKind::normal, SEED, 2));
  const RotatingInputs inputs(matrices, first, shape, gpu.l2_bytes, SEED);
  const auto enqueue_of = [&inputs](const Variant* variant) {
    return Enqueue([variant, &inputs](int call, cudaStream_t stream) { variant->launch(inputs[call], {}, stream); });
  };
  std::vector<Rival> rivals;
  for (std::size_t i = 1; i < line.variants.size(); ++i)
    rivals.push_back({std::string(line.variants[i]->name), enqueue_of(line.variants[i]), false});
  std::vector<std::unique_ptr<Baseline>> libraries;
  for (const BaselineKind kind : line.libraries) {
    libraries.push_back(make_baseline(kind, first, step_arch(), inputs, stream));
    Baseline* const library = libraries.back().get();
    rivals.push_back(
        {name_of(kind), [library, &inputs](int call, cudaStream_t stream) { library->launch(inputs[call], stream); }});
  }
  TimingPlan plan = line.plan;
  plan.input_sets = inputs.count();
  const Timing timing = time_in_turn(plan, enqueue_of(&first), rivals, stream);

  std::printf("%d %d %d beta %g:", shape.m, shape.n, shape.k, shape.beta);
  for (std::size_t i = 0; i <= rivals.size(); ++i) {
    const Spread ms = i == 0 ? timing.ms : timing.against[i - 1].ms;
    std::printf("  %s %.4g (%.4g-%.4g)", i == 0 ? std::string(first.name).c_str() : rivals[i - 1].name.c_str(),
                ms.median * 1e3, ms.p20 * 1e3, ms.p80 * 1e3);
    if (i >= line.variants.size()) continue;
    Timing alone;
    alone.ms = ms;
    for (const auto& record : timing_records(STEP, *line.variants[i], false, shape, {}, alone, verified[i], gpu))
      records.push_back(record);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::string plan, file;
  CLI::App app("Times variants of step 29 in turn with each other.");
  app.add_option("plan", plan, "a file: per line m n k beta seconds rounds, then names")->required();
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program("in_turn", app, argc, argv, [&] {
    if (!file.empty()) require_writable(file);
    if (!gpu_present()) {
      std::puts("skipped: no GPU was found");
      return EXIT_SKIPPED;
    }
    const std::vector<Variant> known = all_variants();
    const Gpu gpu = current_gpu();
    cudaStream_t stream = nullptr;  // not the default one, which no graph can be captured on
    CUDA_CHECK(cudaStreamCreate(&stream));
    std::ifstream lines(plan);
    if (!lines) throw BadInput("cannot read " + plan);
    for (std::string text; std::getline(lines, text);) {
      std::vector<nlohmann::ordered_json> records;
      measure(parsed(text, known), gpu, stream, records);
      if (!file.empty()) merge_records(file, records);
    }
    return 0;
  });
}
