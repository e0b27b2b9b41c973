// Compiled once and linked into the module of every step, beside the objects of the step's executable.
#include "python/src/step_module.h"

#include "common/device/also.h"
#include "common/harness/gpu.h"

extern "C" const StepModule& gemm_step_module() {
  static const StepModule module{all_variants(), step_arch()};
  return module;
}
