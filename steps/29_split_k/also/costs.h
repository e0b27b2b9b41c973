// Written by `python -m lab.chooser` from records/<gpu>: do not edit.
#pragma once

/// What a kernel's tile costs, in microseconds: per slice of K, and once.
struct Cost {
  const char* way;
  double per_slice, per_tile;
};

/// The costs on a GPU, in the order of the ways.
struct Costs {
  const char* gpu;
  Cost of[9];
};

constexpr Costs RECORDED[] = {
    {"NVIDIA H200",
     {{"pairs", 0.8, 2.0},
      {"wide", 0.8, 2.0},
      {"large", 0.6, 1.4},
      {"square", 0.3, 1.4},
      {"small", 0.2, 0.7},
      {"turns", 0.45, 0.4},
      {"two", 0.3, 2.6},
      {"two_wide", 0.6, 3.0},
      {"four", 0.6, 4.0}}},
};
