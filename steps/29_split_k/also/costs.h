// Written by `python -m lab.chooser --update` from records/<gpu>/29_split_k.jsonl.
#pragma once

/// What a kernel costs, in microseconds: a wave per slice of K, a wave once, what of a slice counts
/// by the fill of the waves, and a launch.
struct Cost {
  const char* way;
  double per_slice, per_tile, shared, per_launch;
};

/// The costs on a GPU, in the order of fastest.cu's ways.
struct Costs {
  const char* gpu;
  Cost of[10];
};

constexpr Costs RECORDED[] = {
    {"NVIDIA H200",
     {{"pairs", 1.1042, 3.5964, 0, 0},
      {"wide", 1.1526, 2.0475, 0, 0},
      {"large", 0.76714, 1.923, 0, 1.7191},
      {"square", 0.30285, 1.069, 0.10028, 1.2474},
      {"small", 0.12377, 1.1979, 0.10451, 1.0341},
      {"turns", 0.41571, 0.33662, 0.17299, 1.5917},
      {"square_turns", 0.30451, 0.10816, 0.095819, 2.1997},
      {"small_turns", 0.11614, 0.37565, 0.1051, 2.0221},
      {"two", 0.087205, 3.2954, 0.20098, 0},
      {"four", 0.11834, 0.79778, 0.24299, 3.02}}},
};
