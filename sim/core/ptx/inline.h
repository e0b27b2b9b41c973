/// Calls of device functions, expanded.
#pragma once

#include "core/ptx/syntax.h"

namespace sim::ptx {

/// The kernel with a copy of the called function's body in the place of each call, to any depth. Registers and
/// variables of a function are shared by its copies: a thread is in one of them at a time. What cannot be expanded is
/// left as it is: a call of a function that the module does not define, a call through a pointer, a call of a function
/// from within itself, and all calls where there would be more than a million instructions.
Function expand_calls(const Module& module, const Function& kernel);

/// The device function of this name that the module defines; null where there is none.
const Function* find_function(const Module& module, const std::string& name);

}  // namespace sim::ptx
