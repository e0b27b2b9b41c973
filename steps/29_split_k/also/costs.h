// Written by `python -m lab.chooser --update` from records/<gpu>/29_split_k.jsonl: not to be edited.
#pragma once

/// What a kernel costs, in microseconds: a tile per slice of K, a tile once, and a launch.
struct Cost {
  const char* way;
  double per_slice, per_tile, per_launch;
};

/// The costs on a GPU, in the order of fastest.cu's ways.
struct Costs {
  const char* gpu;
  Cost of[10];
};

constexpr Costs RECORDED[] = {
    {"NVIDIA H200",
     {{"pairs", 1.1048, 3.6205, 0.092434},
      {"wide", 1.1543, 2.2509, 0},
      {"large", 0.76797, 1.8724, 1.8252},
      {"square", 0.40431, 0.84214, 1.5871},
      {"small", 0.23129, 0.54067, 1.4017},
      {"turns", 0.58342, 0.26975, 1.8641},
      {"square_turns", 0.39944, 0.07213, 2.2738},
      {"small_turns", 0.21976, 0.24973, 1.9227},
      {"two", 1e+09, 0, 0},
      {"four", 1e+09, 0, 0}}},
};
