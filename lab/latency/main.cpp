// Measures the latencies on the GPU that is present, prints them and, if asked, records them. Exit code 77 without a
// GPU.

#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>
#include <vector>

#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/latency/latencies.h"
#include "lab/program.h"

namespace {

using nlohmann::ordered_json;

constexpr int WARM_UP = 200;  // launches of the first chain, a millisecond each: the clock has risen by then

// Launches on blocks that are spread evenly over the SMs, and what they took.
ordered_json measured(const Latency& latency, int launches, const Gpu& gpu) {
  std::vector<double> cycles, nanoseconds;
  std::set<int> sms;
  for (int i = 0; i < launches; ++i) {
    const Repetition one = latency.measure(i * gpu.multiprocessors / launches);
    cycles.push_back(one.cycles);
    nanoseconds.push_back(one.nanoseconds);
    sms.insert(one.sm);
  }
  const auto tenths = [](double value) { return std::round(10 * value) / 10; };
  const Spread spread = spread_of(cycles);
  ordered_json record = {{"latency", latency.name},
                         {"options", ordered_json(latency.options)},
                         {"cycles", tenths(spread.median)},
                         {"cycles_p20", tenths(spread.p20)},
                         {"cycles_p80", tenths(spread.p80)},
                         {"nanoseconds", tenths(spread_of(nanoseconds).median)},
                         {"sms", sms.size()},
                         {"repetitions", latency.repetitions}};
  add_machine(record, {}, gpu);
  return record;
}

int run(int launches, const std::string& file) {
  if (!file.empty()) require_writable(file);
  if (simulated::active() || !gpu_present()) {
    std::cout << "skipped: latencies can only be measured on a GPU, and none was found\n";
    return EXIT_SKIPPED;
  }
  const Gpu gpu = current_gpu();
  const std::vector<Latency> all = latencies();
  for (int i = 0; i < WARM_UP; ++i) all.front().measure(0);
  std::printf("%s, medians of %d launches\n%-18s %-20s %8s %19s %8s %4s\n", gpu.name.c_str(), launches, "latency", "",
              "cycles", "(p20-p80)", "ns", "SMs");
  std::vector<ordered_json> records;
  for (const Latency& latency : all) {
    const ordered_json record = measured(latency, launches, gpu);
    std::printf("%-18s %-20s %8.1f   (%6.1f-%6.1f) %8.1f %4d\n", latency.name.c_str(), record["options"].dump().c_str(),
                record["cycles"].get<double>(), record["cycles_p20"].get<double>(), record["cycles_p80"].get<double>(),
                record["nanoseconds"].get<double>(), record["sms"].get<int>());
    std::fflush(stdout);
    records.push_back(record);
  }
  if (!file.empty()) merge_records(file, records);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int launches = 9;
  std::string file;
  CLI::App app("Latencies of instructions and loads: chains in which each needs the result of the one before.");
  app.add_option("--launches", launches, "of each chain, by blocks on as many SMs")
      ->capture_default_str()
      ->check(CLI::Range(1, 99));
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program("latency", app, argc, argv, [&] { return run(launches, file); });
}
