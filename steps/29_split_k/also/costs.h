// Written by `python -m lab.chooser --update` from records/<gpu>/29_split_k.jsonl.
#pragma once

/// What a kernel costs, in microseconds: a wave per slice of K, a wave once, what of a slice counts
/// by the fill of the waves, and a launch.
struct Cost {
  const char* way;
  double per_slice, per_tile, shared, per_launch;
};

/// The costs on a GPU, in the order of fastest.cu's ways; `cut`: by which the estimates of two
/// launches for one C are multiplied.
struct Costs {
  const char* gpu;
  double cut;
  Cost of[10];
};

constexpr Costs RECORDED[] = {
    {"NVIDIA H200", 1.0000,
     {{"pairs", 0.84182, 2.9886, 0.27837, 4.7258},
      {"wide", 0.85218, 2.6945, 0.29314, 0},
      {"large", 0.58222, 1.5808, 0.19846, 2.6947},
      {"square", 0.30889, 0.98969, 0.10425, 1.0384},
      {"small", 0.1531, 1.2032, 0.054518, 1.2032},
      {"turns", 0.44857, 0.29486, 0.14828, 2.6239},
      {"square_turns", 0.30451, 0.15196, 0.10222, 2.2993},
      {"small_turns", 0.13811, 1.375, 0.068189, 1.1803},
      {"two", 0.12247, 1.6865, 0.13313, 1.6865},
      {"four", 0.16772, 1.4168, 0.11918, 2.4139}}},
    {"NVIDIA H100 80GB HBM3", 1.0293,
     {{"pairs", 0.83211, 2.631, 0.27992, 0},
      {"wide", 0.84646, 2.5939, 0.28418, 0},
      {"large", 0.55727, 1.662, 0.1995, 2.3082},
      {"square", 0.32147, 0.89802, 0.10771, 1.4228},
      {"small", 0.16856, 2.2301, 0.081374, 0},
      {"turns", 0.43945, 0.37978, 0.1503, 2.3911},
      {"square_turns", 0.32102, 0.50459, 0.10763, 1.8152},
      {"small_turns", 0.12916, 2.6568, 0.10163, 0},
      {"two", 0.12165, 1.984, 0.16652, 1.984},
      {"four", 0.17805, 0.72237, 0.16691, 3.8079}}},
};
