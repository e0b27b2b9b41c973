// What one run of a step's executable has to do, decided and refused before anything is launched.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/harness/cli.h"
#include "common/harness/gpu.h"

/// A step, its variants, and what was asked of it.
struct Session {
  std::string step;
  Options options;
  std::vector<Variant> variants;  // the first is the default
  Gpu gpu{};                      // only where the runtime is the real one
  cudaStream_t stream = nullptr;

  bool is_default(const Variant& variant) const { return variant.name == variants.front().name; }
};

/// One variant on one size, told one thing. Points into the session's variants.
struct Work {
  const Variant* variant;
  Shape shape;
  LaunchOptions launch{};
  std::string instead_of{};  // why not the default, where no variant was asked for and that one refuses the size
};

/// At least 2 x 2 blocks and 3 slices of K: the smallest size at which every part of a kernel runs.
Shape simulated_size(const Variant& variant);

/// Every chosen variant on every size, with every swizzle stride that was asked for. Without a size: 4096, or
/// `simulated_size` in the simulator. Without a variant: the default, or on sizes that it refuses the step's variant
/// that takes any size. Throws BadInput for an unknown variant, where a variant refuses a size, a stride or a baseline,
/// and in the simulator for one that leaves out work on purpose.
std::vector<Work> planned(const Session& session, bool in_simulator);

/// Whether the CUDA runtime of this process sees a GPU.
bool gpu_present();
