// What the shared module of one step offers: its variants, by the one symbol that it shows. Steps share the names of
// all others.
#pragma once

#include <string>
#include <vector>

#include "common/device/gemm.h"

struct StepModule {
  std::vector<Variant> variants;  // the first is the default
  std::string arch;               // the least that it is compiled for, as steps/meson.build has it
};

/// The function that every module exports under the name STEP_MODULE_SYMBOL. Its result lives as long as the process.
using StepModuleFunction = const StepModule&();
inline constexpr const char* STEP_MODULE_SYMBOL = "gemm_step_module";
