/// The state behind the runtime's functions: modules, memory, what was counted and found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/readable.h"
#include "core/machine/launch.h"
#include "core/ptx/syntax.h"
#include "session/device.h"
#include "session/recorder.h"
#include "session/traces.h"

namespace sim {

class Simulator;

/// PTX that the program registered. It is parsed when first needed, kernel by kernel.
class Module {
 public:
  /// The texts for a GPU of `architecture` (90 for sm_90), the first choice first; they live as long as the module.
  /// Throws Refused where there is none.
  using Texts = std::function<std::vector<std::string_view>(uint32_t architecture)>;

  Module(Simulator& simulator, Texts texts) : simulator_(simulator), texts_(std::move(texts)) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The module's variables and one kernel of it, from the newest architecture's text that has this kernel.
  ptx::Module syntax(const std::string& kernel);
  /// The text that `syntax` took.
  std::string_view text(const std::string& kernel);
  /// Address and size of a `.global` or `.const` variable.
  struct Variable {
    std::byte* address = nullptr;
    size_t bytes = 0;
  };
  const Variable* variable(const std::string& name);
  Simulator& simulator() const { return simulator_; }

 private:
  static void check_version(const ptx::Module& parsed);
  void define(const ptx::Module& parsed);

  Simulator& simulator_;
  const Texts texts_;
  std::string_view taken_;
  bool defined_ = false;  ///< the variables, from the first time that a text is parsed
  std::map<std::string, Variable> variables_;
  std::vector<std::vector<std::byte>> storage_;
};

/// A kernel that the program registered.
struct Kernel {
  Module* module = nullptr;
  std::string name;
  std::unique_ptr<Program> program;
  std::string refusal;                ///< why it cannot be run, once that is known
  bool non_portable_cluster = false;  ///< set by cudaFuncSetAttribute: more than 8 blocks are allowed
  uint32_t dynamic_shared_limit = 0;  ///< set by cudaFuncSetAttribute; 0: what is left of the default

  /// Decodes it at the first call. Null when it is refused.
  const Program* decoded();
};

/// What a kernel's launches added up to.
struct LaunchTotals {
  uint64_t launches = 0;
  double seconds = 0;  ///< of the host
  Dim3 grid, block;
  std::optional<Tallies> tallies;
};

/// What became of a launch.
enum class LaunchResult {
  done,
  bad_configuration,
  bad_cluster,
  too_much_shared_memory,
  not_runnable,
  failed,
  assertion_failed
};

/// What a front decides before anything is run.
struct Settings {
  Device device;            ///< that is simulated
  int multiprocessors = 0;  ///< that programs are told of; 0: as many as the device has
  Options options;
  uint32_t traced_warp = 0, traced_requests = 8;  ///< see Traces
};

class Simulator {
 public:
  explicit Simulator(Settings settings);

  /// That of the CUDA runtime, whose settings are the environment's: sim/cuda alone has it.
  static Simulator& instance();

  Module* add_module(Module::Texts texts);
  Module* add_module(const void* fat_binary);
  Module* add_module(std::string ptx);
  void remove_module(Module* module);
  void add_kernel(Module* module, const void* host_function, std::string name);
  void add_variable(Module* module, const void* host_variable, std::string name);
  Kernel* kernel(const void* host_function);
  const Module::Variable* variable(const void* host_variable);

  /// `cluster`: where the launch asks for one.
  LaunchResult launch(Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_shared_bytes,
                      std::optional<Dim3> cluster = std::nullopt);

  /// The same in two halves, for a front that runs what is between them piece by piece. Null where it is refused.
  std::unique_ptr<Launch> begin(Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_shared_bytes,
                                std::optional<Dim3> cluster, LaunchResult& refused);
  LaunchResult end(Kernel& kernel, const Launch& launch, Tallies tallies, double seconds);

  void reset();
  /// The JSON of gemmSimReport.
  std::string summary();
  /// The reports as text, for a process that nobody asked.
  std::string report_text() const;

  /// Traces the first launch of each kernel from now on, or none; what was traced before is forgotten.
  void trace(bool on);
  /// The JSON of gemmSimTraceText.
  std::string trace_json();

  /// Writes down what each launch from now on is given.
  void record();
  /// The JSON of what was written down, and the summary.
  std::string recorded();

  Allocations allocations;
  Reports reports;
  Options options;
  Device device;
  int multiprocessors = 0;   ///< that programs are told of; blocks run side by side as they may
  size_t reports_given = 0;  ///< reports that gemmSimReport has handed out

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, Kernel> kernels_;
  std::unordered_map<const void*, std::pair<Module*, std::string>> variables_;
  std::map<const Kernel*, LaunchTotals> totals_;
  const uint32_t traced_warp_, traced_requests_;
  std::unique_ptr<Traces> traces_;
  std::unique_ptr<Recorder> recorder_;
};

/// File and line that a reader of the kernel's file would name: where code inlined from elsewhere was called.
std::pair<uint32_t, uint32_t> line_of(const Program& program, const ptx::Location& location);

}  // namespace sim
