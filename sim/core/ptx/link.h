/// Texts that were compiled apart (nvcc -rdc=true), made into one.
#pragma once

#include <string>
#include <vector>

#include "core/ptx/syntax.h"

namespace sim::ptx {

/// All of the modules' kernels, functions and variables. Names that a text keeps to itself stay apart, files of source
/// lines are numbered anew. Of what
/// several texts define under one name the first is taken, as of `.weak`: nvlink has refused anything else before.
Module link(std::vector<Module> modules);

}  // namespace sim::ptx
