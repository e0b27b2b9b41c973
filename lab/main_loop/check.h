// Do the loops multiply and copy what their records will say? Asked of the simulator, which counts.
#pragma once

#include <vector>

#include "lab/main_loop/loops.h"

/// Runs every loop for a few slices in the simulator, prints a line for each, and returns whether the counted
/// instructions and bytes and the sums are those claimed and nothing was reported.
bool check(const std::vector<MainLoop>& loops);
