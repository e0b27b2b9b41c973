// Lists of sizes with a name.
#pragma once

#include <string>
#include <vector>

#include "common/harness/shape.h"

/// The names that `sweep_shapes` knows.
std::vector<std::string> sweep_names();

/// square:   m = n = k from 1024 to 16384.
/// sgemm27, hgemm125, hgemm27: the sizes that published FP32 and FP16 kernels were swept over (LeetCUDA).
/// Throws BadInput for another name.
std::vector<Shape> sweep_shapes(const std::string& name);
