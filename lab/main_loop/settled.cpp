#include "lab/main_loop/settled.h"

#include <array>
#include <chrono>
#include <cmath>

#include "common/device/check.h"

namespace {

constexpr int IN_FLIGHT = 3;  // launches that wait behind the one that runs, so that the GPU never does

// A loop's figures of all rounds.
struct Samples {
  std::vector<double> ms, sm_mhz, power_mw, temperature_c;

  void add(const Telemetry& now) {
    sm_mhz.push_back(now.sm_mhz);
    power_mw.push_back(now.power_mw);
    temperature_c.push_back(now.temperature_c);
  }
  Timing summary() const {
    const auto median = [](const std::vector<double>& of) {
      return static_cast<unsigned>(std::lround(spread_of(of).median));
    };
    Timing timing;
    timing.ms = spread_of(ms);
    if (!sm_mhz.empty()) timing.state = Telemetry{median(sm_mhz), median(power_mw), median(temperature_c)};
    return timing;
  }
};

// The ends of the last launches, for the time of each and to hold the host back.
class Ends {
 public:
  Ends() {
    for (cudaEvent_t& event : events_) CUDA_CHECK(cudaEventCreate(&event));
  }
  ~Ends() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Ends(const Ends&) = delete;

  void record(int launch, cudaStream_t stream) { CUDA_CHECK(cudaEventRecord(of(launch), stream)); }
  // Waits for the launch's end; the milliseconds since that of the one before.
  double ms(int launch) {
    float ms = 0;
    CUDA_CHECK(cudaEventSynchronize(of(launch)));
    CUDA_CHECK(cudaEventElapsedTime(&ms, of(launch - 1), of(launch)));
    return ms;
  }

 private:
  cudaEvent_t& of(int launch) { return events_[(launch + 1) % events_.size()]; }

  std::array<cudaEvent_t, IN_FLIGHT + 2> events_{};
};

void run_round(double seconds, const Launch& launch, cudaStream_t stream, Samples& samples) {
  using Clock = std::chrono::steady_clock;
  Ends ends;
  ends.record(-1, stream);
  const auto begun = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  int launched = 0, ended = 0;
  const auto take = [&] {
    const double ms = ends.ms(ended++);
    if (elapsed() < seconds) return;  // not settled yet
    samples.ms.push_back(ms);
    if (elapsed() < 1.5 * seconds) return;  // the mean power still contains what ran before
    if (const auto now = read_telemetry()) samples.add(*now);
  };
  while (elapsed() < 2 * seconds || ended == 0) {
    launch(stream);
    ends.record(launched++, stream);
    if (launched - ended > IN_FLIGHT) take();
  }
  while (ended < launched) take();
}

}  // namespace

std::vector<Timing> time_settled(const Plan& plan, const std::vector<Launch>& loops, cudaStream_t stream,
                                 const std::function<void(int)>& after_round) {
  std::vector<Samples> samples(loops.size());
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < loops.size(); ++i) run_round(plan.seconds, loops[i], stream, samples[i]);
    after_round(round);
  }
  std::vector<Timing> timings;
  for (const Samples& of_loop : samples) timings.push_back(of_loop.summary());
  return timings;
}
