#include "python/src/steps.h"

#include <dlfcn.h>

#include <charconv>

#include "common/harness/errors.h"

bool runs_on(const std::string& arch, int capability) {
  const int needed = std::stoi(arch);
  return arch.back() == 'a' ? capability == needed : capability >= needed;
}

const StepModule& Step::module() const {
  if (module_ != nullptr) return *module_;
  void* const library = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, STEP_MODULE_SYMBOL);
  if (symbol == nullptr) {
    const char* const why = dlerror();
    throw BadInput("the module of step " + name + " cannot be loaded: " + (why == nullptr ? file_ : why));
  }
  module_ = &reinterpret_cast<StepModuleFunction*>(symbol)();
  return *module_;
}

const Step& Steps::find(std::string_view asked) const {
  int number = 0;
  const char* const end = asked.data() + asked.size();
  const bool is_number = !asked.empty() && std::from_chars(asked.data(), end, number).ptr == end;
  for (const Step& step : all_)
    if (is_number ? step.number == number : step.name == asked) return step;
  throw BadInput("there is no step '" + std::string(asked) + "'; gemm_steps.steps() lists them, " + all_.front().name +
                 " to " + all_.back().name);
}
