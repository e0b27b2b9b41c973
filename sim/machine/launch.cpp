#include "machine/launch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include "base/random.h"
#include "machine/block.h"

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double sample_seconds = 0.5;  ///< after which the rate of the blocks so far is believed
constexpr double short_seconds = 60;    ///< what a smaller size is suggested for

/// "about 3.2 hours".
std::string spoken(double seconds) {
  const bool hours = seconds >= 5400;
  char text[48];
  std::snprintf(text, sizeof text, "about %.*f %s", hours ? 1 : 0, seconds / (hours ? 3600 : 60),
                hours ? "hours" : "minutes");
  return text;
}

/// Gives the launch up where it would take more seconds than it may, as the blocks done so far let expect. A kernel's
/// work grows with the product of three dimensions, that of matrices: the cube root of the time says how much smaller
/// each should be.
void give_up_if_too_long(Launch& launch, Clock::time_point begun) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - begun).count();
  const uint64_t done = std::max<uint64_t>(launch.done_blocks, 1);
  if (elapsed < sample_seconds && elapsed < launch.options.max_seconds) return;
  const double seconds = elapsed * static_cast<double>(launch.grid.count()) / static_cast<double>(done);
  if (seconds <= launch.options.max_seconds || launch.given_up.exchange(true)) return;
  launch.reports.add(Finding::too_long, launch.program.name, "", "", [&] {
    char share[32];
    std::snprintf(share, sizeof share, "%.2g", std::cbrt(short_seconds / seconds));
    return "this launch of " + std::to_string(launch.grid.count()) + " blocks would take " + spoken(seconds) +
           " here; with matrices of " + share + " times the rows and columns, about a minute. To wait for it, raise " +
           "GEMM_SIM_MAX_SECONDS (now " + std::to_string(std::lround(launch.options.max_seconds)) + ")";
  });
}

/// The order in which blocks start: as numbered, or permuted by the seed.
class BlockOrder {
 public:
  BlockOrder(uint64_t seed, uint64_t blocks) : blocks_(blocks) {
    if (seed == 0) return;
    Random random(seed);
    first_ = random.below(blocks);
    do step_ = 1 + random.below(std::min<uint64_t>(blocks, uint64_t{1} << 31));
    while (std::gcd(step_, blocks) != 1);
  }
  uint64_t operator[](uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step_ + first_) % blocks_);
  }

 private:
  uint64_t blocks_, first_ = 0, step_ = 1;
};

/// One of the host's threads: runs one block after the other. A block whose warps only look at what others may change
/// makes room: for those that did so before it and, when all of these do, for one that has not begun.
class Worker {
 public:
  Worker(Launch& launch, const BlockOrder& order, Clock::time_point begun)
      : launch_(launch), order_(order), begun_(begun) {}

  void run() {
    while (!launch_.given_up) {
      std::unique_ptr<Block> block = next();
      if (!block) break;
      Block::Progress progress;
      do progress = block->round();
      while (progress == Block::Progress::running);
      if (progress == Block::Progress::done) {
        ++launch_.done_blocks;
        polling_ = 0;
        idle_.push_back(std::move(block));
      } else {
        ++polling_;
        begun_blocks_.push_back(std::move(block));
      }
      give_up_if_too_long(launch_, begun_);
    }
  }

  void add_to(Tallies& sum) const {
    for (const auto& block : idle_) sum += block->tallies;
    for (const auto& block : begun_blocks_) sum += block->tallies;
  }

 private:
  std::unique_ptr<Block> next() {
    std::unique_ptr<Block> block;
    if (polling_ >= begun_blocks_.size() && begun_blocks_.size() < launch_.most_begun_blocks()) {
      const uint64_t number = launch_.next_block++;
      if (number < launch_.grid.count()) {
        if (idle_.empty()) idle_.push_back(std::make_unique<Block>(launch_));
        block = std::move(idle_.back());
        idle_.pop_back();
        block->start(order_[number]);
        polling_ = 0;
        return block;
      }
    }
    if (begun_blocks_.empty()) return nullptr;
    block = std::move(begun_blocks_.front());
    begun_blocks_.pop_front();
    return block;
  }

  Launch& launch_;
  const BlockOrder& order_;
  const Clock::time_point begun_;
  std::vector<std::unique_ptr<Block>> idle_;
  std::deque<std::unique_ptr<Block>> begun_blocks_;
  size_t polling_ = 0;  ///< blocks in a row that have only polled
};

}  // namespace

uint64_t Launch::most_begun_blocks() const {
  const uint64_t shadow_bytes = uint64_t{24} * shared_bytes() / program.granule_bytes;
  const uint64_t of_warp = program.register_bytes + uint64_t{warp_size} * program.local_bytes;
  const uint64_t bytes = warps() * of_warp + shared_bytes() + shadow_bytes + program.code.size() * sizeof(Tally);
  return std::max<uint64_t>(1, (uint64_t{1} << 30) / std::max(1u, options.threads) / std::max<uint64_t>(bytes, 1));
}

Tallies run(Launch& launch) {
  const BlockOrder order(launch.options.seed, launch.grid.count());
  const auto begun = Clock::now();
  Tallies sum(launch.program.code.size());
  std::mutex mutex;
  const auto work = [&] {
    Worker worker(launch, order, begun);
    worker.run();
    const std::scoped_lock lock(mutex);
    worker.add_to(sum);
  };
  std::vector<std::jthread> helpers;
  const uint64_t workers = std::min<uint64_t>(std::max(1u, launch.options.threads), launch.grid.count());
  for (uint64_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();  // joins them
  return sum;
}

}  // namespace sim
