// The main program of every step: parse, refuse what cannot be done, then measure on the GPU or count in the simulator.

#include <filesystem>
#include <iostream>

#include "common/device/also.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/report.h"
#include "common/harness/simulated.h"
#include "common/harness/whole_file.h"

namespace {

constexpr int EXIT_CHECK_FAILED = 1, EXIT_BAD_INPUT = 2;

// A step is called by the name of its executable.
std::string step_name(const char* argv0) { return std::filesystem::path(argv0).filename().string(); }

int list(const Session& session) {
  if (session.options.json.empty()) {
    print_variants(std::cout, session);
    return 0;
  }
  std::vector<nlohmann::ordered_json> records;
  for (const Variant& variant : session.variants) {
    records.push_back(variant_record(session.step, variant, session.is_default(variant)));
    records.back()["arch"] = step_arch();
    records.back()["fits"] = session.gpu.holds(variant);
  }
  merge_records(session.options.json, records);
  return 0;
}

// Does not return where the simulator can be started.
void enter_simulator(const Session& session, char** argv) {
  const bool asked = session.options.simulate;
  if (!simulated::library())
    throw BadInput(asked ? "the simulator is not built; run: meson compile -C build"
                         : "no CUDA GPU was found, and the simulator is not built; run on a machine with " +
                               needed_gpu(step_arch()) +
                               " and its driver, or build the simulator: meson compile -C build");
  if (!asked) std::cout << "no CUDA GPU was found: running in the simulator\n" << std::flush;
  simulated::restart_in_simulator(argv);
}

// Throws BadInput where a trace could not be written, before anything runs.
void require_traceable(const Options& options) {
  if (!options.simulate && !simulated::active())
    throw BadInput("--trace needs --sim: only the simulator sees what each lane touches");
  require_writable(options.trace, "--trace");
}

int run(int argc, char** argv) {
  std::optional<Options> options = parse_options(argc, argv);
  if (!options) return 0;
  Session session{step_name(argv[0]), std::move(*options), all_variants(), step_arch()};
  if (!session.options.json.empty()) require_writable(session.options.json);
  if (!session.options.trace.empty()) require_traceable(session.options);

  const bool in_simulator = simulated::active() || session.options.simulate || !gpu_present();
  const bool here = simulated::active() || !in_simulator;  // the GPU that this process has is the one that is meant
  if (here) session.gpu = current_gpu();
  if (session.options.list) {
    if (!here && session.options.simulate) enter_simulator(session, argv);
    return list(session);
  }
  if (here) require_runs(session.gpu, step_arch());
  const bool cases = !session.options.check.empty();
  const std::vector<Work> all = cases ? std::vector<Work>() : planned(session, in_simulator);
  if (!here) enter_simulator(session, argv);
  if (!in_simulator) CUDA_CHECK(cudaStreamCreate(&session.stream));
  if (const std::string names = too_large_here(session); !names.empty())
    std::cout << "left out, for " << session.gpu.name << " has " << session.gpu.shared_bytes
              << " bytes of shared memory per block:" << names << "\n";

  const bool traced = in_simulator && !session.options.trace.empty();
  if (traced) simulated::begin_trace();
  bool fine = !cases || check_cases(session);
  ResultTable table(std::cout, session.step, session.gpu);
  for (const Work& work : all) {
    if (!work.instead_of.empty()) std::cout << work.instead_of << "\n";
    const bool right = in_simulator                  ? count(session, work)
                       : session.options.fingerprint ? launch_once(session, work)
                                                     : measure(session, table, work);
    fine = right && fine;
  }
  if (traced) write_whole(session.options.trace, simulated::trace(), "--trace");
  return fine ? 0 : EXIT_CHECK_FAILED;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const BadInput& error) {
    std::cerr << step_name(argv[0]) << ": " << error.what() << "\n";
    return EXIT_BAD_INPUT;
  } catch (const std::exception& error) {
    std::cerr << step_name(argv[0]) << ": " << error.what() << "\n";
    return EXIT_CHECK_FAILED;
  }
}
