// What a run in the simulator prints of the lines of a kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "common/harness/simulated.h"

namespace {

// A kernel of one line, and what stands beside it: as many requests of shared memory as said.
std::string printed(int shared_requests) {
  nlohmann::json counts;
  for (const char* key :
       {"global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
        "shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts", "shared_store_requests",
        "shared_store_wavefronts", "shared_store_conflicts", "cp_async_requests", "cp_async_global_sectors",
        "cp_async_shared_wavefronts", "barriers", "tensor_ops", "divergent_branches"})
    counts[key] = 0;
  counts["instructions"] = 2048;
  counts["by_class"] = {{"fma", 2048}};
  counts["global_load_requests"] = 64, counts["global_load_sectors"] = 1056;
  counts["shared_load_requests"] = shared_requests, counts["shared_load_wavefronts"] = 2 * shared_requests;
  simulated::Outcome outcome;
  outcome.seconds = 1;
  outcome.counts = counts;
  outcome.lines = {{{"file", "kernel.cu"}, {"line", 24}, {"counts", counts}}};
  std::ostringstream out;
  simulated::print(out, outcome);
  const std::string text = out.str();
  return text.substr(std::min(text.size(), text.find("kernel.cu\n")));
}

TEST(Simulated, WavefrontsStandOnlyWhereSharedMemoryIsUsed) {
  EXPECT_EQ(printed(0),
            "kernel.cu\n"
            "  instructions  sectors/request   line\n"
            "         2,048           16.50      24  \n");
  EXPECT_EQ(printed(32),
            "kernel.cu\n"
            "  instructions  sectors/request  wavefronts/request   line\n"
            "         2,048           16.50                2.00      24  \n");
}

}  // namespace
