/// `ptxsim PROGRAM`: runs a CUDA program in the simulator; `ptxsim nvcc`: compiles one so that it says most.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command/elf.h"

namespace {

namespace fs = std::filesystem;

constexpr int bad_use = 2, not_executable = 126, not_found = 127, by_interrupt = 130;

constexpr const char* help = R"(usage: ptxsim [OPTION]... PROGRAM [ARGUMENT]...
       ptxsim nvcc [ARGUMENT]...

Runs a CUDA program on a simulated GPU: executes its PTX, counts what it does to
memory, and reports races, missing waits and wrong accesses with their lines.

  --counts           a table of what each kernel did, after the run
  --json FILE        counts and findings, by kernel and source line
  --trace FILE       what the first requests of a warp touch
  --trace-events FILE  who arrives, copies and waits in a cluster, in order
  --events-cluster N   in which cluster (0)
  --events-first N     the first event that is kept (0)
  --events-most N      how many are kept (65536)
  --events-accesses    with each access to memory, its lanes and registers
  --events-clocks      with the vector clock of each warp that learns something
  --follow ARRAY:OFFSET:BYTES  with where an element of an array goes
  --device NAME      the GPU that is simulated, e.g. a100 or rtx4090 (h200)
  --seed N           another order of blocks, warps and copies (0: in order)
  --seeds N          runs it N times, with the seeds 0 to N-1
  --reports N        mistakes that are printed (10)
  --memory MIB       memory of the GPU (2048)
  --threads N        cores to use (all)
  --max-seconds N    that a launch may take (600)
  --no-checks        only executes the kernels
  --version, --help

ptxsim nvcc adds -lineinfo, and PTX where only machine code was asked for.
The exit code is the program's, or 1 where it is 0 and mistakes were found,
2 where ptxsim was used wrongly, 126 or 127 where PROGRAM cannot be run,
130 after Ctrl-C.
)";

[[noreturn]] void fail(int code, const std::string& why) {
  std::fprintf(stderr, "ptxsim: %s\n", why.c_str());
  std::exit(code);
}

/// Where the libraries are: beside the command, in lib/ beside its folder, or in the folder above.
fs::path libraries() {
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& folder :
       {here, here / "lib", here.parent_path() / "lib", here.parent_path() / "lib" / "ptxsim", here.parent_path()}) {
    if (fs::exists(folder / "libcudart.so.13", failed)) return folder;
  }
  fail(bad_use, "its library libcudart.so.13 is not beside it, in " + here.string());
}

/// As a shell finds a command; empty where there is none.
std::string found(const std::string& name) {
  std::error_code failed;
  if (name.find('/') != std::string::npos) return fs::exists(name, failed) ? name : "";
  const char* const path = std::getenv("PATH");
  const std::string_view folders = path ? path : "";
  for (size_t from = 0; from <= folders.size();) {
    const size_t to = std::min(folders.find(':', from), folders.size());
    const fs::path file = fs::path(folders.substr(from, to - from)) / name;
    if (access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, failed)) return file;
    from = to + 1;
  }
  return "";
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

[[noreturn]] void run_nvcc(std::vector<std::string> words) {
  const auto says = [&](std::string_view what) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return word.find(what) != std::string::npos; });
  };
  if (!says("lineinfo") && !says("-G")) words.push_back("-lineinfo");
  // code=sm_90 leaves no PTX in the program; what arch says is added as PTX, which the simulator runs.
  std::vector<std::string> more;
  for (const std::string& word : words) {
    const size_t arch = word.find("arch=compute_"), code = word.find("code=sm_");
    if (arch == std::string::npos || code == std::string::npos) continue;
    const std::string virtual_arch = word.substr(arch + 5, word.find(',', arch) - arch - 5);
    const std::string option = "arch=" + virtual_arch + ",code=" + virtual_arch;
    if (says(option) || std::find(more.begin(), more.end(), option) != more.end()) continue;
    more.push_back("-gencode"), more.push_back(option);
  }
  words.insert(words.end(), more.begin(), more.end());
  for (std::string& word : words) {
    if (word == "-arch=native" || word == "--gpu-architecture=native")
      word = "-arch=sm_90";  // there may be no GPU here
  }
  std::vector<char*> argv = as_argv(words);
  execvp("nvcc", argv.data());
  fail(not_found, "nvcc is not on PATH: install CUDA's compiler, or add its bin folder to PATH");
}

uint64_t number(const std::string& option, const std::string& text, uint64_t least) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(bad_use, option + " takes a whole number, not '" + text + "'");
  if (value < least) fail(bad_use, option + " takes a whole number from " + std::to_string(least) + " up, not " + text);
  return value;
}

