#include "common/timing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"

namespace {

constexpr double GRAPH_BELOW_MS = 0.060;  // shorter calls are replayed from a graph
constexpr double BATCH_MS = 1.0;          // time between two events, so that their resolution (0.5 us) is 0.05 %
constexpr int CALIBRATION_CALLS = 5;

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
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
    const double call_ms = std::max(1e-4, measure_calls(1));
    const double steady_ms = call_ms * CALIBRATION_CALLS > 50 ? call_ms : measure_calls(CALIBRATION_CALLS);
    batch_calls_ = std::max(1, static_cast<int>(std::ceil(BATCH_MS / steady_ms)));
    batches_ = std::max(1, static_cast<int>(std::ceil(plan.min_seconds * 1e3 / (steady_ms * batch_calls_))));
    if (steady_ms < GRAPH_BELOW_MS) capture();
  }
  ~Side() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Side(const Side&) = delete;

  // Runs one round; returns milliseconds a call, one figure a batch. Reads the GPU's state while it works.
  std::vector<double> round(std::optional<Telemetry>* state) {
    std::vector<Event> events(batches_ + 1);
    events[0].record(stream_);
    for (int batch = 0; batch < batches_; ++batch) {
      enqueue_batch();
      events[batch + 1].record(stream_);
    }
    if (state != nullptr) *state = read_telemetry();
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    std::vector<double> ms;
    for (int batch = 0; batch < batches_; ++batch) ms.push_back(events[batch].ms_until(events[batch + 1]) / batch_calls_);
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
      for (int i = 0; i < batch_calls_; ++i) enqueue_(call_++, stream_);
    }
  }

  void capture() {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < batch_calls_; ++i) enqueue_(call_++, stream_);
    CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }

  const Enqueue& enqueue_;
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
  int call_ = 0, batch_calls_ = 1, batches_ = 1;
};

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

Timing time_in_turn(const TimingPlan& plan, const Enqueue& kernel, const Enqueue& other, cudaStream_t stream) {
  Timing timing;
  Side a(kernel, plan, stream);
  std::optional<Side> b;
  if (other) b.emplace(other, plan, stream);

  std::vector<double> a_ms, b_ms, ratios;
  for (int round = 0; round < plan.rounds; ++round) {
    const std::vector<double> a_round = a.round(&timing.state);
    append(a_ms, a_round);
    if (!b) continue;
    const std::vector<double> b_round = b->round(nullptr);
    append(b_ms, b_round);
    ratios.push_back(spread_of(b_round).median / spread_of(a_round).median);
  }
  timing.ms = spread_of(a_ms);
  timing.other_ms = spread_of(b_ms);
  timing.ratio = spread_of(ratios);
  return timing;
}
