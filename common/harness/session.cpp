#include "common/harness/session.h"

#include <algorithm>

#include "common/harness/errors.h"

namespace {

constexpr int DEFAULT_SIZE = 4096;
constexpr int SIMULATED_BLOCKS = 2, SIMULATED_SLICES = 3, SIMULATED_LEAST = 64;

bool is_meant(const Session& session, const Variant& variant, const std::string& asked) {
  if (asked.empty()) return session.is_default(variant);
  return asked == variant.name || asked == (variant.left_out.empty() ? "all" : "bottlenecks");
}

// Whether the variant is meant by one of the names that take in whatever the GPU holds.
bool is_in_a_set(const Variant& variant, const std::vector<std::string>& asked) {
  const std::string set = variant.left_out.empty() ? "all" : "bottlenecks";
  return std::find(asked.begin(), asked.end(), set) != asked.end();
}

void require_held(const Session& session, const Variant& variant) {
  if (session.gpu.holds(variant)) return;
  const Variant* const other = stand_in(session.gpu, session.variants, variant);
  throw BadInput(too_large(session.gpu, variant) + (other == nullptr ? "; no variant of its types and layout takes less"
                                                                     : "; " + std::string(other->name) + " fits"));
}

std::vector<const Variant*> chosen(const Session& session) {
  std::vector<std::string> asked = session.options.variants;
  if (asked.empty()) asked.emplace_back();
  std::string names;
  for (const Variant& variant : session.variants) names += " " + std::string(variant.name);
  for (const std::string& name : asked) {
    const auto meant = [&](const Variant& variant) { return is_meant(session, variant, name); };
    if (std::any_of(session.variants.begin(), session.variants.end(), meant)) continue;
    throw BadInput(name == "bottlenecks" ? "no variant of this step leaves out work on purpose"
                                         : "no variant is called " + name + "; this step has:" + names);
  }
  std::vector<const Variant*> found;
  for (const Variant& variant : session.variants) {
    const auto meant = [&](const std::string& name) { return is_meant(session, variant, name); };
    if (std::none_of(asked.begin(), asked.end(), meant)) continue;
    if (is_in_a_set(variant, asked) && !session.gpu.holds(variant)) continue;
    require_held(session, variant);
    found.push_back(&variant);
  }
  return found;
}

// Shared memory that was never filled, sums that nobody needs: the simulator would report what is on purpose.
void require_complete(const Variant& variant) {
  if (!variant.left_out.empty())
    throw BadInput("variant " + std::string(variant.name) + " leaves out " + std::string(variant.left_out) +
                   ": its result is wrong on purpose, so that it can only be timed, on a GPU");
}

int rounded_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

// Of those that the GPU holds the variant named any_size, or else the first that takes every m, n and k; null where
// there is none.
const Variant* for_any_size(const Session& session) {
  const Variant* found = nullptr;
  for (const Variant& variant : session.variants) {
    const bool any = variant.multiple_m == 1 && variant.multiple_n == 1 && variant.multiple_k == 1;
    if (!any || !variant.left_out.empty() || !session.gpu.holds(variant)) continue;
    if (found == nullptr || variant.name == "any_size") found = &variant;
  }
  return found;
}

void require_stride_taken(const Session& session, const Variant& variant) {
  if (session.options.swizzle_strides.empty() || variant.takes_stride) return;
  std::string names;
  for (const Variant& other : session.variants)
    if (other.takes_stride) names += " " + std::string(other.name);
  throw BadInput("variant " + std::string(variant.name) +
                 " takes no --swizzle-stride: its blocks do not walk C in bands; " +
                 (names.empty() ? "no variant of this step does" : "those that do:" + names));
}

// One variant on one size: complete, or refused.
Work accepted(const Session& session, const Variant& variant, Shape shape) {
  const Options& options = session.options;
  shape.alpha = options.alpha;
  shape.beta = options.beta;
  shape = completed(shape, options.leading, variant);
  require_accepted(variant, shape);
  return {&variant, shape};
}

// The same; where no variant was asked for and the default refuses, the one that takes any size.
Work accepted_or_instead(const Session& session, const Variant& variant, const Shape& shape) {
  require_stride_taken(session, variant);
  const Variant* const other = session.options.variants.empty() ? for_any_size(session) : nullptr;
  const auto taken = [&] {
    Work work = accepted(session, variant, shape);
    const Variant& first = session.variants.front();
    if (session.options.variants.empty() && &variant != &first)
      work.instead_of = too_large(session.gpu, first) + ": " + std::string(variant.name) + " stands in for it";
    return work;
  };
  if (other == nullptr || other == &variant) return taken();
  try {
    return taken();
  } catch (const BadInput& refusal) {
    Work work{};
    try {
      require_stride_taken(session, *other);
      work = accepted(session, *other, shape);
    } catch (const BadInput&) {
      throw refusal;
    }
    work.instead_of =
        std::string(refusal.what()) + ": " + std::string(other->name) + " runs instead, which takes any size";
    return work;
  }
}

}  // namespace

std::string too_large_here(const Session& session) {
  std::string names;
  for (const Variant& variant : session.variants)
    if (is_in_a_set(variant, session.options.variants) && !session.gpu.holds(variant))
      names += " " + std::string(variant.name);
  return names;
}

Shape simulated_size(const Variant& v) {
  const auto at_least = [](int block, int count, int multiple) {
    return rounded_up(std::max(block * count, SIMULATED_LEAST), multiple);
  };
  return {at_least(v.block_m, SIMULATED_BLOCKS, v.multiple_m), at_least(v.block_n, SIMULATED_BLOCKS, v.multiple_n),
          at_least(v.block_k, SIMULATED_SLICES, v.multiple_k)};
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
    for (const Shape& shape : shapes) {
      Work one = accepted_or_instead(session, *variant, shape);
      baselines_for(options.baseline, *one.variant, session.is_default(*one.variant));  // refuses what it cannot be
      for (int stride : strides) {
        one.launch.swizzle_stride = stride;
        work.push_back(one);
      }
    }
  }
  return work;
}

bool gpu_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
