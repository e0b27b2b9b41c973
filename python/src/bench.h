// Timing two callables of Python in turn by the harness's own clock, for gemm_steps.bench.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/steps.h"

namespace nb = nanobind;

/// Adds the class Bench to the module. `steps` has to live as long.
void add_bench(nb::module_& module, const Steps& steps);
