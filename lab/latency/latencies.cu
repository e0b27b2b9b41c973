// How long do one instruction and one load take? Chains in which each needs the result of the one before.
//
// One block works and the others of the grid return at once. Which one works is another at each measurement, so that
// the figures are of several SMs: they lie at different distances from L2.

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "common/device/check.h"
#include "common/device/tiles.h"
#include "common/harness/errors.h"
#include "common/harness/memory.h"
#include "lab/latency/chains.h"
#include "lab/latency/latencies.h"
#include "lab/latency/stopwatch.h"

namespace {

constexpr int UNROLLED = 32;
constexpr std::size_t KB = 1024, LINE_BYTES = 128;
constexpr std::size_t LEAST_RING_KB = 16, MOST_RING_KB = 1024 * 1024;
// A ring is walked once before it is timed, so that the caches hold of it what they can; a larger one not to its end.
constexpr std::size_t MOST_LOADS_BEFORE = std::size_t{1} << 18;
constexpr int LOADS = 1 << 13, INSTRUCTIONS = 1 << 19;
static_assert(LEAST_RING_KB * KB / LINE_BYTES % UNROLLED == 0, "chase counts loads in whole runs");

// Waits for the launch before, and reads what its block has left.
Elapsed left_by(const DeviceBuffer& buffer) {
  CUDA_CHECK(cudaGetLastError());
  Elapsed elapsed{};
  buffer.download(&elapsed);
  return elapsed;
}

Repetition one_of(const Elapsed& elapsed, int repetitions) {
  return {static_cast<double>(elapsed.cycles) / repetitions, static_cast<double>(elapsed.nanoseconds) / repetitions,
          elapsed.sm};
}

template <class Chain>
__global__ void chain_kernel(int worker, int repetitions, Elapsed* out) {
  if (static_cast<int>(blockIdx.x) != worker) return;
  Chain chain;
  for (int i = 0; i < UNROLLED; ++i) chain.repeat();  // the instructions are in their cache when the time starts
  __syncthreads();
  const Stopwatch stopwatch;
#pragma unroll 1
  for (int i = 0; i < repetitions; i += UNROLLED)
#pragma unroll
    for (int j = 0; j < UNROLLED; ++j) chain.repeat();
  const Elapsed elapsed = stopwatch.elapsed(chain.result());
  if (threadIdx.x == 0) *out = elapsed;
}

template <class Chain>
Latency chain(const char* name, const std::shared_ptr<DeviceBuffer>& out, std::map<std::string, int> options = {}) {
  const auto measure = [=](int worker) {
    chain_kernel<Chain><<<multiprocessors_here(), Chain::THREADS>>>(worker, INSTRUCTIONS, out->as<Elapsed>());
    return one_of(left_by(*out), INSTRUCTIONS);
  };
  return {name, std::move(options), INSTRUCTIONS, measure};
}

/// Makes a ring of the lines: each begins with the address of the next in the order given.
__global__ void link_lines(char* lines, const uint32_t* order, std::size_t count) {
  const std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (at >= count) return;
  char* const next = lines + order[(at + 1) % count] * LINE_BYTES;
  *reinterpret_cast<char**>(lines + order[at] * LINE_BYTES) = next;
}

/// One load per repetition: the first 8 bytes of a line are the address of the next.
__device__ void chase(uint64_t& address, int loads) {
#pragma unroll 1
  for (int i = 0; i < loads; i += UNROLLED)
#pragma unroll
    for (int j = 0; j < UNROLLED; ++j) asm volatile("ld.global.b64 %0, [%0];\n" : "+l"(address)::"memory");
}

__global__ void chase_kernel(int worker, const char* start, int loads_before, int loads, Elapsed* out) {
  if (static_cast<int>(blockIdx.x) != worker) return;
  uint64_t address = reinterpret_cast<uint64_t>(start);
  chase(address, loads_before);
  const Stopwatch stopwatch;
  chase(address, loads);
  *out = stopwatch.elapsed(address);
}

/// Lines in a random order, so that no load is foreseen.
class Ring {
 public:
  Ring(std::shared_ptr<DeviceBuffer> memory, std::size_t kb)
      : memory_(std::move(memory)), order_(kb * KB / LINE_BYTES) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::shuffle(order_.begin(), order_.end(), std::mt19937(1));
  }

  /// Links the lines: the memory is that of all rings, so just before this one is walked.
  void link() const {
    constexpr unsigned THREADS = 256;
    DeviceBuffer order(order_.size() * sizeof(uint32_t));
    order.upload(order_.data());
    const auto blocks = static_cast<unsigned>((order_.size() + THREADS - 1) / THREADS);
    link_lines<<<blocks, THREADS>>>(memory_->as<char>(), order.as<uint32_t>(), order_.size());
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  /// Throws CudaError where the loads did not end at the line that so many lead to.
  Repetition walk(int worker, const DeviceBuffer& out) const {
    const int before = static_cast<int>(std::min(order_.size(), MOST_LOADS_BEFORE));
    chase_kernel<<<multiprocessors_here(), 1>>>(worker, line(0), before, LOADS, out.as<Elapsed>());
    const Elapsed elapsed = left_by(out);
    if (elapsed.end != reinterpret_cast<uint64_t>(line(before + LOADS)))
      throw CudaError("the chase through " + std::to_string(order_.size()) + " lines ended at a wrong one");
    return one_of(elapsed, LOADS);
  }

 private:
  const char* line(std::size_t number) const {
    return memory_->as<char>() + order_[number % order_.size()] * LINE_BYTES;
  }

  std::shared_ptr<DeviceBuffer> memory_;
  std::vector<uint32_t> order_;
};

Latency global_loads(const std::shared_ptr<DeviceBuffer>& memory, const std::shared_ptr<DeviceBuffer>& out,
                     std::size_t kb) {
  const auto ring = std::make_shared<Ring>(memory, kb);
  const auto measure = [=](int worker) {
    ring->link();
    return ring->walk(worker, *out);
  };
  return {"global load", {{"ring_kb", static_cast<int>(kb)}}, LOADS, measure};
}

}  // namespace

std::vector<Latency> latencies() {
  const auto out = std::make_shared<DeviceBuffer>(sizeof(Elapsed));
  std::vector<Latency> all = {
      chain<FmaChain>("FP32 FMA", out),
      chain<MmaChain<uint32_t, 2>>("mma.sync.m16n8k16", out, {{"sum_bits", 16}}),
      chain<MmaChain<float, 4>>("mma.sync.m16n8k16", out, {{"sum_bits", 32}}),
      chain<BarrierChain<256>>("barrier", out, {{"threads", 256}}),
      chain<BarrierChain<1024>>("barrier", out, {{"threads", 1024}}),
      chain<SharedChain>("shared load", out),
  };
  const auto memory = std::make_shared<DeviceBuffer>(MOST_RING_KB * KB);
  for (std::size_t kb = LEAST_RING_KB; kb <= MOST_RING_KB; kb *= 2) all.push_back(global_loads(memory, out, kb));
  return all;
}
