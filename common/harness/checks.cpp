// Many small problems in one process: a start, a CUDA context and a reference are what they would spend their time on.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/report.h"
#include "common/harness/simulated.h"

namespace {

constexpr std::size_t MOST_REFERENCE_BYTES = std::size_t{1} << 30;

using Clock = std::chrono::steady_clock;

struct Case {
  std::vector<std::string> arguments;
  std::string refused;  // what has to be said; empty: the result has to be right
  bool exact_alone;     // on the exact inputs, and not on random ones as well

  std::string variant() const {
    const auto option = std::find(arguments.begin(), arguments.end(), "--variant");
    return option == arguments.end() || option + 1 == arguments.end() ? "(default)" : *(option + 1);
  }
  std::string line() const {
    std::string words;
    for (const std::string& argument : arguments) words += " " + argument;
    return words;
  }
};

std::vector<Case> cases_of(const std::string& file) {
  std::vector<Case> cases;
  for (const nlohmann::ordered_json& record : read_records(file)) {
    try {
      cases.push_back({record.at("arguments"), record.value("refused", ""), record.value("exact_alone", false)});
    } catch (const nlohmann::json::exception&) {
      throw BadInput(file + ": " + record.dump() + " is no case; it needs \"arguments\", a list of texts");
    }
  }
  if (cases.empty()) throw BadInput("there are no cases in " + file);
  return cases;
}

std::optional<Options> parsed(const std::string& step, const Case& one) {
  std::vector<const char*> argv = {step.c_str()};
  for (const std::string& argument : one.arguments) argv.push_back(argument.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

// What became of some cases.
struct Tally {
  int right = 0, refused = 0, failed = 0;
  Clock::time_point start = Clock::now();

  void print(const std::string& of_what) const {
    const std::chrono::duration<double> took = Clock::now() - start;
    std::cout << of_what << ": " << right << " right, " << refused << " refused, " << failed << " failures, "
              << static_cast<int>(took.count() * 10) / 10.0 << " s\n"
              << std::flush;
  }
};

class Checker {
 public:
  explicit Checker(Session& session) : session_(session) {}

  // Empty where the case went as it should.
  std::string failure(const Case& one) {
    std::vector<Work> all;
    try {
      const std::optional<Options> options = parsed(session_.step, one);
      if (!options) return "it asks for help";
      session_.options = *options;
      all = planned(session_, simulated::active());
      for (const Work& work : all) require_memory(verification_bytes(*work.variant, work.shape, options->verify));
    } catch (const BadInput& refusal) {
      const std::string said = refusal.what();
      if (one.refused.empty()) return "it was refused: " + said;
      return said.find(one.refused) != std::string::npos ? "" : "it had to say '" + one.refused + "': " + said;
    }
    if (!one.refused.empty()) return "it was not refused; it had to say '" + one.refused + "'";
    for (const Work& work : all)
      if (const std::string wrong = verified(work, one.exact_alone); !wrong.empty()) return wrong;
    return "";
  }

 private:
  std::string verified(const Work& work, bool exact_alone) {
    if (bytes_ > MOST_REFERENCE_BYTES) references_.clear();
    Verifier verifier(*work.variant, work.shape, session_.options.verify, session_.options.seed, &references_);
    for (const InputKind kind : {InputKind::exact, InputKind::normal}) {
      if (exact_alone && kind != InputKind::exact) continue;
      simulated::begin();
      const Comparison found = verifier.check(kind, work.launch, session_.stream);
      const std::vector<std::string> reports = simulated::mistakes().reports;
      if (!reports.empty()) return reports.front();
      if (!found.passed) return (kind == InputKind::exact ? "exact inputs: " : "random inputs: ") + found.message();
    }
    bytes_ = 0;
    for (const auto& [problem, references] : references_)
      for (const Reference& reference : references) bytes_ += reference.bytes();
    return "";
  }

  Session& session_;
  ReferenceStore references_;
  std::size_t bytes_ = 0;
};

}  // namespace

bool check_cases(Session& session) {
  const std::vector<Case> cases = cases_of(session.options.check);
  std::optional<KeptMemory> kept;  // outlives the references
  if (!simulated::active()) kept.emplace();
  Checker checker(session);
  Tally total, of_variant;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    std::string failure;
    try {
      failure = checker.failure(one);
    } catch (const CudaError& error) {  // nothing can be launched any more
      std::cout << "FAILED " << session.step << one.line() << "\n    " << error.what() << "\n    "
                << cases.size() - i - 1 << " cases were not run\n"
                << std::flush;
      return false;
    }
    if (!failure.empty())
      std::cout << "FAILED " << session.step << one.line() << "\n    " << failure << "\n" << std::flush;
    for (Tally* const tally : {&total, &of_variant})
      ++(!failure.empty() ? tally->failed : one.refused.empty() ? tally->right : tally->refused);
    if (i + 1 < cases.size() && cases[i + 1].variant() == one.variant()) continue;
    of_variant.print(session.step + " " + one.variant());
    of_variant = Tally();
  }
  total.print(session.step);
  return total.failed == 0;
}
