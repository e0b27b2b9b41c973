#include "common/harness/simulated.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace simulated {
namespace {

// A function of the simulator's own interface (sim/session/gemm_sim.h), or null where the runtime is the real one.
template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Adds every number of `more` to that of the same name in `sum`.
void add(nlohmann::json& sum, const nlohmann::json& more) {
  if (!sum.is_object()) sum = nlohmann::json::object();
  for (const auto& [key, value] : more.items()) {
    if (value.is_object())
      add(sum[key], value);
    else
      sum[key] = sum.value(key, std::uint64_t{0}) + value.get<std::uint64_t>();
  }
}

void add_mistakes(Mistakes& to, const nlohmann::json& mistakes) {
  for (const auto& entry : mistakes) {
    auto& list = entry.at("warning").get<bool>() ? to.warnings : to.reports;
    list.push_back(entry.at("text").get<std::string>());
  }
}

// How many blocks a grid has, or threads a block.
std::uint64_t volume(const nlohmann::json& size) {
  return size.at(0).get<std::uint64_t>() * size.at(1).get<std::uint64_t>() * size.at(2).get<std::uint64_t>();
}

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

// "2.00 per request", where there are requests.
std::string each(std::uint64_t number, std::uint64_t requests, const char* unit) {
  if (requests == 0) return "";
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << static_cast<double>(number) / static_cast<double>(requests) << " "
       << unit;
  return text.str();
}

struct Row {
  std::string name;
  std::uint64_t number;
  std::string note;
};

// What the TMA unit moved, where a kernel uses it.
void add_tma_rows(std::vector<Row>& rows, const nlohmann::json& tma) {
  const auto of = [&](const char* key) { return tma.at(key).get<std::uint64_t>(); };
  const auto traffic = [&](const std::string& what, const char* requests, const char* bytes) {
    if (of(requests) == 0) return;
    rows.push_back({what + " requests", of(requests), ""});
    rows.push_back({what + " bytes", of(bytes), each(of(bytes), of(requests), "per request")});
  };
  traffic("TMA load", "load_requests", "load_bytes");
  if (of("load_requests") != 0) rows.push_back({"TMA bytes into shared memory", of("shared_bytes"), ""});
  if (of("multicast_saved_bytes") != 0) {
    rows.push_back({"TMA bytes saved by multicast", of("multicast_saved_bytes"),
                    each(of("multicast_saved_bytes") + of("load_bytes"), of("load_bytes"), "blocks per byte read")});
  }
  traffic("TMA store", "store_requests", "store_bytes");
  traffic("TMA prefetch", "prefetch_requests", "prefetch_bytes");
}

void print_table(std::ostream& out, const nlohmann::json& counts) {
  const auto of = [&](const char* key) { return counts.at(key).get<std::uint64_t>(); };
  const std::uint64_t instructions = of("instructions");
  std::vector<Row> rows{{"warp instructions (PTX)", instructions, ""}};
  std::vector<std::pair<std::uint64_t, std::string>> classes;
  for (const auto& [name, number] : counts.at("by_class").items())
    classes.emplace_back(number.get<std::uint64_t>(), name);
  std::sort(classes.rbegin(), classes.rend());
  for (const auto& [number, name] : classes) {
    if (number == 0) continue;
    char share[16];
    std::snprintf(share, sizeof share, "%.1f %%",
                  100.0 * static_cast<double>(number) / static_cast<double>(instructions));
    rows.push_back({"  " + name, number, share});
  }
  using Amounts = std::vector<std::pair<const char*, const char*>>;  // unit and key of what the requests moved
  const auto traffic = [&](const std::string& what, const char* requests, const Amounts& amounts) {
    if (of(requests) == 0) return;
    rows.push_back({what + " requests", of(requests), ""});
    for (const auto& [unit, key] : amounts)
      rows.push_back({what + " " + unit, of(key), each(of(key), of(requests), "per request")});
  };
  const auto conflicts = [&](const char* what, const char* key) {
    if (of(key) != 0) rows.push_back({std::string(what) + " bank conflicts", of(key), ""});
  };
  traffic("global load", "global_load_requests", {{"sectors", "global_load_sectors"}});
  traffic("global store", "global_store_requests", {{"sectors", "global_store_sectors"}});
  traffic("shared load", "shared_load_requests", {{"wavefronts", "shared_load_wavefronts"}});
  conflicts("shared load", "shared_load_conflicts");
  traffic("shared store", "shared_store_requests", {{"wavefronts", "shared_store_wavefronts"}});
  conflicts("shared store", "shared_store_conflicts");
  traffic("cp.async", "cp_async_requests",
          {{"global sectors", "cp_async_global_sectors"}, {"shared wavefronts", "cp_async_shared_wavefronts"}});
  if (counts.contains("tma")) add_tma_rows(rows, counts.at("tma"));
  if (counts.contains("wgmma_wavefronts")) rows.push_back({"wgmma operand wavefronts", of("wgmma_wavefronts"), ""});
  for (const auto& [key, name] :
       {std::pair{"barriers", "barriers (warps arriving)"}, std::pair{"tensor_ops", "tensor-core operations"},
        std::pair{"divergent_branches", "divergent branches"}}) {
    if (of(key) != 0) rows.push_back({name, of(key), ""});
  }
  for (const Row& row : rows) {
    out << "  " << std::left << std::setw(34) << row.name << std::right << std::setw(16) << grouped(row.number) << "  "
        << row.note << "\n";
  }
}

// The lines of a source file; empty where it cannot be read.
const std::vector<std::string>& source(const std::string& file) {
  static std::map<std::string, std::vector<std::string>> files;
  const auto [entry, fresh] = files.try_emplace(file);
  if (fresh) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) entry->second.push_back(line);
  }
  return entry->second;
}

