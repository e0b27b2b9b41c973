// Step 11: warp tiles, 16×8 results per thread, and fragments that are loaded one k ahead.
//
// The idea: two budgets decide how many FMAs run. A scheduler issues one instruction per cycle, so
// everything else has to be rare: 6 fragment loads feed 128 FMAs. And with two warps per scheduler
// every warp has to hide its own latencies: the fragments of k + 1 are loaded between the FMAs of
// k, and slices are loaded two slices ahead.
//
// The register file delivers one register per bank and cycle, where an FMA reads three. One of them
// should come from the reuse cache, which holds operands of the FMA before. So the FMAs walk along
// one row of the thread tile and back along the next: neighbours always share a or b.
//
// Built with ptxas -O1 (step.toml), which keeps the fragment loads between the FMAs of the
// k before; -O3 moves them next to their use (also/o3.cu). Shared memory is addressed by one
// pointer per tile and offsets known at compile time. A warp has six scoreboards to wait for loads;
// written otherwise, ptxas gave A's loads from global memory the scoreboard of a fragment load, and
// every slice waited for global memory.
//
// What changed against step 10: 16 rows per thread instead of 16 columns, a second set of
// fragments, the order of the FMAs, a tile chosen by the size of C. A goes through registers again,
// so a slice takes a thread 6 copies instead of 12, and they start together: spread out, each one
// would need its own addresses at its own time (also/spread_copies.cu).
//
// Source: warp tiles as in CUTLASS (Kerr et al., 2017); register banks and their reuse as in maxas
// (Gray, 2014).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

constexpr int BK = 16;      // depth of a slice of K
constexpr int TN = 8;       // columns of C per thread
constexpr int PAD = 4;      // floats added to As's rows: stores conflict two ways, not four
constexpr int STAGES = 3;   // slices in shared memory
constexpr int BAND = 1024;  // rows of C that neighbouring blocks stay within, for L2
constexpr double LARGE_GAIN = 1.03;  // of large tiles where both kinds fill the chip, as measured

/// BM×BN of C per block, WM×WN per warp, TM×TN per thread; BLOCKS that an SM shall hold.
struct Large {
  static constexpr int BM = 128, BN = 256, WM = 64, WN = 64, TM = 16, BLOCKS = 1;
};
struct Small {  // a fourth of the area: fills the chip sooner
  static constexpr int BM = 64, BN = 128, WM = 64, WN = 32, TM = 8, BLOCKS = 2;
};
template <class Tile>
constexpr int THREADS = Tile::BM / Tile::WM * (Tile::BN / Tile::WN) * 32;

