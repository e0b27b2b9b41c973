/// The state behind the runtime's functions: modules, memory, what was counted and found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/readable.h"
#include "core/machine/launch.h"
#include "core/ptx/syntax.h"
#include "session/traces.h"

namespace sim {

/// The simulated GPU: an H200's limits, and as much memory as a test should need.
struct Device {
  static constexpr const char* name = "PTX simulator";
  static constexpr int major = 9, minor = 0;
  static constexpr int multiprocessors = 132;
  static constexpr uint32_t shared_bytes_per_block = 48 << 10;  ///< without opting in
  static constexpr uint32_t shared_bytes_per_block_optin = 227 << 10;
  static constexpr uint32_t shared_bytes_per_multiprocessor = 228 << 10;
  static constexpr uint32_t registers_per_multiprocessor = 64 << 10;
  static constexpr uint32_t threads_per_block = 1024, threads_per_multiprocessor = 2048, blocks_per_multiprocessor = 32;
  static constexpr uint64_t memory_bytes = uint64_t{2} << 30;
  static constexpr uint64_t l2_bytes = uint64_t{50} << 20;
  static constexpr int runtime_version = 13000, driver_version = 13000;
  static constexpr uint32_t newest_ptx = 90;  ///< PTX ISA version that the parser was written for, times ten
};

/// A fat binary that the program registered. Its PTX is parsed when first needed, kernel by kernel.
class Module {
 public:
  explicit Module(const void* fat_binary) : fat_binary_(fat_binary) {}
  ~Module();

  /// The module's variables and one kernel of it, from the newest architecture's text that has this kernel.
  ptx::Module syntax(const std::string& kernel);
  /// Address and size of a `.global` or `.const` variable.
  struct Variable {
    std::byte* address = nullptr;
    size_t bytes = 0;
  };
  const Variable* variable(const std::string& name);

 private:
  static void check_version(const ptx::Module& parsed);
  void define(const ptx::Module& parsed);

  const void* fat_binary_;
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

class Simulator {
 public:
  static Simulator& instance();

  Module* add_module(const void* fat_binary);
  void remove_module(Module* module);
  void add_kernel(Module* module, const void* host_function, std::string name);
  void add_variable(Module* module, const void* host_variable, std::string name);
  Kernel* kernel(const void* host_function);
  const Module::Variable* variable(const void* host_variable);

  /// `cluster`: where the launch asks for one.
  LaunchResult launch(Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_shared_bytes,
                      std::optional<Dim3> cluster = std::nullopt);

  void reset();
  /// The JSON of gemmSimReport.
  std::string summary();
  /// The reports as text, for a process that nobody asked.
  std::string report_text() const;

  /// Traces the first launch of each kernel from now on, or none; what was traced before is forgotten.
  void trace(bool on);
  /// The JSON of gemmSimTraceText.
  std::string trace_json();
  /// Writes the trace where the environment asks for it; says why where that is impossible.
  void write_trace();

  Allocations allocations;
  Reports reports;
  Options options;
  int multiprocessors = Device::multiprocessors;  ///< that programs are told of; blocks run side by side as they may
  size_t reports_given = 0;                       ///< reports that gemmSimReport has handed out

 private:
  Simulator();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, Kernel> kernels_;
  std::unordered_map<const void*, std::pair<Module*, std::string>> variables_;
  std::map<const Kernel*, LaunchTotals> totals_;
  std::unique_ptr<Traces> traces_;
  std::string trace_file_;  ///< that the environment names
};

/// File and line that a reader of the kernel's file would name: where code inlined from elsewhere was called.
std::pair<uint32_t, uint32_t> line_of(const Program& program, const ptx::Location& location);

}  // namespace sim
