// How tiles fill the multiprocessors: arithmetic alone, which the pages of the site compile as well.
#pragma once

#include <cuda_runtime.h>

/// Blocks of `size` needed to cover `count`: the quotient rounded up. No sum that could overflow.
__host__ __device__ constexpr int ceil_div(int count, int size) { return count / size + (count % size != 0 ? 1 : 0); }

/// Height of a band, in tiles of `bm` rows: `stride` rows of C, or `otherwise` rows where stride is 0; at least one
/// tile, at most all tiles of a C of `m` rows.
constexpr int band_height(int stride, int otherwise, int bm, int m) {
  const int height = ceil_div(stride == 0 ? otherwise : stride, bm), most = ceil_div(m, bm);
  return height < most ? height : most;
}

/// Waves that the tiles of bm × bn of C (m × n) take, where so many blocks run at the same time and each computes one
/// tile.
inline int waves_of(int m, int n, int bm, int bn, int at_once) {
  return ceil_div(ceil_div(m, bm) * ceil_div(n, bn), at_once);
}

/// The time of these waves, where a tile costs so much per slice of K and so much once, in any unit.
inline double time_of(int m, int n, int slices, int bm, int bn, double per_slice, double per_tile, int at_once) {
  return waves_of(m, n, bm, bn, at_once) * (slices * per_slice + per_tile);
}

/// Of so many ways to cut C, each with bm, bn, per_slice and per_tile, the one whose waves take the shortest time: the
/// first of equals.
template <class Way>
const Way* cheapest_of(const Way* ways, int count, int m, int n, int slices, int at_once) {
  const auto time = [&](const Way& way) {
    return time_of(m, n, slices, way.bm, way.bn, way.per_slice, way.per_tile, at_once);
  };
  const Way* best = ways;  // a loop, since every kernel would compile the whole of <algorithm> for it
  for (const Way* way = ways; way < ways + count; ++way)
    if (time(*way) < time(*best)) best = way;
  return best;
}

/// Share of the multiprocessors' time that computes C (m x n), when each of them gets whole tiles of bm x bn.
inline double wave_efficiency(int m, int n, int bm, int bn, int multiprocessors) {
  const double waves = waves_of(m, n, bm, bn, multiprocessors);
  return static_cast<double>(m) * n / (waves * multiprocessors * bm * bn);
}
