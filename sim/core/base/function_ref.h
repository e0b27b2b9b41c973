/// A function that a caller passes down, without what std::function costs where it is never called.
#pragma once

#include <type_traits>

namespace sim {

/// Refers to a function of `const Argument&`, which has to outlive the call that it is passed to.
template <class Argument>
class FunctionRef {
 public:
  template <class F>
    requires(!std::is_same_v<F, FunctionRef>)
  FunctionRef(const F& to)
      : to_(&to), call_([](const void* to, const Argument& argument) { (*static_cast<const F*>(to))(argument); }) {}
  void operator()(const Argument& argument) const { call_(to_, argument); }

 private:
  const void* to_;
  void (*call_)(const void*, const Argument&);
};

}  // namespace sim
