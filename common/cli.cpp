#include "common/cli.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <limits>
#include <map>

#include "common/check.h"

namespace {

std::vector<Shape> product_of(const std::vector<int>& m_and_n, const std::vector<int>& ks) {
  std::vector<Shape> shapes;
  for (int m : m_and_n)
    for (int n : m_and_n)
      for (int k : ks) shapes.push_back({m, n, k});
  return shapes;
}

const std::map<std::string, BaselineKind> BASELINES = {
    {"none", BaselineKind::none}, {"cublas", BaselineKind::cublas}, {"cublaslt", BaselineKind::cublaslt}};
const std::map<std::string, VerifyMode> VERIFY_MODES = {
    {"full", VerifyMode::full}, {"sample", VerifyMode::sample}, {"off", VerifyMode::off}};

template <typename Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return names;
}

// What CLI11 says is right but long; its first line is what a reader needs.
[[noreturn]] void refuse(const CLI::ParseError& error) {
  std::string line = error.what();
  line = line.substr(0, line.find('\n'));
  throw BadInput(line + "; --help lists the options");
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  std::vector<int> sizes;
  int m = 0, n = 0, k = 0;
  std::string sweep;
  CLI::App app("C = alpha * A * B + beta * C: one step of the ladder, verified, timed against cuBLAS.");
  app.get_formatter()->column_width(34);

  const auto positive = CLI::Range(1, std::numeric_limits<int>::max());
  auto* size_option = app.add_option("--size", sizes, "square sizes: m = n = k (default 4096)")->check(positive);
  auto* m_option = app.add_option("--m", m, "rows of A and C")->check(positive);
  auto* n_option = app.add_option("--n", n, "columns of B and C")->check(positive);
  auto* k_option = app.add_option("--k", k, "columns of A, rows of B")->check(positive);
  auto* sweep_option = app.add_option("--sweep", sweep, "a list of sizes: square, sgemm27, hgemm125 or hgemm27")
                           ->check(CLI::IsMember({"square", "sgemm27", "hgemm125", "hgemm27"}));
  for (CLI::Option* one : {m_option, n_option, k_option}) one->excludes(size_option)->excludes(sweep_option);
  size_option->excludes(sweep_option);
  app.add_option("--lda", options.lda, "elements between two rows of A")->check(positive);
  app.add_option("--ldb", options.ldb, "elements between two stored rows of B")->check(positive);
  app.add_option("--ldc", options.ldc, "elements between two rows of C")->check(positive);
  app.add_option("--variant", options.variant, "which variant of the step, or all");
  app.add_flag("--list", options.list, "list the variants and stop");
  app.add_option("--alpha", options.alpha, "factor of A * B (default 1)");
  app.add_option("--beta", options.beta, "factor of the old C (default 0: C is not read)");
  app.add_option("--warmup", options.timing.warmup, "untimed calls first (default 2)")->check(CLI::Range(0, 1000));
  auto* min_time = app.add_option("--min-time", options.timing.min_seconds,
                                  "seconds a side and round (default 0.1; 0.5 for tensor cores)")
                       ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--rounds", options.timing.rounds, "rounds of kernel and baseline in turn (default 3)")
      ->check(CLI::Range(1, 1000));
  std::string baseline, verify;
  app.add_option("--baseline", baseline, "cublas (default), cublaslt or none")->check(CLI::IsMember(names_of(BASELINES)));
  app.add_option("--verify", verify, "full, sample or off (default: full up to 4096^3, then sample)")
      ->check(CLI::IsMember(names_of(VERIFY_MODES)));
  app.add_option("--json", options.json, "merge the records into this JSON Lines file");
  app.add_option("--seed", options.seed, "seed of the random inputs (default 1)");
  app.add_flag("--show-matrix", options.show_matrix, "print the upper left corners of A, B and C");
  app.add_option("--cooldown", options.cooldown_seconds, "seconds to rest before each measurement")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--swizzle-stride", options.launch.swizzle_stride, "columns of C a block swizzle walks (tensor-core steps)")
      ->check(positive);
  app.add_flag("--sim", options.simulate, "run in the simulator and print what it counts");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refuse(error);
  }
  if (!baseline.empty()) options.baseline = BASELINES.at(baseline);
  if (!verify.empty()) options.verify = VERIFY_MODES.at(verify);
  options.min_time_given = min_time->count() > 0;

  if (!sweep.empty()) options.shapes = sweep_shapes(sweep);
  for (int size : sizes) options.shapes.push_back({size, size, size});
  if (m != 0 || n != 0 || k != 0) {
    if (m == 0 || n == 0 || k == 0) throw BadInput("--m, --n and --k go together; or use --size");
    options.shapes.push_back({m, n, k});
  }
  return options;
}

std::vector<Shape> sweep_shapes(const std::string& name) {
  if (name == "square") {
    std::vector<Shape> shapes;
    for (int size : {1024, 2048, 4096, 8192, 16384}) shapes.push_back({size, size, size});
    return shapes;
  }
  if (name == "sgemm27") return product_of({4096, 8192, 16384}, {2048, 4096, 8192});
  if (name == "hgemm125") return product_of({1024, 2048, 4096, 8192, 16384}, {512, 1024, 2048, 4096, 8192});
  if (name == "hgemm27") return product_of({1024, 2048, 4096}, {256, 512, 1024});
  throw BadInput("no sweep is called " + name + "; there are square, sgemm27, hgemm125 and hgemm27");
}
