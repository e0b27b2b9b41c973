/// PTX text to its syntax tree.
#pragma once

#include <string_view>

#include "core/ptx/error.h"
#include "core/ptx/syntax.h"

namespace sim::ptx {

/// Parses a whole module. Scopes are honoured: a nested `{}` has its own registers, variables and labels.
/// Throws Refused with the line of the PTX for text that is not well formed or that names something unknown.
Module parse(std::string_view text);

/// The same of a module's variables and of one kernel; the others' bodies are passed over, which takes a tenth of the
/// time in a binary with dozens of kernels.
Module parse(std::string_view text, std::string_view only);

}  // namespace sim::ptx
