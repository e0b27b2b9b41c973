#include "lab/main_loop/check.h"

#include <cmath>
#include <cstdio>
#include <iostream>

#include "common/device/check.h"
#include "common/harness/simulated.h"
#include "lab/main_loop/options.h"

namespace {

constexpr int CONSUMER_WARPS = 8;
// Of the largest total that random sums of this kind come to; sums in FP16 keep eleven bits of each.
constexpr double TOLERANCE = 1e-4, TOLERANCE_F16_SUMS = 2e-2;

// Prints what is not as expected; returns whether it is.
template <class Number>
bool same(const char* what, Number found, Number expected, Number tolerance = 0) {
  const bool fine = std::abs(found - expected) <= tolerance;
  if (!fine) std::cout << "  " << what << ": " << found << ", expected " << expected << "\n";
  return fine;
}

bool check(const MainLoop& loop) {
  simulated::begin();
  loop.enqueue(CHECKED_SLICES, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  const simulated::Outcome seen = simulated::end();
  std::cout << loop.instruction << " " << loop.a << " " << loop.acc << " " << options_of(loop).dump() << "\n";
  for (const std::string& report : seen.reports) std::cout << "  " << report << "\n";

  const auto slices = static_cast<long>(loop.blocks) * CHECKED_SLICES;
  const auto tma = seen.counts.value("tma", nlohmann::json::object());
  bool fine = seen.reports.empty();
  fine &= same("wgmma", seen.counts.at("tensor_ops").get<long>(), slices * CONSUMER_WARPS * loop.instructions);
  fine &= same("bytes read", tma.value("load_bytes", 0L), slices * static_cast<long>(loop.l2_bytes + loop.dram_bytes));
  fine &= same("bytes received", tma.value("shared_bytes", 0L), slices * static_cast<long>(loop.received_bytes));
  if (loop.received_bytes == 0) {
    const double tolerance = loop.acc == "f16" ? TOLERANCE_F16_SUMS : TOLERANCE;
    const double scale = std::sqrt(loop.flop);  // the deviation of the total of so many products
    fine &= same("total of the sums", loop.total(), loop.expected_total, tolerance * scale);
  }
  return fine;
}

}  // namespace

bool check(const std::vector<MainLoop>& loops) {
  bool fine = true;
  for (const MainLoop& loop : loops) fine &= check(loop);
  return fine;
}
