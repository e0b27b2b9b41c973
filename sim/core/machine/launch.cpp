#include "core/machine/launch.h"

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

#include "core/base/random.h"
#include "core/machine/cluster.h"

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
           "PTXSIM_MAX_SECONDS (now " + std::to_string(std::lround(launch.options.max_seconds)) + ")";
  });
}

/// The order in which clusters start: as numbered, or permuted by the seed.
class ClusterOrder {
 public:
  ClusterOrder(uint64_t seed, uint64_t clusters) : clusters_(clusters) {
    if (seed == 0) return;
    Random random(seed);
    first_ = random.below(clusters);
    do step_ = 1 + random.below(std::min<uint64_t>(clusters, uint64_t{1} << 31));
    while (std::gcd(step_, clusters) != 1);
  }
  uint64_t operator[](uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step_ + first_) % clusters_);
  }

 private:
  uint64_t clusters_, first_ = 0, step_ = 1;
};

/// One of the host's threads: runs one cluster after the other. A cluster whose warps only look at what others may
/// change makes room: for those that did so before it and, when all of these do, for one that has not begun.
class Worker {
 public:
  Worker(Launch& launch, const ClusterOrder& order, Clock::time_point begun)
      : launch_(launch), order_(order), begun_(begun) {}

  /// One round of a cluster. False when there is nothing left to do.
  bool turn() {
    if (!running_) {
      if (launch_.given_up) return false;
      running_ = next();
      if (!running_) return false;
    }
    const Cluster::Progress progress = running_->round();
    if (progress == Cluster::Progress::running) return true;
    if (progress == Cluster::Progress::done) {
      launch_.done_blocks += launch_.cluster.count();
      polling_ = 0;
      idle_.push_back(std::move(running_));
    } else {
      ++polling_;
      begun_clusters_.push_back(std::move(running_));
    }
    give_up_if_too_long(launch_, begun_);
    return true;
  }

  void add_to(Tallies& sum) const {
    const auto add = [&](const std::unique_ptr<Cluster>& cluster) {
      cluster->count_reports();
      for (const auto& block : cluster->blocks()) sum += block->tallies;
    };
    for (const auto& cluster : idle_) add(cluster);
    for (const auto& cluster : begun_clusters_) add(cluster);
    if (running_) add(running_);
  }

 private:
  std::unique_ptr<Cluster> next() {
    std::unique_ptr<Cluster> cluster;
    if (polling_ >= begun_clusters_.size() && begun_clusters_.size() < launch_.most_begun_clusters()) {
      const uint64_t number = launch_.next_cluster++;
      if (number < launch_.clusters()) {
        if (idle_.empty()) idle_.push_back(std::make_unique<Cluster>(launch_));
        cluster = std::move(idle_.back());
        idle_.pop_back();
        cluster->start(order_[number]);
        polling_ = 0;
        return cluster;
      }
    }
    if (begun_clusters_.empty()) return nullptr;
    cluster = std::move(begun_clusters_.front());
    begun_clusters_.pop_front();
    return cluster;
  }

  Launch& launch_;
  const ClusterOrder& order_;
  const Clock::time_point begun_;
  std::unique_ptr<Cluster> running_;
  std::vector<std::unique_ptr<Cluster>> idle_;
  std::deque<std::unique_ptr<Cluster>> begun_clusters_;
  size_t polling_ = 0;  ///< clusters in a row that have only polled
};

std::string extent(const Dim3& size) {
  return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
}

}  // namespace

std::string refused_cluster(Dim3 grid, Dim3 cluster, bool non_portable) {
  const std::string what = "a cluster of " + extent(cluster) + " blocks";
  const uint64_t blocks = cluster.count();
  if (blocks == 0) return what + " has none";
  if (blocks > 16) return what + " has " + std::to_string(blocks) + ", and 16 are the most there can be";
  if (blocks > 8 && !non_portable) {
    return what + " has " + std::to_string(blocks) +
           ": more than 8 need cudaFuncAttributeNonPortableClusterSizeAllowed, and at most 16 are possible";
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return what + " does not divide the grid of " + extent(grid);
  return "";
}

uint64_t Launch::most_begun_clusters() const {
  if (cooperative) return clusters();
  const uint64_t shadow_bytes = uint64_t{program.overwrites_reads ? 28u : 24u} * shared_bytes() / program.granule_bytes;
  const uint64_t of_warp = program.register_bytes + uint64_t{warp_size} * program.local_bytes;
  const uint64_t of_block = warps() * of_warp + shared_bytes() + shadow_bytes + program.code.size() * sizeof(Tally);
  const uint64_t bytes = cluster.count() * of_block;
  return std::max<uint64_t>(1, (uint64_t{1} << 30) / std::max(1u, options.threads) / std::max<uint64_t>(bytes, 1));
}

Dim3 Launch::index_of(uint64_t of_cluster, uint32_t rank) const {
  const uint64_t across = grid.x / cluster.x, down = grid.y / cluster.y;
  return {static_cast<uint32_t>(of_cluster % across) * cluster.x + rank % cluster.x,
          static_cast<uint32_t>(of_cluster / across % down) * cluster.y + rank / cluster.x % cluster.y,
          static_cast<uint32_t>(of_cluster / across / down) * cluster.z + rank / cluster.x / cluster.y};
}

void Launch::begin_to_watch() {
  if (!options.watch || global) return;
  global = std::make_unique<GlobalShadow>(allocations, program.global_granule_bytes, options.threads > 1, clusters());
  global->where = [&program = program](uint32_t site) {
    return program.sites[site].text + " at " + program.where(program.sites[site].location);
  };
}

struct Run::Parts {
  explicit Parts(Launch& launch)
      : launch(launch), order(launch.options.seed, launch.clusters()), worker(launch, order, Clock::now()) {
    launch.begin_to_watch();
  }

  Launch& launch;
  const ClusterOrder order;
  Worker worker;
};

Run::Run(Launch& launch) : parts_(std::make_unique<Parts>(launch)) {}
Run::~Run() = default;

bool Run::turn() { return parts_->worker.turn(); }

Tallies Run::tallies() const {
  Tallies sum(parts_->launch.program.code.size());
  parts_->worker.add_to(sum);
  return sum;
}

Tallies run(Launch& launch) {
  const ClusterOrder order(launch.options.seed, launch.clusters());
  const auto begun = Clock::now();
  launch.begin_to_watch();
  Tallies sum(launch.program.code.size());
  std::mutex mutex;
  const auto work = [&] {
    Worker worker(launch, order, begun);
    while (worker.turn()) {
    }
    const std::scoped_lock lock(mutex);
    worker.add_to(sum);
  };
  std::vector<std::thread> helpers;  // none where one is enough: not every target has threads
  const uint64_t workers = std::min<uint64_t>(std::max(1u, launch.options.threads), launch.clusters());
  for (uint64_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return sum;
}

}  // namespace sim
