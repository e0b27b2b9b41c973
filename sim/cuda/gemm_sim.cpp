#include "session/gemm_sim.h"

#include <string>

#include "cuda/ending.h"
#include "session/simulator.h"

extern "C" {

int gemmSimVersion(void) {
  sim::Simulator::instance().asked = true;
  return 1;
}

void gemmSimReset(void) {
  sim::Simulator::instance().asked = true;
  sim::Simulator::instance().reset();
}

const char* gemmSimReport(void) {
  static thread_local std::string text;
  text = sim::Simulator::instance().summary();
  return text.c_str();
}

const char* gemmSimMistakes(void) {
  static thread_local std::string text;
  text = sim::Simulator::instance().mistakes();
  return text.c_str();
}

void gemmSimWatch(int on) { sim::Simulator::instance().options.watch = on != 0; }

void gemmSimSeed(unsigned long long seed) { sim::Simulator::instance().options.seed = seed; }

int gemmSimInterruptible(int on) { return sim::let_interrupt(on != 0) ? 1 : 0; }

void gemmSimTrace(int on) { sim::Simulator::instance().trace(on != 0); }

const char* gemmSimTraceText(void) {
  static thread_local std::string text;
  text = sim::Simulator::instance().trace_json();
  return text.c_str();
}
}
