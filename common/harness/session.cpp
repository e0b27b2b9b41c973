#include "common/harness/session.h"

#include <algorithm>

#include "common/device/check.h"

namespace {

constexpr int DEFAULT_SIZE = 4096;
constexpr int SIMULATED_BLOCKS = 2, SIMULATED_SLICES = 3, SIMULATED_LEAST = 64;

bool is_meant(const Session& session, const Variant& variant, const std::string& asked) {
  if (asked.empty()) return session.is_default(variant);
  return asked == variant.name || asked == (variant.left_out.empty() ? "all" : "bottlenecks");
}

std::vector<const Variant*> chosen(const Session& session) {
  std::vector<std::string> asked = session.options.variants;
  if (asked.empty()) asked.emplace_back();
  std::string names;
  for (const Variant& variant : session.variants) names += " " + variant.name;
  for (const std::string& name : asked) {
    const auto meant = [&](const Variant& variant) { return is_meant(session, variant, name); };
    if (std::any_of(session.variants.begin(), session.variants.end(), meant)) continue;
    throw BadInput(name == "bottlenecks" ? "no variant of this step leaves out work on purpose"
                                         : "no variant is called " + name + "; this step has:" + names);
  }
  std::vector<const Variant*> found;
  for (const Variant& variant : session.variants)
    if (std::any_of(asked.begin(), asked.end(), [&](const auto& name) { return is_meant(session, variant, name); }))
      found.push_back(&variant);
  return found;
}

// Shared memory that was never filled, sums that nobody needs: the simulator would report what is on purpose.
void require_complete(const Variant& variant) {
  if (!variant.left_out.empty())
    throw BadInput("variant " + variant.name + " leaves out " + variant.left_out +
                   ": its result is wrong on purpose, so that it can only be timed, on a GPU");
}

int rounded_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

Shape simulated_size(const Variant& v) {
  const auto at_least = [](int block, int count, int multiple) {
    return rounded_up(std::max(block * count, SIMULATED_LEAST), multiple);
  };
  return {at_least(v.block_m, SIMULATED_BLOCKS, v.multiple_m), at_least(v.block_n, SIMULATED_BLOCKS, v.multiple_n),
          rounded_up(std::max(at_least(v.block_k, SIMULATED_SLICES, v.multiple_k), v.min_k), v.multiple_k)};
}

std::vector<Work> planned(const Session& session, bool in_simulator) {
  const Options& options = session.options;
  const std::vector<int> strides =
      options.swizzle_strides.empty() ? std::vector{LaunchOptions().swizzle_stride} : options.swizzle_strides;
  std::vector<Work> work;
  for (const Variant* variant : chosen(session)) {
    if (in_simulator) require_complete(*variant);
    std::vector<Shape> shapes = options.shapes;
    if (shapes.empty())
      shapes.push_back(in_simulator ? simulated_size(*variant) : Shape{DEFAULT_SIZE, DEFAULT_SIZE, DEFAULT_SIZE});
    for (Shape shape : shapes) {
      shape.alpha = options.alpha;
      shape.beta = options.beta;
      shape = completed(shape, options.leading, *variant);
      require_accepted(*variant, shape);
      for (int stride : strides) work.push_back({variant, shape, {stride}});
    }
  }
  return work;
}

bool gpu_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
