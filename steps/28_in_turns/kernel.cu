// Step 28: consumers in turn.
//
// The idea: a block's two consumers multiply a tile together and then both store it. Meanwhile the
// tensor cores have no work, and where K is short that is a large part of the time. So here each
// consumer has a tile to itself, and they take turns: while one multiplies, the other stores
// ("ping-pong").
//
// The producer fills the ring as before, tile after tile. A consumer reads the slices of its own
// tiles and skips in the ring those of the other. A named barrier for each of them passes the turn
// on, right after the last slice has been given to the tensor cores, so that these have no gap.
//
// Against step 27: whose tile it is; the skipping; the two barriers.
//
// Source: the "ping-pong" kernels of CUTLASS, described by the PyTorch team (2024).

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
constexpr int TURN = 1 + CONSUMERS;       // the first consumer's named barrier, then the other's
constexpr int ROW = 64, ROW_BYTES = 128;  // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C
constexpr int AHEAD = 8;  // slices before a tile's last, when L2 is asked for its old C
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// A block tile, its slices in shared memory, and the pieces of C that a consumer has room for.
template <int BM_, int BN_, int STAGES_, int PIECES_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, PIECES = PIECES_;
  static constexpr int MMAS_M = BM / MMA_M;  // a tile is one consumer's
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BK * BN * 2;
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
  static constexpr int BAND = 2048;  // rows of C in a band
};

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR, class T>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, STAGES = T::STAGES, PIECES = T::PIECES;
  constexpr int MMAS_M = T::MMAS_M, A_BYTES = T::A_BYTES, STAGE_BYTES = T::STAGE_BYTES;
  using Old = OldC<BM, BN, BM, STAGES, STAGE_BYTES>;
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
    for (Barrier& barrier : empty) barrier_init(&barrier, 4);
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
    const uint64_t first_a = matrix_descriptor<Major::K>(shared_address(As), BK);
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
          store_box(c_map, box, g, tile.x + i * MMA_M, tile.y + j * ROW);
        }
    };

    const int taken = slices + (g.beta != 0.0f ? Old::STAGES : 0);  // stages of a tile
    place.skip(warpgroup * taken);  // of the tile that the other consumer multiplies first
    for (int index = blockIdx.x + warpgroup * gridDim.x; index < tiles; index += 2 * gridDim.x) {
      // A wait tells odd phases from even ones, no more: no consumer may run two phases ahead.
      if (index >= gridDim.x) named_barrier_sync(TURN + warpgroup, CONSUMERS * WARPGROUP);
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
      if (index + gridDim.x < tiles) {
        // The other waits for later phases of the stages that C comes in: C has to be there.
        if (g.beta != 0.0f) Old::wait(full, place);
        named_barrier_arrive(TURN + 1 - warpgroup, CONSUMERS * WARPGROUP);  // the other multiplies
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta != 0.0f) Old::add(acc, As, full, release, place, 0, g);
      place.skip(taken);  // the other's tile
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

using Large = Tile<128, 192, 4, 3>;
using Square = Tile<128, 128, 6, 2>;
using Small = Tile<64, 128, 8, 2>;

template <class AB, Major B_MAJOR, class T = Large>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_MAJOR, T>);
  v.any_size(T::BM, T::BN, BK).aligned_ld(8, 8, 8).flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  using bf16 = __nv_bfloat16;
  return {
      variant<bf16, Major::MN>("bf16").note("block 128×192×64"),
      variant<bf16, Major::K>("bf16_tn"),
      variant<half, Major::MN>("f16"),
      variant<half, Major::K>("f16_tn"),
      variant<bf16, Major::MN, Square>("square").note("block 128×128×64"),
      variant<bf16, Major::MN, Small>("small").note("block 64×128×64"),
  };
}