struct Options {
  std::optional<uint64_t> seeds;
  std::string json;
  std::vector<std::string> program;
};

/// Settings go to the program as variables of its environment.
Options parse(const std::vector<std::string>& words) {
  const std::map<std::string, const char*> numbers = {{"--seed", "PTXSIM_SEED"},
                                                      {"--reports", "PTXSIM_REPORTS"},
                                                      {"--memory", "PTXSIM_MEMORY"},
                                                      {"--threads", "PTXSIM_THREADS"},
                                                      {"--events-cluster", "PTXSIM_EVENTS_CLUSTER"},
                                                      {"--events-first", "PTXSIM_EVENTS_FIRST"},
                                                      {"--events-most", "PTXSIM_EVENTS_MOST"},
                                                      {"--max-seconds", "PTXSIM_MAX_SECONDS"}};
  const std::set<std::string> may_be_zero = {"--seed", "--reports", "--events-cluster", "--events-first"};
  const std::map<std::string, const char*> texts = {{"--trace", "PTXSIM_TRACE"},
                                                    {"--trace-events", "PTXSIM_EVENTS"},
                                                    {"--follow", "PTXSIM_FOLLOW"},
                                                    {"--device", "PTXSIM_DEVICE"}};
  const std::map<std::string, const char*> flags = {{"--counts", "PTXSIM_COUNTS"},
                                                    {"--events-accesses", "PTXSIM_EVENTS_ACCESSES"},
                                                    {"--events-clocks", "PTXSIM_EVENTS_CLOCKS"}};
  Options options;
  size_t i = 0;
  for (; i < words.size() && words[i].starts_with("-"); ++i) {
    std::string option = words[i];
    std::optional<std::string> value;
    if (const size_t equals = option.find('='); equals != std::string::npos) {
      value = option.substr(equals + 1);
      option.resize(equals);
    }
    const auto argument = [&] {
      if (value) return *value;
      if (i + 1 >= words.size()) fail(bad_use, option + " takes an argument; ptxsim --help lists the options");
      return words[++i];
    };
    if (option == "--") {
      ++i;
      break;
    }
    if (option == "--help" || option == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (option == "--version") {
      std::puts("ptxsim " PTXSIM_VERSION);
      std::exit(0);
    } else if (const auto flag = flags.find(option); flag != flags.end()) {
      setenv(flag->second, "1", 1);
    } else if (option == "--no-checks") {
      setenv("PTXSIM_WATCH", "0", 1);
    } else if (option == "--json") {
      options.json = fs::absolute(argument());
    } else if (option == "--seeds") {
      options.seeds = number(option, argument(), 1);
    } else if (const auto known = numbers.find(option); known != numbers.end()) {
      const std::string text = argument();
      number(option, text, may_be_zero.contains(option) ? 0 : 1);
      setenv(known->second, text.c_str(), 1);
    } else if (const auto known = texts.find(option); known != texts.end()) {
      setenv(known->second, argument().c_str(), 1);
    } else {
      fail(bad_use, "there is no option " + option + "; ptxsim --help lists them");
    }
  }
  if (std::getenv("PTXSIM_FOLLOW") && !std::getenv("PTXSIM_EVENTS"))
    fail(bad_use, "--follow needs --trace-events FILE, where the answer is written");
  options.program.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  if (options.program.empty()) fail(bad_use, "which program? ptxsim --help says how it is used");
  return options;
}

void refuse_what_cannot_run(const std::string& name, const std::string& file) {
  if (file.empty()) {
    std::error_code failed;
    const bool here = name.find('/') == std::string::npos && fs::exists(name, failed);
    if (here && name.ends_with(".cu")) return refuse_what_cannot_run(name, "./" + name);
    fail(not_found, "there is no program " + name + (here ? " on PATH; the one in this folder is ./" + name : ""));
  }
  if (fs::is_directory(file)) fail(not_executable, name + " is a folder");
  if (access(file.c_str(), X_OK) != 0) {
    const bool source = file.ends_with(".cu");
    fail(not_executable, name + (source ? " is a source: compile it first, ptxsim nvcc " + name + " -o program"
                                        : " is not executable (chmod +x)"));
  }
  const ptxsim::Executable program = ptxsim::inspect(file);
  if (program.other_machine) fail(not_executable, name + " is a program for another processor than this one");
  if (program.is_elf && program.has_fat_binary && !program.links_runtime && !program.has_runtime) {
    fail(not_executable, name +
                             " is stripped and contains CUDA's runtime, so that nothing says where its functions "
                             "are: link it with nvcc -cudart shared, or do not strip it");
  }
}

[[noreturn]] void become(Options& options, const std::string& file) {
  if (!options.json.empty()) setenv("PTXSIM_JSON", options.json.c_str(), 1);
  std::vector<char*> argv = as_argv(options.program);
  execv(file.c_str(), argv.data());
  fail(not_executable, options.program[0] + " cannot be run: " + std::strerror(errno));
}

volatile std::sig_atomic_t interrupted = 0, sent_by_terminal = 0;

/// Waits for a run of the program. A terminal sends Ctrl-C to it, too; of a signal that came to this process alone it
/// is told when it does not end by itself.
int wait_for(pid_t child) {
  int status = 0;
  for (int waits = 0; waitpid(child, &status, interrupted ? WNOHANG : 0) != child; ++waits) {
    if (!interrupted) continue;
    if (waits == 100 && !sent_by_terminal) kill(child, SIGINT);
    usleep(10000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// From now on Ctrl-C only ends the wait, so that what was found is told.
void end_in_order() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before{}, now{};
    now.sa_flags = SA_SIGINFO;
    now.sa_sigaction = [](int, siginfo_t* how, void*) {
      interrupted = 1;
      if (how->si_code == SI_KERNEL) sent_by_terminal = 1;
    };
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &now, nullptr);
  }
}

/// Runs the program once for each seed, and says which of them found what.
int run_seeds(Options& options, const std::string& file) {
  struct Seen {
    nlohmann::json report;
    std::vector<uint64_t> seeds;
  };
  std::map<std::string, Seen> seen;
  nlohmann::json last = nlohmann::json::object(), codes = nlohmann::json::array();
  int worst = 0;
  std::string scratch = (fs::temp_directory_path() / "ptxsim-XXXXXX").string();
  const int made = mkstemp(scratch.data());
  if (made < 0) fail(bad_use, "no file can be made in " + fs::temp_directory_path().string());
  close(made);
  end_in_order();
  for (uint64_t seed = 0; seed < *options.seeds && !interrupted; ++seed) {
    fs::resize_file(scratch, 0);
    const pid_t child = fork();
    if (child == 0) {
      setenv("PTXSIM_SEED", std::to_string(seed).c_str(), 1);
      Options once = options;
      once.json = scratch;
      become(once, file);
    }
    const int code = wait_for(child);
    codes.push_back(code);
    worst = std::max(worst, code);
    std::ifstream written(scratch);
    const auto result = nlohmann::json::parse(written, nullptr, false);
    if (!result.is_discarded()) {
      last = result;
      for (const auto& report : result.at("reports")) {
        const auto& lines = report.at("lines");
        const auto here = lines[0].get<std::string>(), there = lines[1].get<std::string>();
        Seen& entry = seen[report.at("kind").get<std::string>() + " in " + report.at("kernel").get<std::string>() +
                           ": " + here + (there.empty() ? "" : " and " + there)];
        if (entry.seeds.empty()) entry.report = report;
        entry.seeds.push_back(seed);
      }
    }
    if (code == by_interrupt) interrupted = 1;
  }
  fs::remove(scratch);
  const std::string all = interrupted ? " of " + std::to_string(*options.seeds) : "";
  std::fprintf(stderr, "ptxsim: %s%zu%s seeds, %zu findings\n", interrupted ? "interrupted; " : "", codes.size(),
               all.c_str(), seen.size());
  nlohmann::json findings = nlohmann::json::array();
  for (auto& [text, entry] : seen) {
    std::fprintf(stderr, "  %s, with %zu of them, e.g. --seed %llu\n", text.c_str(), entry.seeds.size(),
                 static_cast<unsigned long long>(entry.seeds.front()));
    entry.report["seeds"] = entry.seeds;
    findings.push_back(entry.report);
  }
  if (!options.json.empty()) {
    last["reports"] = findings;
    last["exit_codes"] = codes;
    std::ofstream(options.json) << last.dump() << "\n";
  }
  return interrupted ? by_interrupt : worst;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "nvcc") run_nvcc(std::move(words));
  Options options = parse(words);
  const fs::path folder = libraries();
  const std::string file = found(options.program[0]);
  refuse_what_cannot_run(options.program[0], file);
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  fs::path blas = folder / "blas";
  if (std::error_code failed; !fs::exists(blas, failed)) blas = folder / "cuda" / "blas";  // as built
  setenv("LD_LIBRARY_PATH",
         (folder.string() + ":" + blas.string() + (before && *before ? std::string(":") + before : "")).c_str(), 1);
  const char* const preloaded = std::getenv("LD_PRELOAD");
  setenv(
      "LD_PRELOAD",
      ((folder / "libcudart.so.13").string() + (preloaded && *preloaded ? std::string(":") + preloaded : "")).c_str(),
      1);
  if (options.seeds) return run_seeds(options, file);
  become(options, file);
}
