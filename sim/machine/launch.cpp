#include "machine/launch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

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

/// Gives the launch up where its first blocks foretell more seconds than it may take. A kernel's work grows with the
/// product of three dimensions, that of matrices: the cube root of the time says how much smaller each should be.
void foretell(Launch& launch, Clock::time_point begun) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - begun).count();
  const uint64_t done = ++launch.done_blocks;
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

}  // namespace

Tallies run(Launch& launch) {
  const uint64_t blocks = launch.grid.count();
  const auto begun = Clock::now();
  Tallies sum(launch.program.code.size());
  std::mutex mutex;
  const auto work = [&] {
    Block block(launch);
    for (uint64_t number; !launch.given_up && (number = launch.next_block++) < blocks;) {
      block.run(number);
      foretell(launch, begun);
    }
    const std::scoped_lock lock(mutex);
    sum += block.tallies;
  };
  std::vector<std::jthread> helpers;
  const uint64_t workers = std::min<uint64_t>(std::max(1u, launch.options.threads), blocks);
  for (uint64_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();  // joins them
  return sum;
}

}  // namespace sim
