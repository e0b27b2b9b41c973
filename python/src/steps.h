// The steps' modules, each loaded when it is first asked for: a program that uses one step loads one.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "python/src/step_module.h"

/// Whether a GPU of this compute capability, 90 for 9.0, runs what is compiled for `arch`: "80"; an `a` at its end:
/// that one alone.
bool runs_on(const std::string& arch, int capability);

/// One line of the registry.
class Step {
 public:
  /// `file`: where its module is.
  Step(std::string step_name, std::string file)
      : name(std::move(step_name)), number(std::stoi(name)), file_(std::move(file)) {}

  /// What the module offers; loads it. Throws BadInput where that is impossible.
  const StepModule& module() const;

  const std::string name;
  const int number;  // its place in the ladder: 7 for 07_thread_tile_8x8

 private:
  const std::string file_;
  mutable const StepModule* module_ = nullptr;
};

/// Every step, in the order of the ladder.
class Steps {
 public:
  void add(const std::string& name, const std::string& file) { all_.emplace_back(name, file); }
  const std::deque<Step>& all() const { return all_; }

  /// The step called `07_thread_tile_8x8`, `07` or `7`. Throws BadInput, naming the first and the last.
  const Step& find(std::string_view asked) const;

 private:
  std::deque<Step> all_;
};
