#include "common/harness/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>

#include "common/harness/errors.h"

namespace {

constexpr int MOST = std::numeric_limits<int>::max();
constexpr double MOST_SECONDS = 60;

// Accepts what `is_good` accepts; says of the rest that it is not `what`.
template <typename Predicate>
CLI::Validator checked(const std::string& what, Predicate is_good) {
  return {[=](const std::string& given) { return is_good(given) ? std::string() : "'" + given + "' is not " + what; },
          ""};
}

CLI::Validator whole(long long least, long long most) {
  return checked(
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most), [=](const std::string& given) {
        long long value = 0;
        const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
        const bool octal = given.size() > 1 && given[0] == '0';  // as which CLI11 would read it
        return error == std::errc() && end == given.data() + given.size() && !octal && least <= value && value <= most;
      });
}

CLI::Validator seconds() {
  return checked("a number of seconds from 0 to 60", [](const std::string& given) {
    double value = -1;
    return CLI::detail::lexical_cast(given, value) && 0 <= value && value <= MOST_SECONDS;
  });
}

CLI::Validator factor() {
  return checked("a finite number", [](const std::string& given) {
    float value = 0;
    return CLI::detail::lexical_cast(given, value) && std::isfinite(value);
  });
}

CLI::Validator part() {
  return checked("a part such as 2/4", [](const std::string& given) {
    int which = 0, parts = 0;
    const char *const end = given.data() + given.size(), *slash = std::from_chars(given.data(), end, which).ptr;
    if (slash == end || *slash != '/') return false;
    return std::from_chars(slash + 1, end, parts).ptr == end && 1 <= which && which <= parts;
  });
}

CLI::Validator something() {
  return checked("a name", [](const std::string& given) { return !given.empty(); });
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return checked("one of " + list,
                 [=](const std::string& given) { return std::find(names.begin(), names.end(), given) != names.end(); });
}

struct Sweep {
  const char* name;
  bool square;            // m = n = k
  std::vector<int> m, k;  // m and n each take all of m
};

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> all = {
      {"square", true, {1024, 2048, 4096, 8192, 16384}, {}},
      {"sgemm27", false, {4096, 8192, 16384}, {2048, 4096, 8192}},
      {"hgemm125", false, {1024, 2048, 4096, 8192, 16384}, {512, 1024, 2048, 4096, 8192}},
      {"hgemm27", false, {1024, 2048, 4096}, {256, 512, 1024}},
  };
  return all;
}

const std::map<std::string, BaselineChoice> BASELINES = {{"none", BaselineChoice::none},
                                                         {"cublas", BaselineChoice::cublas},
                                                         {"cublaslt", BaselineChoice::cublaslt},
                                                         {"cublas_f32_sums", BaselineChoice::cublas_f32_sums},
                                                         {"cublas_f16_sums", BaselineChoice::cublas_f16_sums},
                                                         {"both", BaselineChoice::both},
                                                         {"all", BaselineChoice::all},
                                                         {"cutlass", BaselineChoice::cutlass}};
const std::map<std::string, VerifyMode> VERIFY_MODES = {
    {"full", VerifyMode::full}, {"sample", VerifyMode::sample}, {"off", VerifyMode::off}};

template <typename Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return names;
}

