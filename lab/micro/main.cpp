// Measures the limits on the GPU that is present, prints them and, if asked, records them. Exit code 77 without a GPU.

#include <cstdio>
#include <iostream>

#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/micro/limits.h"
#include "lab/program.h"

namespace {

constexpr int ROUNDS = 3;

// Runs it until clock and power have settled, then times it.
Timing timed(const Limit& limit, double seconds, cudaStream_t stream) {
  const Enqueue enqueue = [&](int, cudaStream_t on) { limit.enqueue(on); };
  time_in_turn({2, seconds, 1}, enqueue, {}, stream);
  return time_in_turn({0, seconds, ROUNDS}, enqueue, {}, stream);
}

// What an option's text is not, as CLI11 takes it; empty: all is well.
std::string no_seconds(const std::string& given) {
  double value = -1;
  const bool fine = CLI::detail::lexical_cast(given, value) && 0 <= value && value <= 60;
  return fine ? "" : "'" + given + "' is not a number of seconds from 0 to 60";
}
std::string no_name(const std::string& given) { return given.empty() ? "'' is not a name" : ""; }

int run(double seconds, const std::string& file) {
  if (!file.empty()) require_writable(file);
  if (simulated::active() || !gpu_present()) {
    std::cout << "skipped: how fast instructions are can only be measured on a GPU, and none was found\n";
    return EXIT_SKIPPED;
  }
  const Gpu gpu = current_gpu();
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  std::printf("%s, TFLOPS from registers\n%-18s %-5s %-5s %8s %19s %6s %6s\n", gpu.name.c_str(), "limit", "a", "acc",
              "median", "(p20-p80)", "MHz", "W");
  for (const Limit& limit : limits()) {
    const Timing timing = timed(limit, seconds, stream);
    const nlohmann::ordered_json record = limit_record(limit.name, limit.ab, limit.acc, limit.flop, timing, gpu);
    std::printf("%-18s %-5s %-5s %8.1f   (%6.1f-%6.1f) %6.0f %6.0f\n", limit.name.c_str(), name_of(limit.ab),
                name_of(limit.acc), record["tflops"].get<double>(), record["tflops_p20"].get<double>(),
                record["tflops_p80"].get<double>(), record.value("sm_mhz", 0.0), record.value("power_w", 0.0));
    std::fflush(stdout);
    if (!file.empty()) merge_records(file, {record});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds_each = 1;
  std::string file;
  CLI::App app("The limits of mma.sync and FMA: instructions from registers, random data, settled clocks.");
  app.add_option("--seconds", seconds_each, "seconds to settle, and of each of three rounds (default 1)")
      ->check(no_seconds);
  app.add_option("--json", file, "merge the records into this JSON Lines file")->check(no_name);
  return run_program("mma_limit", app, argc, argv, [&] { return run(seconds_each, file); });
}
