// Libraries that are loaded only when they are needed, so that a start without them takes milliseconds.
#pragma once

#include <dlfcn.h>

#include <string>

#include "common/harness/errors.h"

/// A dynamically loaded library, never unloaded (CUDA's libraries do not like it).
class SharedLibrary {
 public:
  /// Does not throw; `loaded()` tells.
  explicit SharedLibrary(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

  bool loaded() const { return handle_ != nullptr; }

  /// The function called `symbol`, with the type of the declaration in the library's header. Throws BadInput.
  template <typename Function>
  Function* function(const char* symbol) const {
    void* address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
    if (address == nullptr) throw BadInput(name_ + ": cannot load " + symbol + "; is the CUDA Toolkit installed?");
    return reinterpret_cast<Function*>(address);
  }

 private:
  std::string name_;
  void* handle_;
};
