#include "session/simulator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/ptx/link.h"
#include "core/ptx/parse.h"
#include "core/warp/decode.h"

namespace sim {
namespace {

/// A whole number, at least `least`, from the environment, or `otherwise`.
uint64_t setting(const char* name, uint64_t otherwise, uint64_t least = 1) {
  const char* const text = std::getenv(name);
  if (!text) return otherwise;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (end != text && *end == '\0' && value >= least) return value;
  std::fprintf(stderr, "simulator: %s should be a whole number from %llu up, not '%s'; %llu is used\n", name,
               static_cast<unsigned long long>(least), text, static_cast<unsigned long long>(otherwise));
  return otherwise;
}

/// A setting under the name that it had before ends the program, since without it the run would be another one.
void refuse_old_names() {
  const std::string_view old = "GEMM_SIM_";
  for (char* const* each = environ; *each; ++each) {
    const std::string_view variable = *each;
    if (!variable.starts_with(old)) continue;
    const std::string what(variable.substr(old.size(), variable.find('=') - old.size()));
    std::fprintf(stderr, "simulator: GEMM_SIM_%s is now called PTXSIM_%s\n", what.c_str(), what.c_str());
    std::_Exit(2);
  }
}

}  // namespace

// --- modules ---

const std::vector<PtxTexts>& Module::parts() {
  if (!parts_.empty()) return parts_;
  const auto capability = static_cast<uint32_t>(Simulator::instance().device.capability);
  std::vector<PtxTexts> parts;
  std::string why;
  for (const void* const fat_binary : fat_binaries_) {
    try {
      parts.push_back(find_ptx(fat_binary, capability));
    } catch (const Refused& refused) {
      if (why.empty()) why = refused.what();
    }
  }
  if (parts.empty() && !fat_binaries_.empty()) throw Refused(why);  // what another part lacks is refused where it is called
  if (fat_binaries_.empty()) parts.emplace_back().texts.push_back(text_);
  return parts_ = std::move(parts);
}

ptx::Module Module::syntax(const std::string& kernel) {
  const auto has_it = [&](const ptx::Module& parsed) {
    return std::any_of(parsed.kernels.begin(), parsed.kernels.end(),
                       [&](const ptx::Function& each) { return each.name == kernel; });
  };
  std::vector<ptx::Module> linked;
  for (const PtxTexts& part : parts()) {
    ptx::Module parsed;
    for (const std::string_view text : part.texts) {
      parsed = ptx::parse(text, kernel);
      check_version(parsed);
      if (parts_.size() == 1) define(parsed);
      if (parts_.size() > 1 || has_it(parsed)) break;  // of a part the newest: all parts are of one compilation
    }
    if (parts_.size() == 1) return defined_ = true, parsed;
    linked.push_back(std::move(parsed));
  }
  ptx::Module whole = ptx::link(std::move(linked));
  define(whole);
  defined_ = true;
  return whole;
}

void Module::check_version(const ptx::Module& parsed) {
  if (parsed.version > Device::newest_ptx) {
    throw Refused("PTX ISA " + std::to_string(parsed.version / 10) + "." + std::to_string(parsed.version % 10) +
                  " is newer than " + std::to_string(Device::newest_ptx / 10) + "." +
                  std::to_string(Device::newest_ptx % 10) + ", which the simulator knows");
  }
}

void Module::define(const ptx::Module& parsed) {
  kernel_names_.insert(parsed.kernel_names.begin(), parsed.kernel_names.end());
  std::vector<const ptx::Variable*> made;
  for (const ptx::Variable& variable : parsed.variables) {
    if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
    if (variables_.contains(variable.name)) continue;
    made.push_back(&variable);
    auto& storage = storage_.emplace_back(variable.bytes + variable.align);
    const auto address =
        (reinterpret_cast<uint64_t>(storage.data()) + variable.align - 1) / variable.align * variable.align;
    auto* const bytes = reinterpret_cast<std::byte*>(address);
    std::copy(variable.initial.begin(), variable.initial.end(), bytes);
    variables_[variable.name] = {bytes, variable.bytes};
    Simulator::instance().allocations.add(address, variable.bytes, "variable", variable.space == ptx::Space::constant);
  }
  for (const ptx::Variable* const variable : made) {
    for (const ptx::Variable::Pointer& pointer : variable->pointers) {
      const auto to = variables_.find(pointer.to);
      if (to == variables_.end()) continue;  // a function's, which nothing can call
      const uint64_t address = reinterpret_cast<uint64_t>(to->second.address) + pointer.addend;
      std::memcpy(variables_[variable->name].address + pointer.offset, &address, sizeof address);
    }
  }
}

Module::~Module() {
  for (const auto& [name, variable] : variables_)
    Simulator::instance().allocations.remove(reinterpret_cast<uint64_t>(variable.address));
}

const Module::Variable* Module::variable(const std::string& name) {
  try {
    if (!defined_) syntax("");
  } catch (const Refused& refused) {
    Simulator::instance().reports.add(Finding::unsupported, name, refused.what(), "", [&] { return refused.what(); });
    return nullptr;
  }
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

const Program* Kernel::decoded() {
  if (program || !refusal.empty()) return program.get();
  try {
    const ptx::Module syntax = module->syntax(name);
    const auto found = std::find_if(syntax.kernels.begin(), syntax.kernels.end(),
                                    [&](const ptx::Function& each) { return each.name == name; });
    const size_t digits = syntax.target.find_first_of("0123456789");
    if (digits != std::string::npos) ptx_architecture = std::atoi(syntax.target.c_str() + digits);
    if (found == syntax.kernels.end()) throw Refused("kernel " + readable(name) + " is not in the PTX of this binary");
    program = std::make_unique<Program>(decode(syntax, *found, [&](const std::string& variable) {
      const Module::Variable* const known = module->variable(variable);
      if (!known) throw Refused("variable " + variable + " is not defined in this module");
      return reinterpret_cast<uint64_t>(known->address);
    }));
  } catch (const Refused& refused) {
    refusal = refused.what();
    Simulator::instance().reports.add(Finding::unsupported, name, refusal, "", [&] { return refusal; });
  }
  return program.get();
}

// --- the simulator ---

Simulator& Simulator::instance() {
  static Simulator* const simulator = new Simulator;  // outlives the program's own static objects, which may still call
  return *simulator;
}

Simulator::Simulator() {
  refuse_old_names();
  const char* const named = std::getenv("PTXSIM_DEVICE");
  try {
    device = sim::device(named && *named ? named : "h200");
  } catch (const std::invalid_argument& unknown) {
    std::fprintf(stderr, "simulator: PTXSIM_DEVICE: %s\n", unknown.what());
    std::_Exit(2);
  }
  if (!named || !*named) device.name = Device{}.name;
  options.max_instructions = setting("PTXSIM_MAX_INSTRUCTIONS", options.max_instructions);
  options.max_seconds = static_cast<double>(setting("PTXSIM_MAX_SECONDS", 600));
  options.seed = setting("PTXSIM_SEED", 0, 0);
  most_mistakes = setting("PTXSIM_REPORTS", most_mistakes, 0);
  options.watch = setting("PTXSIM_WATCH", 1, 0) != 0;
  device.memory_bytes = setting("PTXSIM_MEMORY", device.memory_bytes >> 20) << 20;
  multiprocessors = static_cast<int>(
      std::min<uint64_t>(setting("PTXSIM_MULTIPROCESSORS", static_cast<uint64_t>(device.multiprocessors)), 1024));
  options.threads = static_cast<unsigned>(
      std::min<uint64_t>(setting("PTXSIM_THREADS", std::max(1u, std::thread::hardware_concurrency())), 1024));
  if (const char* const file = std::getenv("PTXSIM_TRACE")) {
    const std::string why = options.watch ? why_not_writable(file) : "PTXSIM_WATCH=0 leaves nothing to trace";
    if (!why.empty()) {
      std::fprintf(stderr, "simulator: no trace can be written to PTXSIM_TRACE=%s: %s\n", file, why.c_str());
      std::_Exit(2);
    }
    trace_file_ = std::filesystem::absolute(file);  // the program may go to another folder
    trace(true);
  }
}

void Simulator::trace(bool on) {
  constexpr uint64_t most_warps = Device::threads_per_block / warp_size, usual_requests = 8, most_requests = 1 << 20;
  const std::scoped_lock lock(mutex_);
  traces_.reset();
  if (!on) return;
  const uint64_t warp = std::min(setting("PTXSIM_TRACE_WARP", 0, 0), most_warps - 1);
  const uint64_t requests = std::min(setting("PTXSIM_TRACE_REQUESTS", usual_requests), most_requests);
  traces_ = std::make_unique<Traces>(static_cast<uint32_t>(warp), static_cast<uint32_t>(requests));
}

std::string Simulator::trace_json() {
  const std::scoped_lock lock(mutex_);
  return (traces_ ? *traces_ : Traces(0, 0)).text();
}

void Simulator::write_trace() {
  if (trace_file_.empty()) return;
  const std::string why = write_whole(trace_file_, trace_json());
  if (!why.empty())
    std::fprintf(stderr, "simulator: no trace was written to %s: %s\n", trace_file_.c_str(), why.c_str());
}

Module* Simulator::add_module(std::unique_ptr<Module> module) {
  const std::scoped_lock lock(mutex_);
  return modules_.emplace_back(std::move(module)).get();
}

void Simulator::remove_module(Module* module) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(totals_, [&](const auto& totals) { return totals.first->module == module; });
  std::erase_if(kernels_, [&](const auto& kernel) { return kernel.second.module == module; });
  std::erase_if(variables_, [&](const auto& variable) { return variable.second.first == module; });
  std::erase_if(modules_, [&](const auto& each) { return each.get() == module; });
}

void Simulator::add_kernel(Module* module, const void* host_function, std::string name) {
  const std::scoped_lock lock(mutex_);
  Kernel& kernel = kernels_[host_function];
  totals_.erase(&kernel);
  kernel = {};
  kernel.module = module;
  kernel.name = std::move(name);
}

void Simulator::add_variable(Module* module, const void* host_variable, std::string name) {
  const std::scoped_lock lock(mutex_);
  variables_[host_variable] = {module, std::move(name)};
}

Kernel* Simulator::kernel(const void* host_function) {
  const std::scoped_lock lock(mutex_);
  const auto found = kernels_.find(host_function);
  return found == kernels_.end() ? nullptr : &found->second;
}

const Module::Variable* Simulator::variable(const void* host_variable) {
  const std::scoped_lock lock(mutex_);
  const auto found = variables_.find(host_variable);
  return found == variables_.end() ? nullptr : found->second.first->variable(found->second.second);
}

Kernel* Simulator::kernel(Module* module, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  if (!module->has_kernel(name)) return nullptr;
  Kernel& kernel = named_kernels_[{module, name}];
  kernel.module = module;
  kernel.name = name;
  return &kernel;
}

uint64_t Simulator::resident_blocks(Kernel& kernel, uint64_t threads, uint64_t dynamic_shared_bytes) const {
  const Program* const program = kernel.decoded();
  if (!program || threads == 0) return 0;
  const uint64_t shared = program->static_shared_bytes + dynamic_shared_bytes + Device::reserved_shared_bytes;
  const uint64_t by_threads = device.threads_per_multiprocessor / (warp_size * ((threads + warp_size - 1) / warp_size));
  return std::min<uint64_t>(
      {by_threads, device.shared_bytes_per_multiprocessor / shared, device.blocks_per_multiprocessor});
}

LaunchResult Simulator::launch(Kernel& kernel, const Request& request) {
  const std::scoped_lock lock(mutex_);
  const auto& [grid, block, arguments, dynamic_shared_bytes, asked_cluster, cooperative] = request;
  const Program* const program = kernel.decoded();
  if (!program) return LaunchResult::not_runnable;

  const auto within = [](const Dim3& size, uint64_t x, uint64_t y, uint64_t z) {
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= x && size.y <= y && size.z <= z;
  };
  const uint64_t most_threads = program->max_threads ? program->max_threads : Device::threads_per_block;
  if (!within(grid, 0x7fffffff, 65535, 65535) || !within(block, 1024, 1024, 64) || block.count() > most_threads)
    return LaunchResult::bad_configuration;
  const auto& [x, y, z] = program->cluster;
  const bool required = x != 0;
  const Dim3 cluster = asked_cluster.value_or(required ? Dim3{x, y, z} : Dim3{});
  std::string refusal = refused_cluster(grid, cluster, kernel.non_portable_cluster);
  if (cluster.count() > 1 && device.largest_cluster == 0)
    refusal = "clusters need compute capability 9.0, and the simulated GPU has " + device.spoken_capability();
  else if (refusal.empty() && cluster.count() > 1 && cluster.count() > device.largest_cluster)
    refusal = "a cluster of the simulated GPU has at most " + std::to_string(device.largest_cluster) + " blocks";
  if (refusal.empty() && required && (cluster.x != x || cluster.y != y || cluster.z != z))
    refusal = "the launch asks for another cluster than the kernel's __cluster_dims__";
  if (!refusal.empty()) {
    reports.add(Finding::bad_launch, kernel.name, refusal, "", [&] { return refusal; });
    return LaunchResult::bad_cluster;
  }
  const uint64_t limit = kernel.dynamic_shared_limit
                             ? program->static_shared_bytes + uint64_t{kernel.dynamic_shared_limit}
                             : uint64_t{Device::shared_bytes_per_block};
  if (program->static_shared_bytes + dynamic_shared_bytes > std::max<uint64_t>(limit, Device::shared_bytes_per_block))
    return LaunchResult::too_much_shared_memory;

  const uint64_t resident = resident_blocks(kernel, block.count(), dynamic_shared_bytes) * static_cast<uint64_t>(multiprocessors);
  if (cooperative && grid.count() > resident) {
    reports.add(Finding::bad_launch, kernel.name, "cooperative", "", [&] {
      return "a cooperative launch of " + std::to_string(grid.count()) + " blocks, of which " +
             std::to_string(resident) + " are resident at once: cudaOccupancyMaxActiveBlocksPerMultiprocessor says how many";
    });
    return LaunchResult::too_many_blocks;
  }

  std::vector<std::byte> parameters(program->parameter_bytes);
  for (size_t i = 0; i < program->parameters.size(); ++i) {
    const auto [offset, bytes] = program->parameters[i];
    std::memcpy(parameters.data() + offset, arguments[i], bytes);
  }
  Launch launch{.program = *program,
                .grid = grid,
                .block = block,
                .dynamic_shared_bytes = static_cast<uint32_t>(dynamic_shared_bytes),
                .parameters = std::move(parameters),
                .allocations = allocations,
                .reports = reports,
                .options = options,
                .cluster = cluster,
                .is_explicit_cluster = required || asked_cluster.has_value(),
                .multiprocessors = static_cast<uint32_t>(multiprocessors),
                .cooperative = cooperative};
  // What cooperative_groups finds by two special registers: its length, and the barrier of the grid.
  std::array<uint32_t, 4> workspace{sizeof workspace};
  launch.grid_workspace = cooperative ? reinterpret_cast<uint64_t>(workspace.data()) : 0;
  if (cooperative) allocations.add(launch.grid_workspace, sizeof workspace, "grid workspace");
  const std::unique_ptr<Trace> trace = traces_ ? traces_->begin(*program) : nullptr;
  launch.trace = trace.get();
  if (program->reads_clock) {
    reports.add(Finding::clock, kernel.name, SourceLines{"clock", "", "", ""}, [] {
      return std::string("reads a clock, which counts the warp's instructions here: it only grows, and is no time");
    }, true);
  }
  const auto begun = std::chrono::steady_clock::now();
  under_way_ = &launch;
  Tallies tallies = run(launch);
  under_way_ = nullptr;
  if (cooperative) allocations.remove(launch.grid_workspace);
  if (trace) traces_->add(launch, *trace);
  LaunchTotals& totals = totals_[&kernel];
  ++totals.launches;
  totals.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  totals.grid = grid;
  totals.block = block;
  if (totals.tallies)
    *totals.tallies += tallies;
  else
    totals.tallies = std::move(tallies);
  if (!launch.given_up) return LaunchResult::done;
  const std::vector<Report> found = reports.all();
  const bool asserted = std::any_of(found.begin(), found.end(), [&](const Report& report) {
    return report.kind == Finding::failed_assertion && report.kernel == program->name;
  });
  return asserted ? LaunchResult::assertion_failed : LaunchResult::failed;
}

void Simulator::reset() {
  const std::scoped_lock lock(mutex_);
  totals_.clear();
  reports.clear();
  reports_given = told_ = 0;
}

bool Simulator::interrupt() {
  Launch* const launch = under_way_;
  if (launch) launch->given_up = true;
  return launch != nullptr;
}

}  // namespace sim