template <class Tile>
__global__ void __launch_bounds__(THREADS<Tile>, Tile::BLOCKS)
    gemm_kernel(Gemm<float> g, int band_rows) {
  constexpr int BM = Tile::BM, BN = Tile::BN, WM = Tile::WM, WN = Tile::WN, TM = Tile::TM;
  constexpr int LANES_M = WM / TM, LANES_N = WN / TN;  // threads of a warp: 4×8 or 8×4
  constexpr int A_ROWS = THREADS<Tile> / (BK / 4);     // rows of A's tile that all copy at once
  constexpr int B_ROWS = THREADS<Tile> / (BN / 4);     // rows of B's tile likewise
  constexpr int A_COPIES = BM / A_ROWS, B_COPIES = BK / B_ROWS;  // per thread and slice
  static_assert(A_COPIES * A_ROWS == BM && B_COPIES * B_ROWS == BK, "whole copies");
  static_assert(LANES_M * LANES_N == 32, "every lane has a thread tile");

  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int a_row = threadIdx.x / (BK / 4),
            a_col = threadIdx.x % (BK / 4) * 4;  // A's tile: 4 threads per row
  const int b_row = threadIdx.x / (BN / 4),
            b_col = threadIdx.x % (BN / 4) * 4;  // B's tile: BN / 4 threads per row
  // Lanes 2i and 2i + 1 share a column: a float4 takes two wavefronts. A thread's rows come in
  // fours, 4 * LANES_M apart, its columns too, 4 * LANES_N apart.
  const int lane_row = lane / (2 * LANES_N) * 2 + lane % 2, lane_col = lane / 2 % LANES_N;
  const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
  const int tile_col = warp % (BN / WN) * WN + lane_col * 4;

  const float* a = g.a + (block_row + a_row) * g.lda + a_col;
  const float* b = g.b + b_row * g.ldb + block_col + b_col;

  extern __shared__ __align__(16) float smem[];  // STAGES times As[BK][A_PITCH] and Bs[BK][BN]
  constexpr int A_PITCH = BM + PAD, A_FLOATS = BK * A_PITCH, STAGE = A_FLOATS + BK * BN;
  float* const As_copy = smem + a_col * A_PITCH + a_row;
  float* const Bs_copy = smem + A_FLOATS + b_row * BN + b_col;
  const float* const As_read = smem + tile_row;
  const float* const Bs_read = smem + A_FLOATS + tile_col;

  float acc[TM][TN] = {};
  float a_frag[2][TM], b_frag[2][TN];  // [k % 2]
  float4 a_copy[A_COPIES];             // on their way from global to shared memory

  const auto fetch_a = [&](int i) { a_copy[i] = float4_at(a + i * A_ROWS * g.lda); };
  const auto store_a = [&](int stage, int i) {  // what fetch_a has loaded
    float* const to = As_copy + stage + i * A_ROWS;
    to[0 * A_PITCH] = a_copy[i].x;
    to[1 * A_PITCH] = a_copy[i].y;
    to[2 * A_PITCH] = a_copy[i].z;
    to[3 * A_PITCH] = a_copy[i].w;
  };
  const auto copy_b = [&](int stage, int i, bool inside) {  // zeros after the last slice, unused
    cp_async_16(Bs_copy + stage + i * B_ROWS * BN, b + i * B_ROWS * g.ldb, inside ? 16 : 0);
  };
  const auto load_fragments = [&](int stage, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      load_shared_x4(&a_frag[k % 2][i], As_read + stage + k * A_PITCH + i * LANES_M);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      load_shared_x4(&b_frag[k % 2][j], Bs_read + stage + k * BN + j * LANES_N);
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    const bool more = stage * BK < g.k;
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i)
      if (more) fetch_a(i);
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) copy_b(stage * STAGE, i, more);
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) store_a(stage * STAGE, i);
    a += BK;
    b += BK * g.ldb;
  }
  cp_async_wait<STAGES - 2>();  // this thread's copies of the first slice have landed
  __syncthreads();              // so have everyone's
  load_fragments(0, 0);

  int read = 0, write = (STAGES - 1) * STAGE;  // floats from the first stage
  const int slices = g.k / BK;
  for (int slice = 0; slice < slices; ++slice) {
    const bool more = slice + STAGES - 1 < slices;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0) {
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i)
          if (more) fetch_a(i);
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) copy_b(write, i, more);
        cp_async_commit();
        a += BK;
        b += BK * g.ldb;
      }
      constexpr int FIRST_STORE = BK - 1 - A_COPIES;  // late: A's loads have a slice's time
      if (k >= FIRST_STORE && k < BK - 1) store_a(write, k - FIRST_STORE);
      if (k == BK - 1) {              // its own fragments are in registers already
        cp_async_wait<STAGES - 2>();  // this thread's copies of the next slice have landed
        __syncthreads();  // so have everyone's, and everyone has read the last of this slice
        write = read;
        read = read == (STAGES - 1) * STAGE ? 0 : read + STAGE;
      }
      load_fragments(read, (k + 1) % BK);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 0 ? step : TN - 1 - step;  // along one row, back along the next
          acc[i][j] += a_frag[k % 2][i] * b_frag[k % 2][j];
        }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int row = block_row + tile_row + i / 4 * 4 * LANES_M + i % 4;
      const int col = block_col + tile_col + j * LANES_N;
      store_scaled(g.c + row * g.ldc + col, g.alpha, &acc[i][j], g.beta);
    }
}

template <class Tile>
void launch(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STAGES * BK * (Tile::BM + PAD + Tile::BN) * 4;
  const int grid = g.m / Tile::BM * (g.n / Tile::BN);
  const int band_rows = band_height(options.swizzle_stride, BAND, Tile::BM, g.m);
  const auto kernel = gemm_kernel<Tile>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, THREADS<Tile>, smem_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

/// Large tiles where C is made of whole ones and they do not leave too many SMs idle.
void launch_by_size(const Gemm<float>& g, const LaunchOptions& options, cudaStream_t stream) {
  const int multiprocessors = multiprocessors_here();
  const double large = wave_efficiency(g.m, g.n, Large::BM, Large::BN, multiprocessors);
  const double small = wave_efficiency(g.m, g.n, Small::BM, Small::BN, multiprocessors);
  const bool whole = g.m % Large::BM == 0 && g.n % Large::BN == 0;
  (whole && LARGE_GAIN * large >= small ? launch<Large> : launch<Small>)(g, options, stream);
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bm, int bn, auto launcher) {
    return Variant(name, launcher).tile(bm, bn, BK).aligned_ld(4, 4, 4).flat_grid().in_bands();
  };
  return {
      add("by_size", Small::BM, Small::BN, launch_by_size)
          .note("large or small tiles, by the waves they need"),
      add("large_tiles", Large::BM, Large::BN, launch<Large>).note("128×256, 16×8 per thread"),
      add("small_tiles", Small::BM, Small::BN, launch<Small>).note("64×128, 8×8 per thread"),
  };
}