// What a line costs, in the order of the columns: instructions, global sectors per request,
// shared wavefronts per request. The last is left out where nothing uses shared memory.
void print_lines(std::ostream& out, const nlohmann::json& lines) {
  const auto shared_requests = [](const nlohmann::json& counts) {
    std::uint64_t sum = 0;
    for (const char* key : {"shared_load_requests", "shared_store_requests", "cp_async_requests"})
      sum += counts.at(key).get<std::uint64_t>();
    return sum;
  };
  const bool uses_shared = std::any_of(lines.begin(), lines.end(),
                                       [&](const auto& line) { return shared_requests(line.at("counts")) != 0; });
  std::string file;
  for (const auto& line : lines) {
    if (line.at("file") != file) {
      file = line.at("file");
      out << "\n"
          << file << "\n"
          << "  instructions  sectors/request" << (uses_shared ? "  wavefronts/request" : "") << "   line\n";
    }
    const auto& counts = line.at("counts");
    const auto of = [&](const char* key) { return counts.at(key).get<std::uint64_t>(); };
    const std::uint64_t global = of("global_load_requests") + of("global_store_requests") + of("cp_async_requests");
    const std::uint64_t sectors =
        of("global_load_sectors") + of("global_store_sectors") + of("cp_async_global_sectors");
    const std::uint64_t wavefronts =
        of("shared_load_wavefronts") + of("shared_store_wavefronts") + of("cp_async_shared_wavefronts");
    const std::size_t number = line.at("line").get<std::size_t>();
    const auto& text = source(file);
    out << std::right << std::setw(14) << grouped(of("instructions")) << std::setw(17) << each(sectors, global, "");
    if (uses_shared) out << std::setw(20) << each(wavefronts, shared_requests(counts), "");
    out << std::setw(7) << number << "  " << (number >= 1 && number <= text.size() ? text[number - 1] : "") << "\n";
  }
}

}  // namespace

bool active() { return find<int()>("gemmSimVersion") != nullptr; }

std::optional<std::filesystem::path> library() {
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto file = executable.parent_path().parent_path() / "sim" / "libcudart.so.13";
  if (failed || !std::filesystem::exists(file)) return std::nullopt;
  return file;
}

void restart_in_simulator(char** argv) {
  const auto file = library();
  if (!file || active()) {
    std::fprintf(stderr, "the simulator could not be started: %s\n",
                 file ? "it is already running" : "it was not built");
    std::exit(2);
  }
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string path = file->parent_path().string() + (before && *before ? ":" + std::string(before) : "");
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  execv(executable.c_str(), argv);
  std::perror("the simulator could not be started");
  std::exit(2);
}

void begin() {
  if (auto* const reset = find<void()>("gemmSimReset")) reset();
}

Outcome end() {
  Outcome outcome;
  auto* const report = find<const char*()>("gemmSimReport");
  if (!report) return outcome;
  const auto seen = nlohmann::json::parse(report());
  std::map<std::pair<std::string, std::uint64_t>, nlohmann::json> lines;
  outcome.counts = nlohmann::json::object();
  for (const auto& kernel : seen.at("kernels")) {
    outcome.kernels.push_back(kernel.at("symbol"));
    add(outcome.counts, kernel.at("counts"));
    outcome.blocks += volume(kernel.at("grid"));
    outcome.threads = std::max(outcome.threads, volume(kernel.at("block")));
    outcome.seconds += kernel.at("seconds").get<double>();
    for (const auto& line : kernel.at("lines")) add(lines[{line.at("file"), line.at("line")}], line.at("counts"));
  }
  outcome.lines = nlohmann::json::array();
  for (const auto& [place, counts] : lines)
    outcome.lines.push_back({{"file", place.first}, {"line", place.second}, {"counts", counts}});
  add_mistakes(outcome, seen.at("mistakes"));
  return outcome;
}

Mistakes mistakes() {
  Mistakes found;
  if (auto* const all = find<const char*()>("gemmSimMistakes")) add_mistakes(found, nlohmann::json::parse(all()));
  return found;
}

void begin_trace() {
  if (auto* const trace = find<void(int)>("gemmSimTrace")) trace(1);
}

std::string trace() {
  auto* const text = find<const char*()>("gemmSimTraceText");
  if (!text) throw std::runtime_error("this simulator has no traces; build it again: meson compile -C build");
  return text();
}

void print(std::ostream& out, const Outcome& outcome) {
  if (!outcome.counts.contains("instructions")) {
    out << "no kernel was launched\n";
    return;
  }
  print_table(out, outcome.counts);
  const double rate = outcome.counts.at("instructions").get<double>() / outcome.seconds * 1e-6;
  out << std::fixed << std::setprecision(3) << "  simulated in " << outcome.seconds << " s, " << std::setprecision(1)
      << rate << " million warp instructions per second\n";
  print_lines(out, outcome.lines);
}

}  // namespace simulated
