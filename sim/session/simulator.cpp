#include "session/simulator.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/ptx/link.h"
#include "core/ptx/parse.h"
#include "core/warp/decode.h"
#include "session/fatbin.h"

namespace sim {

// --- modules ---

std::string_view Module::text(const std::string& kernel) {
  syntax(kernel);
  return taken_;
}

const std::vector<PtxTexts>& Module::parts() {
  if (!parts_.empty()) return parts_;
  std::vector<PtxTexts> parts;
  std::string why;
  for (const Texts& source : sources_) {
    try {
      parts.push_back(source(static_cast<uint32_t>(simulator_.device.capability)));
    } catch (const Refused& refused) {
      if (why.empty()) why = refused.what();
    }
  }
  if (parts.empty()) throw Refused(why);  // what one part of several lacks is refused where it is called
  return parts_ = std::move(parts);
}

ptx::Module Module::syntax(const std::string& kernel) {
  const auto has_it = [&](const ptx::Module& parsed) {
    return std::any_of(parsed.kernels.begin(), parsed.kernels.end(),
                       [&](const ptx::Function& each) { return each.name == kernel; });
  };
  const bool alone = parts().size() == 1;
  std::vector<ptx::Module> linked;
  for (const PtxTexts& part : parts_) {
    ptx::Module parsed;
    for (const std::string_view text : part.texts) {
      taken_ = text;
      parsed = ptx::parse(text, kernel);
      check_version(parsed);
      if (alone) define(parsed);
      if (!alone || has_it(parsed)) break;  // of a part the newest: all parts are of one compilation
    }
    linked.push_back(std::move(parsed));
  }
  if (!alone) {
    linked = {ptx::link(std::move(linked))};
    define(linked.front());
  }
  defined_ = true;
  return std::move(linked.front());
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
      traced_requests_(settings.traced_requests),
      asked_events_(settings.events),
      followed_(settings.followed),
      most_mistakes_(settings.most_mistakes) {}

void Simulator::trace(bool on) {
  const std::scoped_lock lock(mutex_);
  traces_ = on ? std::make_unique<Traces>(traced_warp_, traced_requests_) : nullptr;
}

void Simulator::record_events() {
  const std::scoped_lock lock(mutex_);
  event_logs_ = std::make_unique<EventLogs>(asked_events_);
}

std::string Simulator::events_text() {
  const std::scoped_lock lock(mutex_);
  return (event_logs_ ? *event_logs_ : EventLogs({})).text();
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

Module* Simulator::add_module(std::vector<Module::Texts> parts) {
  const std::scoped_lock lock(mutex_);
  return modules_.emplace_back(std::make_unique<Module>(*this, std::move(parts))).get();
}

Module* Simulator::add_module(const void* fat_binary) { return add_module(std::vector{fat_binary}); }

Module* Simulator::add_module(const std::vector<const void*>& fat_binaries) {
  std::vector<Module::Texts> parts;
  for (const void* const each : fat_binaries)
    parts.push_back([=](uint32_t architecture) { return find_ptx(each, architecture); });
  return add_module(std::move(parts));
}

Module* Simulator::add_module(std::string ptx) {
  return add_module(
      std::vector<Module::Texts>{[text = std::make_shared<const std::string>(std::move(ptx))](uint32_t architecture) {
        if (const std::string why = why_not_run(*text, architecture); !why.empty()) throw Refused(why);
        return PtxTexts{{*text}, {}};
      }});
}

void Simulator::remove_module(Module* module) {
  const std::scoped_lock lock(mutex_);
  last_global_.reset();
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

std::unique_ptr<Launch> Simulator::begin(Kernel& kernel, const Request& request, LaunchResult& refused) {
  const auto& [grid, block, arguments, dynamic_shared_bytes, asked_cluster, cooperative, early] = request;
  const auto refuse = [&](LaunchResult why) {
    refused = why;
    return nullptr;
  };
  // A program may try what is too much, and goes by the error that it gets.
  const auto say_and_refuse = [&](LaunchResult result, const std::string& why) {
    reports.add(
        Finding::bad_launch, kernel.name, SourceLines{why, "", "", ""},
        [&] { return why + ": the kernel does not run, and the launch returns cudaErrorInvalidValue"; }, true);
    return refuse(result);
  };
  const Program* const program = kernel.decoded();
  if (!program) return refuse(LaunchResult::not_runnable);

  const auto within = [](const Dim3& size, uint64_t x, uint64_t y, uint64_t z) {
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= x && size.y <= y && size.z <= z;
  };
  const uint64_t most_threads = program->max_threads ? program->max_threads : Device::threads_per_block;
  const auto spoken = [](const Dim3& size) {
    return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
  };
  if (!within(grid, 0x7fffffff, 65535, 65535))
    return say_and_refuse(
        LaunchResult::bad_configuration,
        "a grid of " + spoken(grid) + " blocks, where 1 x 1 x 1 to 2147483647 x 65535 x 65535 may be");
  if (!within(block, 1024, 1024, 64) || block.count() > most_threads)
    return say_and_refuse(LaunchResult::bad_configuration,
                          "a block of " + spoken(block) + " threads, where " +
                              (program->max_threads ? "the kernel's __launch_bounds__ allows " : "there may be ") +
                              std::to_string(most_threads) + " in all, and 1024 x 1024 x 64");
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
    return say_and_refuse(
        LaunchResult::too_much_shared_memory,
        std::to_string(dynamic_shared_bytes) + " bytes of dynamic and " + std::to_string(program->static_shared_bytes) +
            " of static shared memory per block: for more than " + std::to_string(Device::shared_bytes_per_block) +
            " in all, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, "
            "bytes) has to be called before, and this GPU has " +
            std::to_string(device.shared_bytes_per_block_optin));

  const uint64_t resident =
      resident_blocks(kernel, block.count(), dynamic_shared_bytes) * static_cast<uint64_t>(multiprocessors);
  if (cooperative && grid.count() > resident) {
    const std::string why = "a cooperative launch of " + std::to_string(grid.count()) + " blocks, of which only " +
                            std::to_string(resident) +
                            " are resident at once: cudaOccupancyMaxActiveBlocksPerMultiprocessor says how many";
    reports.add(Finding::bad_launch, kernel.name, why, "", [&] { return why; });
    return refuse(LaunchResult::too_many_blocks);
  }
  if (program->reads_clock) {
    const auto say = [] {
      return std::string("reads a clock, which counts the warp's instructions here: it only grows, and is no time");
    };
    reports.add(Finding::clock, kernel.name, SourceLines{"clock", "", "", ""}, say, true);
  }

  std::vector<std::byte> parameters(program->parameter_bytes);
  for (size_t i = 0; i < program->parameters.size(); ++i) {
    const auto [offset, bytes] = program->parameters[i];
    std::memcpy(parameters.data() + offset, arguments[i], bytes);
  }
  std::unique_ptr<Launch> launch(new Launch{.program = *program,
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
                                            .cooperative = cooperative});
  if (cooperative) allocations.add(launch->grid_workspace(), sizeof launch->workspace, "grid workspace");
  if (early) launch->before = std::move(last_global_);
  last_global_.reset();  // its pages are for this launch
  return launch;
}

LaunchResult Simulator::launch(Kernel& kernel, const Request& request) {
  const std::scoped_lock lock(mutex_);
  LaunchResult refused;
  const std::unique_ptr<Launch> launch = begin(kernel, request, refused);
  if (!launch) return refused;
  const std::unique_ptr<Trace> trace = traces_ ? traces_->begin(launch->program) : nullptr;
  launch->trace = trace.get();
  const std::unique_ptr<Events> events =
      event_logs_ ? event_logs_->begin(*launch, kernel.module->text(kernel.name)) : nullptr;
  const nlohmann::ordered_json followed = events && followed_ ? followed_json(*launch, *followed_) : nullptr;
  launch->events = events.get();
  if (recorder_) recorder_->before(*launch, kernel.module->text(kernel.name));
  const auto begun = std::chrono::steady_clock::now();
  under_way_ = launch.get();
  Tallies tallies = run(*launch);
  under_way_ = nullptr;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (trace) traces_->add(*launch, *trace);
  if (events) event_logs_->add(*launch, *events, followed);
  if (recorder_) recorder_->after(*launch);
  last_global_ = std::move(launch->global);
  return end(kernel, *launch, std::move(tallies), seconds);
}

void Simulator::wait_for_launch() {
  const std::scoped_lock lock(mutex_);
  last_global_.reset();
}

LaunchResult Simulator::end(Kernel& kernel, const Launch& launch, Tallies tallies, double seconds) {
  if (launch.cooperative) allocations.remove(launch.grid_workspace());
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
  reports_given = told_ = 0;
}

bool Simulator::interrupt() {
  Launch* const launch = under_way_;
  if (launch) launch->given_up = true;
  return launch != nullptr;
}

}  // namespace sim
