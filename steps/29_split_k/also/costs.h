// Written by `python -m lab.chooser --update` from records/<gpu>/29_split_k.jsonl.
#pragma once

/// What a kernel costs, in microseconds: a wave per slice of K, a wave once, what of a slice counts
/// by the fill of the waves, and a launch.
struct Cost {
  const char* way;
  double per_slice, per_tile, shared, per_launch;
};

/// The costs on a GPU, in the order of fastest.cu's ways; `cut`: what a second launch for the
/// same C costs besides.
struct Costs {
  const char* gpu;
  double cut;
  Cost of[10];
};

constexpr Costs RECORDED[] = {
    {"NVIDIA H200",
     7.1539,
     {{"pairs", 0.81747, 2.5162, 0.28272, 0},
      {"wide", 0.83263, 2.4705, 0.2891, 0},
      {"large", 0.57248, 1.443, 0.19809, 2.0247},
      {"square", 0.31444, 0.73268, 0.10576, 1.4977},
      {"small", 0.17737, 2.0505, 0.054617, 0},
      {"turns", 0.43611, 0.40792, 0.14958, 1.9054},
      {"square_turns", 0.3079, 0.24508, 0.10296, 2.3651},
      {"small_turns", 0.14163, 2.3851, 0.074255, 0},
      {"two", 0.12367, 1.6726, 0.13404, 1.6726},
      {"four", 0.16537, 1.4423, 0.12086, 2.3864}}},
    {"NVIDIA H100 80GB HBM3",
     7.0751,
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
