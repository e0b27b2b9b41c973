// Step 27: the tile by the size.
//
// The idea: no tile is the best for every C. Large tiles move the fewest bytes, but C has to have
// enough of them to fill the multiprocessors, wave after wave. So the kernel of step 26, without
// its pairs, has the tile as a template parameter, and the launcher takes the one for which a small
// model promises the shortest time: the number of waves, times what a tile costs per slice of K and
// once.
//
// A small product is over in a few microseconds, and part of that is the start of its kernel. So a
// launch may begin before the kernel in front of it has ended: it sets up its barriers, and then
// waits for it.
//
// Against step 26: the tile as a template parameter; one block per tile instead of a pair, and no
// multicast; the early launch; the last columns of a C whose N is no multiple of 8, which TMA
// cannot clip. What steps 25 and 26 do with the old C line by line stands in OldC.
//
// Source: the early launch is "programmatic dependent launch" (CUDA Programming Guide); the model
// is our own.

#include <algorithm>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"
#include "common/device/wgmma_tile.h"

constexpr int MMA_M = 64, BK = 64;  // rows of one instruction, whose N is BN; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;                    // 64×64 of C
constexpr int AHEAD = 8;  // slices before a tile's last, when L2 is asked for its old C
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// A block tile, its slices in shared memory, and the pieces of C that a consumer has room for.
template <int BM_, int BN_, int STAGES_, int PIECES_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, PIECES = PIECES_;
  static constexpr int WM = BM / CONSUMERS, MMAS_M = WM / MMA_M;  // rows of a consumer
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BK * BN * 2;
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
  static constexpr int BAND = BM == 256 ? 1024 : 2048;  // rows of C in a band
};

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR, class T>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, STAGES = T::STAGES, PIECES = T::PIECES;
  constexpr int WM = T::WM, MMAS_M = T::MMAS_M, A_BYTES = T::A_BYTES, STAGE_BYTES = T::STAGE_BYTES;
  using Old = OldC<BM, BN, WM, STAGES, STAGE_BYTES>;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // The consumers, then the producer. Taken from lane 0: the compiler then knows it to be one value
  // per warp, and keeps what follows from it where wgmma reads descriptors, in uniform registers.
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + A_BYTES;

  let_next_kernel_begin();  // it waits for this one by itself, as this one does below
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();           // nobody waits or arrives at a barrier that is not there yet
  wait_for_kernel_before();  // A and B are complete, and nobody needs the old C any more
  const auto place_of = [&](int index) {  // of a tile, in elements
    const int2 at = tile_in_bands(index, tile_rows, tile_cols, band_rows);
    return make_int2(at.x * BM, at.y * BN);
  };

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && first_thread; index += gridDim.x) {
      const int2 tile = place_of(index);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        if (g.beta != 0.0f && k == max(0, slices - AHEAD) * BK) Old::prefetch(c_map, tile);
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        tma_load(to, a_map, k, tile.x, landed);
        if (B_MAJOR == Major::K) {
          tma_load(to + A_BYTES, b_map, k, tile.y, landed);
        } else {
#pragma unroll
          for (int col = 0; col < BN; col += ROW)
            tma_load(to + A_BYTES + col * BK * 2, b_map, tile.y + col, k, landed);
        }
      }
      if (g.beta != 0.0f) Old::load(As, full, empty, place, c_map, tile);  // behind the slices
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * WM * ROW_BYTES;
    const uint64_t first_a = matrix_descriptor<Major::K>(As_read, BK);
    const uint64_t first_b = matrix_descriptor<B_MAJOR>(shared_address(Bs), BK);
    char* const Cs = As + STAGES * STAGE_BYTES + warpgroup * PIECES * PIECE_BYTES;
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    float acc[MMAS_M][BN / 2];  // 64×BN of the warpgroup each, 16×BN of a warp
    const auto store = [&](int2 tile, float alpha) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
        for (int j = 0; j < BN / ROW; ++j) {
          char* const box = Cs + (i * (BN / ROW) + j) % PIECES * PIECE_BYTES;
          if (first_thread) tma_store_wait_read<PIECES - 1>();  // the engine has read what was here
          named_barrier_sync(1 + warpgroup, WARPGROUP);         // so the piece may be written
          stage_sums<AB>(box, acc[i] + j * ROW / 2, alpha);
          // A fence, a barrier, and one thread starts the store.
          store_box(c_map, box, g, tile.x + warpgroup * WM + i * MMA_M, tile.y + j * ROW);
        }
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * (STAGE_BYTES >> 4);  // in a descriptor
        const uint64_t a = first_a + stage, b = first_b + stage;
        wgmma_fence();  // this warp has done with the sums of the tile before
        multiply_slice<AB, B_MAJOR>(acc, a, b, slice > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta != 0.0f) Old::add(acc, As, full, release, place, warpgroup, g);
      store(place_of(index), g.beta != 0.0f ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

template <class AB, Major B_MAJOR, class T>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<AB, B_MAJOR, T>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, T::BM, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, T::BN, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, T::BAND, T::BM, g.m);
  constexpr int BYTES = T::SMEM_BYTES;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
  const int grid =
      min(ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN), resident_blocks(kernel, THREADS, BYTES));
  launch_early(!options.alone, kernel, 1, grid, THREADS, BYTES, stream, a_map, b_map, c_map, g,
               band_rows);
}

using Wide = Tile<256, 192, 3, 2>;
using Large = Tile<128, 256, 3, 4>;
using Square = Tile<128, 128, 6, 2>;
using Small = Tile<128, 64, 8, 1>;

template <class AB, Major B_MAJOR>
void launch_by_size(const Gemm<AB, float, AB>& g, const LaunchOptions& options,
                    cudaStream_t stream) {
  const TileCost<Variant::Launcher<AB, float, AB>> tiles[] = {
      {Large::BM, Large::BN, 1.0, 2.4, launch<AB, B_MAJOR, Large>},
      {Wide::BM, Wide::BN, 1.45, 3.7, launch<AB, B_MAJOR, Wide>},
      {Square::BM, Square::BN, 0.52, 2.4, launch<AB, B_MAJOR, Square>},
      {Small::BM, Small::BN, 0.325, 1.2, launch<AB, B_MAJOR, Small>},
  };
  cheapest(tiles, g.m, g.n, ceil_div(g.k, BK)).launch(g, options, stream);
}

template <class T, class AB = __nv_bfloat16, Major B_MAJOR = Major::MN>
Variant variant(const char* name,
                Variant::Launcher<AB, float, AB> launcher = launch<AB, B_MAJOR, T>) {
  Variant v(name, launcher);
  v.any_size(T::BM, T::BN, BK).aligned_ld(8, 8, 8).flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  using bf16 = __nv_bfloat16;
  return {
      variant<Small>("bf16", launch_by_size<bf16, Major::MN>).note("the tile by the size"),
      variant<Small, bf16, Major::K>("bf16_tn", launch_by_size<bf16, Major::K>),
      variant<Small, half>("f16", launch_by_size<half, Major::MN>),
      variant<Small, half, Major::K>("f16_tn", launch_by_size<half, Major::K>),
      variant<Small>("alone", launch_by_size<bf16, Major::MN>).alone().note("no early launch"),
      variant<Wide>("wide").note("block 256×192×64"),
      variant<Large>("large").note("block 128×256×64"),
      variant<Square>("square").note("block 128×128×64"),
      variant<Small>("small").note("block 128×64×64"),
  };
}
