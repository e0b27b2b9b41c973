// How well tiles of C fill the GPU: what a launcher that has tiles of several sizes chooses by.
#pragma once

#include <cmath>

#include "common/check.h"
#include "common/math.h"

/// Share of the multiprocessors' time that computes C (m x n), when each of them gets whole tiles of bm x bn.
inline double wave_efficiency(int m, int n, int bm, int bn, int multiprocessors) {
  const double tiles = static_cast<double>(ceil_div(m, bm)) * ceil_div(n, bn);
  const double waves = std::ceil(tiles / multiprocessors);
  return static_cast<double>(m) * n / (waves * multiprocessors * bm * bn);
}

/// Multiprocessors of the current device.
inline int multiprocessors_here() {
  int device = 0, multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return multiprocessors;
}
