#include "common/harness/simulated.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace simulated {
namespace {

// A function of the simulator's own interface (sim/gemm_sim.h), or null where the runtime is the real one.
template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Adds every number of `more` to that of the same name in `sum`.
void add(nlohmann::json& sum, const nlohmann::json& more) {
  if (!sum.is_object()) sum = nlohmann::json::object();
  for (const auto& [key, value] : more.items()) {
    if (value.is_object())
      add(sum[key], value);
    else
      sum[key] = sum.value(key, std::uint64_t{0}) + value.get<std::uint64_t>();
  }
}

}  // namespace

bool active() { return find<int()>("gemmSimVersion") != nullptr; }

std::optional<std::filesystem::path> library() {
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto file = executable.parent_path().parent_path() / "sim" / "libcudart.so.13";
  if (failed || !std::filesystem::exists(file)) return std::nullopt;
  return file;
}

void restart_in_simulator(char** argv) {
  const auto file = library();
  if (!file || active()) {
    std::fprintf(stderr, "the simulator could not be started: %s\n",
                 file ? "it is already running" : "it was not built");
    std::exit(2);
  }
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string path = file->parent_path().string() + (before && *before ? ":" + std::string(before) : "");
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  execv(executable.c_str(), argv);
  std::perror("the simulator could not be started");
  std::exit(2);
}

void begin() {
  if (auto* const reset = find<void()>("gemmSimReset")) reset();
}

Outcome end() {
  Outcome outcome;
  auto* const report = find<const char*()>("gemmSimReport");
  if (!report) return outcome;
  const auto seen = nlohmann::json::parse(report());
  std::map<std::pair<std::string, std::uint64_t>, nlohmann::json> lines;
  outcome.counts = nlohmann::json::object();
  for (const auto& kernel : seen.at("kernels")) {
    outcome.kernels.push_back(kernel.at("symbol"));
    add(outcome.counts, kernel.at("counts"));
    outcome.seconds += kernel.at("seconds").get<double>();
    for (const auto& line : kernel.at("lines")) add(lines[{line.at("file"), line.at("line")}], line.at("counts"));
  }
  outcome.lines = nlohmann::json::array();
  for (const auto& [place, counts] : lines)
    outcome.lines.push_back({{"file", place.first}, {"line", place.second}, {"counts", counts}});
  for (const auto& entry : seen.at("reports"))
    outcome.reports.push_back(entry.at("kind").get<std::string>() + " in " + entry.at("kernel").get<std::string>() +
                              ": " + entry.at("message").get<std::string>());
  return outcome;
}

}  // namespace simulated
