#include "common/harness/timing.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "common/device/check.h"

namespace {

constexpr double GRAPH_BELOW_MS = 0.060, BATCH_MS = 1.0;
constexpr int CALIBRATION_CALLS = 5;
constexpr double SLOW_MS = 10;  // a call that takes this long is not calibrated with more than one

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  void wait() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  void record(cudaStream_t stream) { CUDA_CHECK(cudaEventRecord(event_, stream)); }
  double ms_until(const Event& end) const {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, event_, end.event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// One side, calibrated: how many calls make a batch, how many batches a round.
class Side {
 public:
  Side(const Enqueue& enqueue, const TimingPlan& plan, cudaStream_t stream) : enqueue_(enqueue), stream_(stream) {
    for (int i = 0; i < plan.warmup; ++i) enqueue_(call_++, stream_);
    const double call_ms = measure_calls(1);
    batching_ = batching_for(plan, call_ms > SLOW_MS ? call_ms : measure_calls(CALIBRATION_CALLS));
    if (!batching_.graph) return;
    capture();
    enqueue_batch();  // the first replay also uploads the graph
    CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
  ~Side() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Side(const Side&) = delete;

  // Runs one round; returns milliseconds a call, one figure a batch. Reads the GPU's state late in the round.
  std::vector<double> round(std::optional<Telemetry>* state) {
    std::vector<Event> events(batching_.batches + 1);
    events[0].record(stream_);
    for (int batch = 0; batch < batching_.batches; ++batch) {
      enqueue_batch();
      events[batch + 1].record(stream_);
    }
    if (state != nullptr) {
      events[batching_.batches * 3 / 4].wait();  // at the round's start the clock is still what the last side made it
      *state = read_telemetry();
    }
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    std::vector<double> ms;
    for (int batch = 0; batch < batching_.batches; ++batch)
      ms.push_back(events[batch].ms_until(events[batch + 1]) / batching_.calls);
    return ms;
  }

 private:
  double measure_calls(int calls) {
    Event start, end;
    start.record(stream_);
    for (int i = 0; i < calls; ++i) enqueue_(call_++, stream_);
    end.record(stream_);
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    return start.ms_until(end) / calls;
  }

  void enqueue_batch() {
    if (graph_ != nullptr) {
      CUDA_CHECK(cudaGraphLaunch(graph_, stream_));
    } else {
      for (int i = 0; i < batching_.calls; ++i) enqueue_(call_++, stream_);
    }
  }

  void capture() {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < batching_.calls; ++i) enqueue_(call_++, stream_);
    CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }

  const Enqueue& enqueue_;
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
  Batching batching_;
  int call_ = 0;
};

// The fastest of the rivals that may be the best library call, where there are two or more to choose from.
std::optional<std::size_t> best_of(const std::vector<Rival>& rivals, const std::vector<Against>& against) {
  std::optional<std::size_t> best;
  int candidates = 0;
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    if (!rivals[i].may_be_best) continue;
    ++candidates;
    if (!best || against[i].ms.median < against[*best].ms.median) best = i;
  }
  return candidates > 1 ? best : std::nullopt;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * (sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Spread spread_of(std::vector<double> figures) {
  if (figures.empty()) return {};
  std::sort(figures.begin(), figures.end());
  return {percentile(figures, 0.5), percentile(figures, 0.2), percentile(figures, 0.8)};
}

Batching batching_for(const TimingPlan& plan, double call_ms) {
  const double steady_ms = std::max(1e-4, call_ms);  // an event pair may show 0
  const double round_ms = plan.min_seconds * 1e3;
  Batching made;
  made.graph = steady_ms < GRAPH_BELOW_MS;
  made.calls = static_cast<int>(std::ceil(BATCH_MS / steady_ms));
  if (made.graph) made.calls = std::max(made.calls, plan.input_sets);
  made.batches = std::max(1, static_cast<int>(std::ceil(round_ms / (steady_ms * made.calls))));
  return made;
}

Timing time_in_turn(const TimingPlan& plan, const Enqueue& kernel, const std::vector<Rival>& rivals,
                    cudaStream_t stream) {
  Timing timing;
  Side own(kernel, plan, stream);
  std::deque<Side> others;  // a Side stays where it is made
  for (const Rival& rival : rivals) others.emplace_back(rival.enqueue, plan, stream);

  std::vector<double> own_ms;
  std::vector<std::vector<double>> other_ms(rivals.size()), ratios(rivals.size());
  for (int round = 0; round < plan.rounds; ++round) {
    const std::vector<double> own_round = own.round(&timing.state);
    append(own_ms, own_round);
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const std::vector<double> other_round = others[i].round(nullptr);
      append(other_ms[i], other_round);
      ratios[i].push_back(spread_of(other_round).median / spread_of(own_round).median);
    }
  }
  timing.ms = spread_of(own_ms);
  for (std::size_t i = 0; i < rivals.size(); ++i)
    timing.against.push_back({rivals[i].name, spread_of(other_ms[i]), spread_of(ratios[i]), rivals[i].kernel});
  timing.best = best_of(rivals, timing.against);
  return timing;
}

std::size_t fastest_of(const TimingPlan& plan, const std::vector<Rival>& sides, cudaStream_t stream) {
  const Timing timing = time_in_turn(plan, sides[0].enqueue, {sides.begin() + 1, sides.end()}, stream);
  std::vector<double> ms = {timing.ms.median};
  for (const Against& against : timing.against) ms.push_back(against.ms.median);
  return std::min_element(ms.begin(), ms.end()) - ms.begin();
}
