// Measures the main loops on the GPU that is present, prints them and, if asked, records them. Exit code 77 without a
// GPU that has wgmma. In the simulator it checks that the loops do what their records say.

#include <cstdio>
#include <iostream>

#include "common/device/check.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/main_loop/check.h"
#include "lab/main_loop/loops.h"
#include "lab/main_loop/options.h"
#include "lab/main_loop/settled.h"
#include "lab/micro/limits.h"
#include "lab/program.h"

namespace {

using nlohmann::ordered_json;

constexpr int SLICES = 16000;  // about 11 ms
constexpr int HOPPER = 90;
constexpr std::size_t MB = 1 << 20;
// About half of an H200's L2 cache, so that all of it stays there, and about ten times that cache.
constexpr BufferSizes ON_A_GPU{24 * MB, 512 * MB};
constexpr BufferSizes SIMULATED{MB / 4, MB / 2};

// What is timed, and its record once it is.
struct Measured {
  Launch launch;
  std::function<ordered_json(const Timing&, const Gpu&)> record;
};

Measured measured(const MainLoop& loop) {
  const double flop = loop.flop * SLICES * loop.blocks;
  const auto launch = [=](cudaStream_t stream) { loop.enqueue(SLICES, stream); };
  const auto record = [=](const Timing& timing, const Gpu& gpu) {
    // The harness has no name for FP8: the types are put in afterwards.
    ordered_json made = limit_record(loop.instruction, DType::bf16, DType::f32, flop, timing, gpu);
    made["a"] = loop.a;
    made["acc"] = loop.acc;
    made["options"] = options_of(loop);
    made["blocks"] = loop.blocks;
    return made;
  };
  return {launch, record};
}

// mma.sync from registers, in the same run.
Measured measured(const Limit& limit) {
  const auto record = [=](const Timing& timing, const Gpu& gpu) {
    ordered_json made = limit_record(limit.name, limit.ab, limit.acc, limit.flop, timing, gpu);
    made["options"] = ordered_json::object();
    return made;
  };
  return {limit.enqueue, record};
}

void print(const ordered_json& record) {
  const auto number = [&](const char* key) { return record.value(key, 0.0); };
  std::printf("%-18s %-5s %-4s %7.1f (%7.1f-%7.1f) %5.0f %5.0f  %s\n", record["limit"].get<std::string>().c_str(),
              record["a"].get<std::string>().c_str(), record["acc"].get<std::string>().c_str(), number("tflops"),
              number("tflops_p20"), number("tflops_p80"), number("sm_mhz"), number("power_w"),
              record["options"].dump().c_str());
}

int measure(const Plan& plan, const std::string& file) {
  if (!file.empty()) require_writable(file);
  if (!gpu_present() || current_gpu().capability != HOPPER) {
    std::cout << "skipped: wgmma needs a GPU of compute capability 9.0, and none was found\n";
    return EXIT_SKIPPED;
  }
  const Gpu gpu = current_gpu();
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  std::vector<Measured> all;
  for (const MainLoop& loop : main_loops(ON_A_GPU)) all.push_back(measured(loop));
  for (const Limit& limit : limits())
    if (limit.name == "mma.sync.m16n8k16") all.push_back(measured(limit));

  std::vector<Launch> launches;
  for (const Measured& one : all) launches.push_back(one.launch);
  std::printf("%s: %zu loops, %d rounds of %g s each\n", gpu.name.c_str(), all.size(), plan.rounds, 2 * plan.seconds);
  std::fflush(stdout);
  const auto say = [&](int round) {
    std::printf("round %d of %d\n", round + 1, plan.rounds);
    std::fflush(stdout);
  };
  const std::vector<Timing> timings = time_settled(plan, launches, stream, say);

  std::vector<ordered_json> records;
  std::printf("%-18s %-5s %-4s %7s %17s %5s %5s\n", "instruction", "a", "acc", "TFLOPS", "(p20-p80)", "MHz", "W");
  for (std::size_t i = 0; i < all.size(); ++i) {
    records.push_back(all[i].record(timings[i], gpu));
    print(records.back());
  }
  if (!file.empty()) merge_records(file, records);
  return 0;
}

int run(const Plan& plan, const std::string& file) {
  if (!simulated::active()) return measure(plan, file);
  if (!file.empty()) throw BadInput("--json: the simulator measures nothing; leave it out");
  return check(main_loops(SIMULATED)) ? 0 : EXIT_FAILED;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  std::string file;
  CLI::App app(
      "The limits of a main loop of wgmma: alone, with random data and with zeros, and with the copies of a GEMM.\n"
      "In the simulator: whether the loops do what their records say.");
  app.add_option("--seconds", plan.seconds, "seconds to settle, and then to measure, per loop and round")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 60.0));
  app.add_option("--rounds", plan.rounds, "how often each loop's turn comes")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program("main_loop", app, argc, argv, [&] { return run(plan, file); });
}
