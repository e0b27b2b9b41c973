#include "session/simulator.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/ptx/parse.h"
#include "core/warp/decode.h"
#include "session/fatbin.h"

namespace sim {

// --- modules ---

std::string_view Module::text(const std::string& kernel) {
  syntax(kernel);
  return taken_;
}

ptx::Module Module::syntax(const std::string& kernel) {
  ptx::Module parsed;
  for (const std::string_view text : texts_(static_cast<uint32_t>(simulator_.device.capability))) {
    taken_ = text;
    parsed = ptx::parse(text, kernel);
    check_version(parsed);
    define(parsed);
    const bool has_it = std::any_of(parsed.kernels.begin(), parsed.kernels.end(),
                                    [&](const ptx::Function& each) { return each.name == kernel; });
    if (has_it) break;
  }
  defined_ = true;
  return parsed;
}

void Module::check_version(const ptx::Module& parsed) {
  if (parsed.version > Device::newest_ptx) {
    throw Refused("PTX ISA " + std::to_string(parsed.version / 10) + "." + std::to_string(parsed.version % 10) +
                  " is newer than " + std::to_string(Device::newest_ptx / 10) + "." +
                  std::to_string(Device::newest_ptx % 10) + ", which the simulator knows");
  }
}

void Module::define(const ptx::Module& parsed) {
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
    variables_[variable.name] = {bytes, static_cast<size_t>(variable.bytes)};
    simulator_.allocations.add(address, variable.bytes, "variable", variable.space == ptx::Space::constant);
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
    simulator_.allocations.remove(reinterpret_cast<uint64_t>(variable.address));
}

const Module::Variable* Module::variable(const std::string& name) {
  try {
    if (!defined_) syntax("");
  } catch (const Refused& refused) {
    simulator_.reports.add(Finding::unsupported, name, refused.what(), "", [&] { return refused.what(); });
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
    if (found == syntax.kernels.end()) throw Refused("kernel " + readable(name) + " is not in the PTX of this binary");
    program = std::make_unique<Program>(decode(syntax, *found, [&](const std::string& variable) {
      const Module::Variable* const known = module->variable(variable);
      if (!known) throw Refused("variable " + variable + " is not defined in this module");
      return reinterpret_cast<uint64_t>(known->address);
    }));
  } catch (const Refused& refused) {
    refusal = refused.what();
    module->simulator().reports.add(Finding::unsupported, name, refusal, "", [&] { return refusal; });
  }
  return program.get();
}

// --- the simulator ---

Simulator::Simulator(Settings settings)
    : options(settings.options),
      device(std::move(settings.device)),
      multiprocessors(settings.multiprocessors != 0 ? settings.multiprocessors : device.multiprocessors),
      traced_warp_(settings.traced_warp),
      traced_requests_(settings.traced_requests) {}

void Simulator::trace(bool on) {
  const std::scoped_lock lock(mutex_);
  traces_ = on ? std::make_unique<Traces>(traced_warp_, traced_requests_) : nullptr;
}

void Simulator::record() {
  const std::scoped_lock lock(mutex_);
  recorder_ = std::make_unique<Recorder>();
}

std::string Simulator::recorded() {
  const std::string counted = summary();
  const std::scoped_lock lock(mutex_);
  return (recorder_ ? *recorder_ : Recorder()).text(counted);
}

std::string Simulator::trace_json() {
  const std::scoped_lock lock(mutex_);
  return (traces_ ? *traces_ : Traces(0, 0)).text();
}

Module* Simulator::add_module(Module::Texts texts) {
  const std::scoped_lock lock(mutex_);
  return modules_.emplace_back(std::make_unique<Module>(*this, std::move(texts))).get();
}

Module* Simulator::add_module(const void* fat_binary) {
  return add_module([=](uint32_t architecture) { return find_ptx(fat_binary, architecture); });
}

Module* Simulator::add_module(std::string ptx) {
  return add_module([text = std::make_shared<const std::string>(std::move(ptx))](uint32_t) {
    return std::vector<std::string_view>{*text};
  });
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

std::unique_ptr<Launch> Simulator::begin(Kernel& kernel, Dim3 grid, Dim3 block, void** arguments,
                                         size_t dynamic_shared_bytes, std::optional<Dim3> asked_cluster,
                                         LaunchResult& refused) {
  const auto refuse = [&](LaunchResult why) {
    refused = why;
    return nullptr;
  };
  const Program* const program = kernel.decoded();
  if (!program) return refuse(LaunchResult::not_runnable);

  const auto within = [](const Dim3& size, uint64_t x, uint64_t y, uint64_t z) {
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= x && size.y <= y && size.z <= z;
  };
  const uint64_t most_threads = program->max_threads ? program->max_threads : Device::threads_per_block;
  if (!within(grid, 0x7fffffff, 65535, 65535) || !within(block, 1024, 1024, 64) || block.count() > most_threads)
    return refuse(LaunchResult::bad_configuration);
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
    return refuse(LaunchResult::bad_cluster);
  }
  const uint64_t limit = kernel.dynamic_shared_limit
                             ? program->static_shared_bytes + uint64_t{kernel.dynamic_shared_limit}
                             : uint64_t{Device::shared_bytes_per_block};
  if (program->static_shared_bytes + dynamic_shared_bytes > std::max<uint64_t>(limit, Device::shared_bytes_per_block))
    return refuse(LaunchResult::too_much_shared_memory);

  std::vector<std::byte> parameters(program->parameter_bytes);
  for (size_t i = 0; i < program->parameters.size(); ++i) {
    const auto [offset, bytes] = program->parameters[i];
    std::memcpy(parameters.data() + offset, arguments[i], bytes);
  }
  return std::unique_ptr<Launch>(new Launch{.program = *program,
                                            .grid = grid,
                                            .block = block,
                                            .dynamic_shared_bytes = static_cast<uint32_t>(dynamic_shared_bytes),
                                            .parameters = std::move(parameters),
                                            .allocations = allocations,
                                            .reports = reports,
                                            .options = options,
                                            .cluster = cluster,
                                            .is_explicit_cluster = required || asked_cluster.has_value(),
                                            .multiprocessors = static_cast<uint32_t>(multiprocessors)});
}

LaunchResult Simulator::launch(Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_shared_bytes,
                               std::optional<Dim3> cluster) {
  const std::scoped_lock lock(mutex_);
  LaunchResult refused;
  const std::unique_ptr<Launch> launch = begin(kernel, grid, block, arguments, dynamic_shared_bytes, cluster, refused);
  if (!launch) return refused;
  const std::unique_ptr<Trace> trace = traces_ ? traces_->begin(launch->program) : nullptr;
  launch->trace = trace.get();
  if (recorder_) recorder_->before(*launch, kernel.module->text(kernel.name));
  const auto begun = std::chrono::steady_clock::now();
  Tallies tallies = run(*launch);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (trace) traces_->add(*launch, *trace);
  if (recorder_) recorder_->after(*launch);
  return end(kernel, *launch, std::move(tallies), seconds);
}

LaunchResult Simulator::end(Kernel& kernel, const Launch& launch, Tallies tallies, double seconds) {
  LaunchTotals& totals = totals_[&kernel];
  ++totals.launches;
  totals.seconds += seconds;
  totals.grid = launch.grid;
  totals.block = launch.block;
  if (totals.tallies)
    *totals.tallies += tallies;
  else
    totals.tallies = std::move(tallies);
  if (!launch.given_up) return LaunchResult::done;
  const std::vector<Report> found = reports.all();
  const bool asserted = std::any_of(found.begin(), found.end(), [&](const Report& report) {
    return report.kind == Finding::failed_assertion && report.kernel == launch.program.name;
  });
  return asserted ? LaunchResult::assertion_failed : LaunchResult::failed;
}

void Simulator::reset() {
  const std::scoped_lock lock(mutex_);
  totals_.clear();
  reports.clear();
  reports_given = 0;
}

std::string Simulator::report_text() const {
  std::string text;
  for (const Report& report : reports.all()) {
    text += "simulator: " + std::string(name(report.kind)) + " in " + readable(report.kernel) + ": " + report.message +
            "\n";
  }
  return text;
}

}  // namespace sim
