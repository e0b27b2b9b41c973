#include "machine/launch.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "machine/block.h"

namespace sim {

Tallies run(Launch& launch) {
  const uint64_t blocks = launch.grid.count();
  Tallies sum(launch.program.code.size());
  std::mutex mutex;
  const auto work = [&] {
    Block block(launch);
    for (uint64_t number; !launch.given_up && (number = launch.next_block++) < blocks;) block.run(number);
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