// CLI11's errors as one line that a reader understands.
[[noreturn]] void refuse(const CLI::ParseError& error) {
  std::string line = error.what();
  line = line.substr(0, line.find('\n'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && line.find("required") != std::string::npos)
    line = line.substr(0, line.find(':')) + " needs a value";
  throw BadInput(line + "; --help lists the options");
}

// Options as text and numbers, before they become what the rest of the program works with.
struct Raw {
  std::vector<int> sizes;
  int m = 0, n = 0, k = 0;
  std::string sweep, part, baseline, verify;
};

void add_sizes(CLI::App& app, Options& options, Raw& raw) {
  const auto positive = whole(1, MOST);
  auto* size = app.add_option("--size", raw.sizes, "square sizes: m = n = k (default 4096)")->check(positive);
  auto* m = app.add_option("--m", raw.m, "rows of A and C")->check(positive);
  auto* n = app.add_option("--n", raw.n, "columns of B and C")->check(positive);
  auto* k = app.add_option("--k", raw.k, "columns of A, rows of B")->check(positive);
  auto* sweep = app.add_option("--sweep", raw.sweep, "a list of sizes: square, sgemm27, hgemm125 or hgemm27")
                    ->check(one_of(sweep_names()));
  app.add_option("--part", raw.part, "2/4: the second of four parts of the sweep")->check(part())->needs(sweep);
  for (CLI::Option* one : {m, n, k}) one->excludes(size)->excludes(sweep);
  size->excludes(sweep);
  app.add_option("--lda", options.leading.a, "elements between two rows of A")->check(positive);
  app.add_option("--ldb", options.leading.b, "elements between two stored rows of B")->check(positive);
  app.add_option("--ldc", options.leading.c, "elements between two rows of C")->check(positive);
}

void add_problem(CLI::App& app, Options& options) {
  app.add_option("--variant", options.variants,
                 "which variant of the step, or several: a,b; all; bottlenecks: those that leave out work")
      ->delimiter(',')
      ->check(something());
  app.add_flag("--list", options.list, "list the variants and stop")->disable_flag_override();
  app.add_option("--alpha", options.alpha, "factor of A * B (default 1)")->check(factor());
  app.add_option("--beta", options.beta, "factor of the old C (default 0: C is not read)")->check(factor());
  app.add_option("--swizzle-stride", options.swizzle_strides,
                 "rows of C that neighbouring blocks stay within, for the L2 cache; several are measured in "
                 "turn (default: the step's own)")
      ->delimiter(',')
      ->check(whole(1, MOST));
  app.add_option("--seed", options.seed, "seed of the random inputs (default 1)")->check(whole(0, MOST));
}

CLI::Option* add_measurement(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--warmup", options.timing.warmup, "untimed calls first (default 2)")->check(whole(0, 1000));
  auto* min_time = app.add_option("--min-time", options.timing.min_seconds,
                                  "seconds per side and round (default 0.1; 0.5 for tensor cores)")
                       ->check(seconds());
  app.add_option("--rounds", options.timing.rounds, "rounds of kernel and baseline in turn (default 3)")
      ->check(whole(1, 1000));
  app.add_option("--baseline", raw.baseline,
                 "cublas, cublaslt, both, cublas_f32_sums or cublas_f16_sums (FP16 with the other sums), all, none, or "
                 "cutlass: CUTLASS, too (default: cublas; tensor cores: both, and for a step's default with FP16 sums "
                 "all)")
      ->check(one_of(names_of(BASELINES)));
  app.add_option("--verify", raw.verify, "full, sample or off (default: full up to 4096^3, then sample)")
      ->check(one_of(names_of(VERIFY_MODES)));
  app.add_option("--cooldown", options.cooldown_seconds, "seconds to rest before each measurement")->check(seconds());
  app.add_option("--json", options.json, "merge the records into this JSON Lines file")->check(something());
  app.add_flag("--show-matrix", options.show_matrix, "print the upper left corners of A, B and C")
      ->disable_flag_override();
  app.add_flag("--fingerprint", options.fingerprint,
               "launch once on random inputs and print a hash of C's bits; nothing is timed")
      ->disable_flag_override();
  app.add_option("--check", options.check, "verify the cases of this JSON Lines file, time nothing (tests/gpu/step.py)")
      ->check(something());
  app.add_flag("--sim", options.simulate, "run in the simulator and print what it counts")->disable_flag_override();
  app.add_option("--trace", options.trace,
                 "with --sim: write which lane touches which address to this JSON file (docs/simulator-reference.md)")
      ->check(something());
  return min_time;
}

// "2/4": the second size and every fourth after it, so that large and small ones are shared out evenly.
std::vector<Shape> part_of(const std::vector<Shape>& all, const std::string& asked) {
  const std::size_t slash = asked.find('/'), step = std::stoul(asked.substr(slash + 1));
  std::vector<Shape> part;
  for (std::size_t i = std::stoul(asked) - 1; i < all.size(); i += step) part.push_back(all[i]);
  if (part.empty())
    throw BadInput("--part " + asked + " is empty: the sweep has only " + std::to_string(all.size()) + " sizes");
  return part;
}

// --check takes everything from its file, but where to run.
void require_alone(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && option->get_name() != "--check" && option->get_name() != "--sim")
      throw BadInput("--check excludes " + option->get_name() + "; its file names the options of each case");
}

}  // namespace

std::vector<std::string> sweep_names() {
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps()) names.push_back(sweep.name);
  return names;
}

std::vector<Shape> sweep_shapes(const std::string& name) {
  std::vector<Shape> shapes;
  for (const Sweep& sweep : sweeps()) {
    if (sweep.name != name) continue;
    for (int m : sweep.m) {
      if (sweep.square) shapes.push_back({m, m, m});
      for (int n : sweep.m)
        for (int k : sweep.k) shapes.push_back({m, n, k});
    }
  }
  if (shapes.empty()) throw BadInput("no sweep is called " + name);
  return shapes;
}

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app("C = alpha * A * B + beta * C: one step of the ladder, verified, timed against cuBLAS.");
  app.get_formatter()->column_width(34);
  add_sizes(app, options, raw);
  add_problem(app, options);
  const CLI::Option* min_time = add_measurement(app, options, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refuse(error);
  }

  if (!options.check.empty()) require_alone(app);
  if (!raw.baseline.empty()) options.baseline = BASELINES.at(raw.baseline);
  if (!raw.verify.empty()) options.verify = VERIFY_MODES.at(raw.verify);
  options.min_time_given = min_time->count() > 0;
  if (options.verify == VerifyMode::off && !options.json.empty() && !options.list)
    throw BadInput("--json records only what was verified; leave out --verify off");

  if (!raw.sweep.empty()) options.shapes = sweep_shapes(raw.sweep);
  if (!raw.part.empty()) options.shapes = part_of(options.shapes, raw.part);
  for (int size : raw.sizes) options.shapes.push_back({size, size, size});
  if (raw.m != 0 || raw.n != 0 || raw.k != 0) {
    if (raw.m == 0 || raw.n == 0 || raw.k == 0) throw BadInput("--m, --n and --k go together; or use --size");
    options.shapes.push_back({raw.m, raw.n, raw.k});
  }
  return options;
}
