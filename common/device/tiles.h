// How C is cut into tiles: which size of tile, in which order blocks walk them; and the accesses of 16 bytes that move
// a tile.
#pragma once

#include <cuda_runtime.h>

#include "common/device/check.h"
#include "common/device/waves.h"

/// The four floats at p as one 16-byte access; p is 16-byte aligned.
__device__ __forceinline__ float4& float4_at(float* p) { return *reinterpret_cast<float4*>(p); }
__device__ __forceinline__ const float4& float4_at(const float* p) { return *reinterpret_cast<const float4*>(p); }

/// The 16 bytes at p, whatever they hold, as one access; p is 16-byte aligned.
__device__ __forceinline__ uint4& uint4_at(void* p) { return *static_cast<uint4*>(p); }
__device__ __forceinline__ const uint4& uint4_at(const void* p) { return *static_cast<const uint4*>(p); }

/// The first `count` floats at p, zeros for the rest of the four. WIDTH 4: one access, p is 16-byte aligned, and count
/// is a multiple of 4. WIDTH 1: four accesses, any p. Nothing is read for count <= 0.
template <int WIDTH>
__device__ __forceinline__ float4 load_quad(const float* p, int count) {
  if (WIDTH == 4) return count > 0 ? float4_at(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  return make_float4(count > 0 ? p[0] : 0.0f, count > 1 ? p[1] : 0.0f, count > 2 ? p[2] : 0.0f,
                     count > 3 ? p[3] : 0.0f);
}

/// The tile (row, column) of block `index`, where blocks walk bands of `band_rows` tile rows, column after column.
///
/// Blocks that run at the same time then share rows of A and columns of B in the L2 cache: a wave of w blocks covers
/// about band_rows x w / band_rows tiles instead of a strip one tile high. Sizes are in tiles; band_rows <= tile_rows.
__device__ __forceinline__ int2 tile_in_bands(int index, int tile_rows, int tile_cols, int band_rows) {
  const int band = index / (band_rows * tile_cols);
  const int in_band = index % (band_rows * tile_cols);
  const int rows_here = min(band_rows, tile_rows - band * band_rows);  // the last band may be lower
  return make_int2(band * band_rows + in_band % rows_here, in_band / rows_here);
}

/// Multiprocessors of the current device.
inline int multiprocessors_here() {
  int device = 0, multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return multiprocessors;
}

/// Bytes of shared memory that a block may have on the current device, if its launch asks for them.
inline int shared_bytes_here() {
  int device = 0, bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return bytes;
}

/// Blocks of a kernel that the current device holds at once.
template <class Kernel>
int resident_blocks(Kernel kernel, int threads, int shared_bytes) {
  int per_multiprocessor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads, shared_bytes));
  return per_multiprocessor * multiprocessors_here();
}

/// One way to cut C: into tiles of bm × bn, by a launcher whose tiles run at this speed once they are enough.
template <class Launcher>
struct TileChoice {
  int bm, bn;
  int shared_bytes;  // that a block takes
  double speed;      // relative to the other choices
  Launcher launch;
};

/// The tile T as a choice.
template <class T, class Launcher>
TileChoice<Launcher> choice(double speed, Launcher launcher) {
  return {T::BM, T::BN, T::BYTES, speed, launcher};
}

/// Whether tiles may reach beyond C.
enum class Edges { WHOLE, RAGGED };

/// The choice with the highest speed × wave_efficiency for C (m x n): a smaller tile is slower, and has to fill the
/// multiprocessors that much better. The first of equals. Of the tiles for which a block may have enough shared memory
/// here; WHOLE: and which divide C.
template <class Launcher, int COUNT>
TileChoice<Launcher> best_choice(const TileChoice<Launcher> (&choices)[COUNT], int m, int n,
                                 Edges edges = Edges::WHOLE) {
  const int multiprocessors = multiprocessors_here(), shared_bytes = shared_bytes_here();
  const auto score = [&](const TileChoice<Launcher>& choice) {
    const bool divides = m % choice.bm == 0 && n % choice.bn == 0;
    if (choice.shared_bytes > shared_bytes || (edges == Edges::WHOLE && !divides)) return 0.0;
    return choice.speed * wave_efficiency(m, n, choice.bm, choice.bn, multiprocessors);
  };
  const TileChoice<Launcher>* best = choices;
  for (const auto& choice : choices)
    if (score(choice) > score(*best)) best = &choice;
  return *best;
}

/// One way to cut C: into tiles of bm × bn, and what a tile costs: so much time per slice of K and so much once, in any
/// unit.
template <class Launcher>
struct TileCost {
  int bm, bn;
  double per_slice, per_tile;
  Launcher launch;
};

/// The way for which a C of m × n with so many slices takes the shortest time: waves × what a tile costs. The first of
/// equals.
template <class Launcher, int COUNT>
TileCost<Launcher> cheapest(const TileCost<Launcher> (&ways)[COUNT], int m, int n, int slices) {
  return *cheapest_of(ways, COUNT, m, n, slices, multiprocessors_here());
}
