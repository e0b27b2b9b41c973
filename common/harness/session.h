// What one run of a step's executable has to do, decided and refused before anything is launched; and doing it.
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
  std::string arch{};             // the least that the step is compiled for
  Gpu gpu{};                      // with its shared memory unknown until the runtime is there that is asked
  cudaStream_t stream = nullptr;

  bool is_default(const Variant& variant) const { return variant.name == default_on(gpu, variants).name; }
};

/// One variant on one size, told one thing. Points into the session's variants.
struct Work {
  const Variant* variant;
  Shape shape;
  LaunchOptions launch{};
  std::string instead_of{};  // why not the default, and what this one has to it, where no variant was asked for
};

/// At least 2 x 2 blocks and 3 slices of K: the smallest size at which every part of a kernel runs.
Shape simulated_size(const Variant& variant);

/// Every chosen variant on every size, with every swizzle stride that was asked for. Without a size: 4096, or
/// `simulated_size` in the simulator. Without a variant: the default, or on sizes that it refuses the step's variant
/// that takes any size. Of "all" those that the GPU holds. Throws BadInput for an unknown variant or one that the GPU
/// does not hold, where a variant refuses a size, a stride or a baseline, and in the simulator for one that leaves out
/// work on purpose.
std::vector<Work> planned(const Session& session, bool in_simulator);

/// The names of the variants that "all" leaves out because the GPU does not hold them, each behind a space.
std::string too_large_here(const Session& session);

/// Whether the CUDA runtime of this process sees a GPU.
bool gpu_present();

class ResultTable;  // report.h

/// On a GPU: verified, timed against the library, verified again, reported, recorded. Returns false, having said where,
/// if a result is wrong: then nothing is recorded. Throws BadInput where the memory does not suffice.
bool measure(const Session& session, ResultTable& table, const Work& work);

/// For profilers and for comparing bits: one launch on random inputs, checked as asked, C's fingerprint printed,
/// nothing timed or recorded. Returns false, having said where, if the result is wrong.
bool launch_once(const Session& session, const Work& work);

/// In the simulator: checked, then counted. Returns false, having said what, if a result is wrong or the simulator
/// reports a race or a bad access: then nothing is recorded. Throws BadInput where the memory does not suffice.
bool count(const Session& session, const Work& work);

/// Verifies every case of the file that --check names, on a GPU or in the simulator: many small problems in one
/// process. Each line of the file is a case: {"arguments": ["--variant", "t8x8", "--m", "128", …]}, and with
/// "refused": "…" one that has to be refused with these words. Says what became of each variant, one line for each case
/// that failed, and a total. Returns whether all went well. Throws BadInput where the file is not such a file.
bool check_cases(Session& session);
