#include "cuda/ending.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "cuda/errors.h"
#include "cuda/process.h"
#include "session/simulator.h"

namespace sim {
namespace {

constexpr int code_of_errors = 1, code_of_interrupt = 130;
std::atomic<bool> interrupted = false;

/// Writes what was asked for, and whatever nobody has asked for. Whether there are errors that nobody has seen.
bool tell_all() {
  Simulator& simulator = Simulator::instance();
  write_what_was_asked_for();
  std::fflush(nullptr);
  if (const char* const counts = std::getenv("PTXSIM_COUNTS"); counts && *counts == '1')
    std::fputs(simulator.counts_table().c_str(), stderr);
  const bool unseen = simulator.reports.all().size() > simulator.reports_given;
  if (!simulator.asked || unseen) std::fputs((simulator.new_mistakes() + simulator.all_mistakes()).c_str(), stderr);
  std::fflush(nullptr);
  return unseen;
}

void at_exit() {
  if (tell_all()) _exit(code_of_errors);
}

/// Not what a handler of signals should do, but the process is at its end anyway.
void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  const bool asked_to_end = signal == SIGINT || signal == SIGTERM;
  if (Simulator::instance().interrupt()) {
    if (!asked_to_end) raise(signal);  // within a launch, whose state is not to be read
    interrupted = true;                // after_launch goes on
    return;
  }
  tell_all();
  if (asked_to_end) _exit(code_of_interrupt);
  raise(signal);
}

std::mutex interruptible_mutex;
unsigned interruptible = 0;  // callers
struct sigaction told_next;  // who handled the signal before
std::atomic<bool> ended_a_launch = false;

void end_launch(int signal, siginfo_t* info, void* context) {
  if (Simulator::instance().interrupt()) ended_a_launch = true;
  if (told_next.sa_flags & SA_SIGINFO)
    told_next.sa_sigaction(signal, info, context);
  else
    told_next.sa_handler(signal);
}

}  // namespace

bool let_interrupt(bool on) {
  const std::scoped_lock lock(interruptible_mutex);
  if (on ? interruptible++ != 0 : --interruptible != 0) return ended_a_launch;
  if (!on) {
    struct sigaction now{};
    if (sigaction(SIGINT, nullptr, &now) == 0 && now.sa_sigaction == end_launch) sigaction(SIGINT, &told_next, nullptr);
    return ended_a_launch.exchange(false);
  }
  ended_a_launch = false;
  if (sigaction(SIGINT, nullptr, &told_next) != 0) return false;
  const bool has_handler =
      told_next.sa_flags & SA_SIGINFO ||
      (told_next.sa_handler != SIG_DFL && told_next.sa_handler != SIG_IGN && told_next.sa_handler != end_by_signal);
  if (!has_handler) return false;
  struct sigaction own = told_next;
  own.sa_sigaction = end_launch;
  own.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &own, nullptr);
  return false;
}

void watch_the_end() {
  static const bool once = [] {
    std::atexit(at_exit);
    for (const int signal : {SIGINT, SIGTERM, SIGABRT, SIGSEGV}) {
      struct sigaction now{};
      if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(signal, end_by_signal);
    }
    return true;
  }();
  (void)once;
}

void after_launch() {
  Simulator& simulator = Simulator::instance();
  if (interrupted) {
    std::fputs("simulator: interrupted; what was found until now:\n", stderr);
    tell_all();
    _exit(code_of_interrupt);
  }
  if (simulator.asked && device_state() == cudaSuccess) return;  // else the program will end before it asks
  const std::string text = simulator.new_mistakes();
  if (text.empty()) return;
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);
}

}  // namespace sim
