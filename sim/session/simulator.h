/// The state behind the runtime's functions: modules, memory, what was counted and found.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/readable.h"
#include "core/machine/launch.h"
#include "core/ptx/syntax.h"
#include "session/device.h"
#include "session/events.h"
#include "session/fatbin.h"
#include "session/followed.h"
#include "session/recorder.h"
#include "session/traces.h"

namespace sim {

class Simulator;

/// PTX that the program registered. It is parsed when first needed, kernel by kernel.
class Module {
 public:
  /// The texts for a GPU of `architecture` (90 for sm_90), the first choice first; they live as long as the module.
  /// Throws Refused where there is none.
  using Texts = std::function<PtxTexts(uint32_t architecture)>;

  /// Several parts are those of a program that was compiled apart (nvcc -rdc=true).
  Module(Simulator& simulator, std::vector<Texts> parts) : simulator_(simulator), sources_(std::move(parts)) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The module's variables and one kernel of it, from the newest architecture's text that has this kernel.
  ptx::Module syntax(const std::string& kernel);
  /// Throws Refused where the simulated GPU runs none of its texts.
  void check_target() { parts(); }
  /// The text that `syntax` took.
  std::string_view text(const std::string& kernel);
  /// Address and size of a `.global` or `.const` variable.
  struct Variable {
    std::byte* address = nullptr;
    size_t bytes = 0;
  };
  const Variable* variable(const std::string& name);
  /// Whether a kernel of this name is in its texts, once they have been parsed.
  bool has_kernel(const std::string& name) const { return kernel_names_.contains(name); }
  Simulator& simulator() const { return simulator_; }

 private:
  static void check_version(const ptx::Module& parsed);
  void define(const ptx::Module& parsed);
  const std::vector<PtxTexts>& parts();

  Simulator& simulator_;
  const std::vector<Texts> sources_;
  std::vector<PtxTexts> parts_;  ///< what the sources gave, once they were asked
  std::string_view taken_;
  bool defined_ = false;  ///< the variables, from the first time that a text is parsed
  std::map<std::string, Variable> variables_;
  std::set<std::string> kernel_names_;
  std::vector<std::vector<std::byte>> storage_;
};

/// A kernel that the program registered.
struct Kernel {
  Module* module = nullptr;
  std::string name;
  std::unique_ptr<Program> program;
  std::string refusal;                ///< why it cannot be run, once that is known
  int ptx_architecture = 0;           ///< 90 where its text is for sm_90
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
  too_many_blocks,
  not_runnable,
  failed,
  assertion_failed
};

/// What a front decides before anything is run.
struct Settings {
  Device device;            ///< that is simulated
  int multiprocessors = 0;  ///< that programs are told of; 0: as many as the device has
  Options options;
  size_t most_mistakes = 10;                      ///< that are printed
  uint32_t traced_warp = 0, traced_requests = 8;  ///< see Traces
  Events::Asked events;                           ///< which ones, where they are asked for
  std::optional<AskedElement> followed;           ///< with the events: where an element of an array goes
};

class Simulator {
 public:
  explicit Simulator(Settings settings);

  /// That of the CUDA runtime, whose settings are the environment's: sim/cuda alone has it.
  static Simulator& instance();

  Module* add_module(std::vector<Module::Texts> parts);
  Module* add_module(const std::vector<const void*>& fat_binaries);
  Module* add_module(const void* fat_binary);
  Module* add_module(std::string ptx);
  void remove_module(Module* module);
  void add_kernel(Module* module, const void* host_function, std::string name);
  void add_variable(Module* module, const void* host_variable, std::string name);
  Kernel* kernel(const void* host_function);
  const Module::Variable* variable(const void* host_variable);

  /// A kernel of a module by its name in PTX; null where there is none.
  Kernel* kernel(Module* module, const std::string& name);

  struct Request {
    Dim3 grid, block;
    void** arguments;
    size_t dynamic_shared_bytes = 0;
    std::optional<Dim3> cluster = {};  ///< where the launch asks for one
    bool cooperative = false;          ///< all blocks are alive at once
    bool early = false;                ///< it may begin before the launch in front of it has ended
  };
  LaunchResult launch(Kernel& kernel, const Request& request);
  /// The same in two halves, for a front that runs what is between them piece by piece. Null where it is refused.
  std::unique_ptr<Launch> begin(Kernel& kernel, const Request& request, LaunchResult& refused);
  LaunchResult end(Kernel& kernel, const Launch& launch, Tallies tallies, double seconds);

  /// The host, or a copy, waits for what has been launched: nothing is in front of the next launch any more.
  void wait_for_launch();

  void reset();
  /// Blocks of so many threads that fit on a multiprocessor, by threads and shared memory.
  uint64_t resident_blocks(Kernel& kernel, uint64_t threads, uint64_t dynamic_shared_bytes) const;
  /// The launch that is under way ends soon; false where there is none.
  bool interrupt();

  /// The JSON of gemmSimReport; `asked`: its reports need not be printed any more.
  std::string summary(bool asked = true);
  /// The JSON of gemmSimMistakes, whose reports need not be printed any more.
  std::string mistakes();
  /// What was found since the last call, a line for each mistake, for a process that nobody asks.
  std::string new_mistakes();
  /// All that was found, a line for each mistake; empty where there is nothing.
  std::string all_mistakes() const;
  /// What was counted, as a table for each kernel.
  std::string counts_table();

  /// Traces the first launch of each kernel from now on, or none; what was traced before is forgotten.
  void trace(bool on);
  /// The JSON of gemmSimTraceText.
  std::string trace_json();

  /// Records the events of the first launch of each kernel from now on.
  void record_events();
  /// What was recorded, as JSON.
  std::string events_text();

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
  bool asked = false;        ///< the program takes care of the reports itself

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, Kernel> kernels_;
  std::map<std::pair<const Module*, std::string>, Kernel> named_kernels_;
  std::unordered_map<const void*, std::pair<Module*, std::string>> variables_;
  std::map<const Kernel*, LaunchTotals> totals_;
  const uint32_t traced_warp_, traced_requests_;
  std::unique_ptr<Traces> traces_;
  const Events::Asked asked_events_;
  const std::optional<AskedElement> followed_;
  std::unique_ptr<EventLogs> event_logs_;
  std::unique_ptr<Recorder> recorder_;
  const size_t most_mistakes_;
  size_t told_ = 0, told_mistakes_ = 0;
  std::atomic<Launch*> under_way_ = nullptr;
  std::unique_ptr<GlobalShadow>
      last_global_;  ///< what the last launch did to global memory, as long as the next may overlap
};

/// Errors, causes first, then warnings.
std::vector<Mistake> mistakes_of(const Reports& reports);
/// A mistake in one line: what, where, what else it shows at, and how often.
std::string told(const Mistake& mistake);

/// File and line that a reader of the kernel's file would name: where code inlined from elsewhere was called.
std::pair<uint32_t, uint32_t> line_of(const Program& program, const ptx::Location& location);

}  // namespace sim
