// How a launcher shares the rows of C out to two tiles.
#pragma once

#include <cstddef>

#include "common/device/tiles.h"
#include "common/device/waves.h"

/// So many upper rows of C (m × n) for tiles of large × bn that these and tiles of small × bn below them, one launch
/// after the other, take the least time. `cluster` blocks compute a tile. A wave of small tiles takes `share` of a wave
/// of large ones.
inline int rows_of_large(int m, int n, int large, int small, int bn, double share, int cluster) {
  const int at_once = multiprocessors_here() / cluster;
  const auto time = [&](int above) {
    return waves_of(above, n, large, bn, at_once) + share * waves_of(m - above, n, small, bn, at_once);
  };
  int best = m;
  for (int above = m / large * large; above >= 0; above -= large)
    if (time(above) < time(best)) best = above;
  return best;
}

/// So many rows of C, from `first` on, as a problem of their own.
template <class Problem>
Problem rows_of(Problem g, int first, int rows) {
  g.a += first * static_cast<std::size_t>(g.lda);
  g.c += first * static_cast<std::size_t>(g.ldc);
  g.m = rows;
  return g;
}
