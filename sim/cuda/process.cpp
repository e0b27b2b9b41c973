#include "cuda/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "session/simulator.h"

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

/// Why a file can not be written; empty where it can.
std::string why_not_writable(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path(file), folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (file.empty()) return "no file is named";
  if (!fs::is_directory(folder, ignored)) return "there is no folder " + folder.string();
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return "it is not an ordinary file";
  if (fs::exists(path, ignored) && access(path.c_str(), W_OK) != 0) return "it is write-protected";
  return access(folder.c_str(), W_OK) == 0 ? "" : "its folder is write-protected";
}

/// Writes a file that is never half-written. Returns what went wrong, or nothing.
std::string write_whole(const std::string& file, const std::string& text) {
  namespace fs = std::filesystem;
  const std::string temporary = file + ".part" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed, ignored;
  if (out) fs::rename(temporary, file, failed);
  if (out && !failed) return "";
  fs::remove(temporary, ignored);
  return failed ? failed.message() : "writing it failed";
}

std::string trace_file, events_file, launches_file, json_file;  // that the environment names

Settings from_environment() {
  refuse_old_names();
  Settings made;
  const char* const named = std::getenv("PTXSIM_DEVICE");
  try {
    made.device = device(named && *named ? named : "h200");
  } catch (const std::invalid_argument& unknown) {
    std::fprintf(stderr, "simulator: PTXSIM_DEVICE: %s\n", unknown.what());
    std::_Exit(2);
  }
  if (!named || !*named) made.device.name = Device{}.name;
  Options& options = made.options;
  options.max_instructions = setting("PTXSIM_MAX_INSTRUCTIONS", options.max_instructions);
  options.max_seconds = static_cast<double>(setting("PTXSIM_MAX_SECONDS", 600));
  options.seed = setting("PTXSIM_SEED", 0, 0);
  options.watch = setting("PTXSIM_WATCH", 1, 0) != 0;
  made.most_mistakes = setting("PTXSIM_REPORTS", made.most_mistakes, 0);
  made.device.memory_bytes = setting("PTXSIM_MEMORY", made.device.memory_bytes >> 20) << 20;
  made.multiprocessors = static_cast<int>(
      std::min<uint64_t>(setting("PTXSIM_MULTIPROCESSORS", static_cast<uint64_t>(made.device.multiprocessors)), 1024));
  options.threads = static_cast<unsigned>(
      std::min<uint64_t>(setting("PTXSIM_THREADS", std::max(1u, std::thread::hardware_concurrency())), 1024));
  constexpr uint64_t most_warps = Device::threads_per_block / warp_size, most_requests = 1 << 20;
  made.traced_warp = static_cast<uint32_t>(std::min(setting("PTXSIM_TRACE_WARP", 0, 0), most_warps - 1));
  Events::Asked& events = made.events;
  events.cluster = setting("PTXSIM_EVENTS_CLUSTER", 0, 0);
  events.first = setting("PTXSIM_EVENTS_FIRST", 0, 0);
  events.most = std::min<uint64_t>(setting("PTXSIM_EVENTS_MOST", events.most), 1 << 24);
  events.accesses = setting("PTXSIM_EVENTS_ACCESSES", 0, 0) != 0;
  events.clocks = setting("PTXSIM_EVENTS_CLOCKS", 0, 0) != 0;
  if (const char* const element = std::getenv("PTXSIM_FOLLOW"); element && *element) {
    unsigned long long array, offset;
    unsigned bytes;
    char rest;
    if (std::sscanf(element, "%llu:%llu:%u%c", &array, &offset, &bytes, &rest) != 3 || bytes == 0 || bytes > 16) {
      std::fprintf(stderr, "simulator: PTXSIM_FOLLOW=%s: ARRAY:OFFSET:BYTES are needed, such as 0:128:4\n", element);
      std::_Exit(2);
    }
    made.followed = AskedElement{static_cast<size_t>(array), offset, bytes};
  }
  made.traced_requests =
      static_cast<uint32_t>(std::min(setting("PTXSIM_TRACE_REQUESTS", made.traced_requests), most_requests));
  return made;
}

/// Traces from the start where the environment names a file for it; ends the process where that cannot be written.
void trace_as_asked(Simulator& simulator) {
  const char* const file = std::getenv("PTXSIM_TRACE");
  if (!file) return;
  const std::string why = simulator.options.watch ? why_not_writable(file) : "PTXSIM_WATCH=0 leaves nothing to trace";
  if (!why.empty()) {
    std::fprintf(stderr, "simulator: no trace can be written to PTXSIM_TRACE=%s: %s\n", file, why.c_str());
    std::_Exit(2);
  }
  trace_file = std::filesystem::absolute(file);  // the program may go to another folder
  simulator.trace(true);
}

/// Records events where the environment names a file for them; ends the process where that cannot be written.
void record_events_as_asked(Simulator& simulator) {
  const char* const file = std::getenv("PTXSIM_EVENTS");
  if (!file) return;
  if (const std::string why = why_not_writable(file); !why.empty()) {
    std::fprintf(stderr, "simulator: no events can be written to PTXSIM_EVENTS=%s: %s\n", file, why.c_str());
    std::_Exit(2);
  }
  events_file = std::filesystem::absolute(file);
  simulator.record_events();
}

/// Writes down the launches where the environment names a file for them.
void record_as_asked(Simulator& simulator) {
  const char* const file = std::getenv("PTXSIM_LAUNCHES");
  if (!file) return;
  if (const std::string why = why_not_writable(file); !why.empty()) {
    std::fprintf(stderr, "simulator: no launches can be written to PTXSIM_LAUNCHES=%s: %s\n", file, why.c_str());
    std::_Exit(2);
  }
  launches_file = std::filesystem::absolute(file);
  simulator.record();
}

void write(const std::string& file, const char* what, const std::string& text) {
  if (const std::string why = write_whole(file, text); !why.empty())
    std::fprintf(stderr, "simulator: no %s written to %s: %s\n", what, file.c_str(), why.c_str());
}

}  // namespace

Simulator& Simulator::instance() {
  static Simulator* const simulator = [] {  // outlives the program's own static objects, which may still call
    auto* const made = new Simulator(from_environment());
    if (const char* const file = std::getenv("PTXSIM_JSON"); file && *file) {
      if (const std::string why = why_not_writable(file); !why.empty()) {
        std::fprintf(stderr, "simulator: no counts can be written to PTXSIM_JSON=%s: %s\n", file, why.c_str());
        std::_Exit(2);
      }
      json_file = std::filesystem::absolute(file);
    }
    trace_as_asked(*made);
    record_events_as_asked(*made);
    record_as_asked(*made);
    return made;
  }();
  return *simulator;
}

void write_what_was_asked_for() {
  Simulator& simulator = Simulator::instance();
  if (!json_file.empty()) write(json_file, "counts were", simulator.summary(false) + "\n");
  if (!trace_file.empty()) write(trace_file, "trace was", simulator.trace_json());
  if (!events_file.empty()) write(events_file, "events were", simulator.events_text());
  if (!launches_file.empty()) write(launches_file, "launches were", simulator.recorded());
}

}  // namespace sim
