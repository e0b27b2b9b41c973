// Step 27: the tile, and whether K is split, by the size.
//
// The idea: no tile is the best for every C. Large tiles move the fewest bytes, but C has to have
// enough of them to fill the multiprocessors, wave after wave. So this step has the kernel of step
// 25 for five tiles, and the launcher takes the one for which a small model promises the shortest
// time: the number of waves, times what a tile costs per slice of K and once.
//
// With a short K, storing a tile takes a large part of its time, and the tensor cores wait for it.
// Where there are many such tiles, each consumer has one to itself ("ping-pong"): they multiply in
// turn, and one stores while the other multiplies.
//
// A small C with a long K has too few tiles, whatever their size. Then two blocks, a cluster, share
// one tile: each multiplies one half of K. They meet, and each adds the sums of half the tile that
// the other has left in its shared memory (distributed shared memory), and stores that half.
//
// Launched as usual, a product of 1024³ takes 6.5 µs on an H200, and part of that is the start of
// its kernel. So a launch may begin before the kernel in front of it has ended: it sets up its
// barriers, and then waits for it.
//
// Against step 25: the tile as a template parameter, 64·MMAS_M rows per consumer; the turns; the
// split; the early launch; the last columns of a C whose N is no multiple of 8, which TMA cannot
// clip. There is no multicast: see step 26 for why it saves nothing here.
//
// Source: the early launch is "programmatic dependent launch" (CUDA Programming Guide); consumers
// in turn are the "ping-pong" kernels of CUTLASS, described by the PyTorch team; the split over
// distributed shared memory and the model are our own.

#include <algorithm>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/cluster.h"
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

constexpr int MMA_M = 64, BK = 64;  // rows of one instruction, whose columns are BN; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int MEETING = 1 + CONSUMERS;    // the first named barrier of both consumers; one each has
constexpr int ROW = 64, ROW_BYTES = 128;  // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C
constexpr int DEFAULT_BAND = 2048;              // rows of C in a band
constexpr int AHEAD = 8;  // slices before a tile's last, when L2 is asked for its old C
static_assert(BK == ROW, "a row of A's box is a slice of K");

/// A block tile, its ring, the pieces of C that a consumer has room for, the blocks that share K (1
/// or 2), and the consumers that share a tile: both, or one, and then they take tiles in turn.
template <int BM_, int BN_, int STAGES_, int ROOM_, int SPLIT_ = 1, int SHARERS_ = CONSUMERS>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, ROOM = ROOM_, SPLIT = SPLIT_;
  static constexpr int SHARERS = SHARERS_, TURNS = CONSUMERS / SHARERS;
  static constexpr int WM = BM / SHARERS, MMAS_M = WM / MMA_M;  // rows of a consumer
  static constexpr int PIECES = MMAS_M * BN / ROW;              // of C, 64×64, per consumer
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BK * BN * 2;
  static constexpr int RING_BYTES = STAGES * STAGE_BYTES;
  static constexpr int SMEM_BYTES = RING_BYTES + CONSUMERS * ROOM * PIECE_BYTES;
  static constexpr int OWN = PIECES / SPLIT;  // pieces that a block of the cluster stores
  // Stages that bring the old C, and pieces of it per consumer in one.
  static constexpr int C_STAGES = SHARERS * OWN * PIECE_BYTES > STAGE_BYTES ? 2 : 1;
  static constexpr int AT_ONCE = OWN / C_STAGES;
  static_assert(OWN % C_STAGES == 0 && SHARERS * AT_ONCE * PIECE_BYTES <= STAGE_BYTES);
  // Registers per thread. The sums of a whole tile need 240; a split tile's do not, but its
  // producer would spill with 24.
  static constexpr int PRODUCER = SPLIT == 1 ? 24 : 40, CONSUMER = SPLIT == 1 ? 240 : 232;
  static_assert(PRODUCER + CONSUMERS * CONSUMER <= 65536 / WARPGROUP);
  static_assert(PIECES % SPLIT == 0 && (SPLIT == 1 || (TURNS == 1 && BM * BN * 4 <= RING_BYTES)));
};

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR, class T>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, STAGES = T::STAGES, SPLIT = T::SPLIT;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(ceil_div(g.k, BK), SPLIT);
  const int rank = SPLIT > 1 ? cluster_rank() : 0;
  const int first_tile = blockIdx.x / SPLIT, step = gridDim.x / SPLIT;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // The consumers, then the producer. Taken from lane 0: the compiler then knows it to be one value
  // per warp, and keeps what follows from it where wgmma reads descriptors, in uniform registers.
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + T::A_BYTES;

  let_next_kernel_begin();  // it waits for this one by itself, as this one does below
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, T::SHARERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();           // nobody waits or arrives at a barrier that is not there yet
  wait_for_kernel_before();  // A and B are complete, and nobody needs the old C any more

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<T::PRODUCER>();
    for (int index = first_tile; index < tiles && first_thread; index += step) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      const int first_k = rank * slices * BK;  // what lies beyond K arrives as zeros
      for (int k = first_k; k < first_k + slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * T::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        if (g.beta != 0.0f && k == first_k + max(0, slices - AHEAD) * BK)
          for (int row = 0; row < BM; row += MMA_M)
            for (int col = 0; col < BN; col += ROW)
              tma_prefetch(c_map, tile.y * BN + col, tile.x * BM + row);
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, T::STAGE_BYTES);
        tma_load(to, a_map, k, tile.x * BM, landed);
        if (B_MAJOR == Major::K) {
          tma_load(to + T::A_BYTES, b_map, k, tile.y * BN, landed);
        } else {
#pragma unroll
          for (int col = 0; col < BN; col += ROW)
            tma_load(to + T::A_BYTES + col * BK * 2, b_map, tile.y * BN + col, k, landed);
        }
      }
      // The old C comes through the ring behind the slices.
      for (int part = 0; part < T::C_STAGES && g.beta != 0.0f; ++part, place.advance()) {
        char* const to = As + place.stage * T::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, T::SHARERS * T::AT_ONCE * PIECE_BYTES);
#pragma unroll
        for (int i = 0; i < T::SHARERS * T::AT_ONCE; ++i) {
          const int piece = rank * T::OWN + part * T::AT_ONCE + i % T::AT_ONCE;
          tma_load(to + i * PIECE_BYTES, c_map, tile.y * BN + piece % (BN / ROW) * ROW,
                   (tile.x * T::SHARERS + i / T::AT_ONCE) * T::WM + piece / (BN / ROW) * MMA_M,
                   landed);
        }
      }
    }
    if (SPLIT > 1) cluster_sync();  // the consumers meet those of the other block
  } else {
    take_registers<T::CONSUMER>();
    const int sharer = T::TURNS > 1 ? 0 : warpgroup, turn = T::TURNS > 1 ? warpgroup : 0;
    const uint32_t As_read = shared_address(As) + sharer * T::WM * ROW_BYTES;
    const uint64_t first_a = matrix_descriptor<Major::K>(As_read, BK);
    const uint64_t first_b = matrix_descriptor<B_MAJOR>(shared_address(Bs), BK);
    char* const Cs = As + T::RING_BYTES + warpgroup * T::ROOM * PIECE_BYTES;
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    float acc[T::MMAS_M][BN / 2];          // 64×BN of the warpgroup each, 16×BN of a warp
    const auto sums_of = [&](int piece) {  // 32 per thread
      return acc[piece / (BN / ROW)] + piece % (BN / ROW) * (ROW / 2);
    };
    const auto add_c = [&] {
#pragma unroll
      for (int part = 0; part < T::C_STAGES; ++part, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const char* const boxes =
            As + place.stage * T::STAGE_BYTES + sharer * T::AT_ONCE * PIECE_BYTES;
#pragma unroll
        for (int piece = 0; piece < T::PIECES; ++piece)
          if (piece / T::OWN == rank && piece % T::OWN / T::AT_ONCE == part)
            add_old_c<AB>(sums_of(piece), boxes + piece % T::AT_ONCE * PIECE_BYTES, g.alpha,
                          g.beta);
        fence_before_async_writes();  // this lane has read what the engine will overwrite
        __syncwarp();                 // all lanes have
        release(place.stage);
      }
    };
    const auto store = [&](int2 tile, float alpha) {
#pragma unroll
      for (int piece = 0; piece < T::PIECES; ++piece) {
        if (piece / T::OWN != rank) continue;
        const int row = (tile.x * T::SHARERS + sharer) * T::WM + piece / (BN / ROW) * MMA_M;
        const int col = tile.y * BN + piece % (BN / ROW) * ROW;
        char* const box = Cs + piece % T::ROOM * PIECE_BYTES;
        if (first_thread) tma_store_wait_read<T::ROOM - 1>();  // the engine has read this piece
        named_barrier_sync(1 + warpgroup, WARPGROUP);          // so the piece may be written
        stage_sums<AB>(box, sums_of(piece), alpha);
        store_box(c_map, box, g, row, col);  // fence, barrier, one thread starts the store
      }
    };

    const int c_stages = g.beta != 0.0f ? T::C_STAGES : 0;
    place.skip(turn * (slices + c_stages));  // of the tile that the other consumer multiplies first
    for (int index = first_tile + turn * step; index < tiles; index += T::TURNS * step) {
      // A wait tells odd phases from even ones, no more: no consumer may run two phases ahead.
      if (T::TURNS > 1 && index > first_tile)
        named_barrier_sync(MEETING + turn, CONSUMERS * WARPGROUP);
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * (T::STAGE_BYTES >> 4);  // in a descriptor
        const uint64_t a = first_a + stage, b = first_b + stage;
        wgmma_fence();  // this warp has done with the sums of the tile before
        multiply_slice<AB, B_MAJOR>(acc, a, b, slice > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      if (T::TURNS > 1 && index + step < tiles) {
        // The other waits for later phases of the stages that C comes in: C has to be there.
        RingPlace<STAGES> of_c = place;
        for (int part = 0; part < c_stages; ++part, of_c.advance())
          barrier_wait(&full[of_c.stage], of_c.parity);
        named_barrier_arrive(MEETING + 1 - turn, CONSUMERS * WARPGROUP);  // the other may multiply
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);
      if (g.beta != 0.0f) add_c();
      if (T::TURNS > 1) place.skip(slices + c_stages);

      if constexpr (SPLIT > 1) {
        // The ring has served: it takes the sums of the pieces that the other block stores.
        constexpr int QUADS = ROW / 2 / 4;  // of four sums, per thread and piece
        const auto left = [&](int piece, int quad) {
          const int at = (piece * QUADS + quad) * CONSUMERS * WARPGROUP + threadIdx.x;
          return reinterpret_cast<float4*>(As) + at;
        };
        named_barrier_sync(MEETING, CONSUMERS * WARPGROUP);  // both have read their slices
#pragma unroll
        for (int piece = 0; piece < T::PIECES; ++piece)
          if (piece / T::OWN != rank)
#pragma unroll
            for (int quad = 0; quad < QUADS; ++quad)
              *left(piece, quad) = float4_at(sums_of(piece) + quad * 4);
        cluster_sync();                                        // the other block's sums are there
        const float factor = g.beta != 0.0f ? g.alpha : 1.0f;  // this block's sums have it already
#pragma unroll
        for (int piece = 0; piece < T::PIECES; ++piece)
          if (piece / T::OWN == rank)
#pragma unroll
            for (int quad = 0; quad < QUADS; ++quad) {
              const float4 other = load_float4_of(left(piece, quad), rank ^ 1);
              float* const sums = sums_of(piece) + quad * 4;
              sums[0] += factor * other.x, sums[1] += factor * other.y;
              sums[2] += factor * other.z, sums[3] += factor * other.w;
            }
      }

      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      store(tile, g.beta != 0.0f ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
  if (SPLIT > 1) cluster_sync();  // the other block may still read this one's sums
}

template <class AB, Major B_MAJOR, class T, bool EARLY = true>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<AB, B_MAJOR, T>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, T::BM, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, T::BN, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  const int tiles = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  // With a split, a cluster per tile: the ring that takes the sums is not used again.
  const int grid =
      T::SPLIT > 1 ? tiles * T::SPLIT : min(tiles, resident_blocks(kernel, THREADS, T::SMEM_BYTES));
  launch_early(EARLY, kernel, T::SPLIT, grid, THREADS, T::SMEM_BYTES, stream, a_map, b_map, c_map,
               g, band_rows);
}

using Wide = Tile<256, 192, 3, 2>;
using Large = Tile<128, 256, 3, 4>;
using Square = Tile<128, 128, 6, 2>;
using Small = Tile<128, 64, 8, 1>;
using Turns = Tile<128, 192, 4, 3, 1, 1>;  // a consumer per tile
using Split = Tile<128, 128, 6, 1, 2>;     // two blocks per tile

/// A way to compute C, and what a block needs for it: time per slice of K, and once per tile, both
/// in the time that Large needs per slice.
template <class AB>
struct Choice {
  int bm, bn, split;
  double per_slice, per_tile;
  Variant::Launcher<AB, float, AB> launch;
};

template <class AB, Major B_MAJOR, class T, bool EARLY>
Choice<AB> choice(double per_slice, double per_tile) {
  return {T::BM, T::BN, T::SPLIT, per_slice, per_tile, launch<AB, B_MAJOR, T, EARLY>};
}

template <class AB, Major B_MAJOR, bool EARLY = true>
void launch_by_size(const Gemm<AB, float, AB>& g, const LaunchOptions& options,
                    cudaStream_t stream) {
  const Choice<AB> choices[] = {
      choice<AB, B_MAJOR, Large, EARLY>(1.0, 2.4),   choice<AB, B_MAJOR, Wide, EARLY>(1.45, 3.7),
      choice<AB, B_MAJOR, Square, EARLY>(0.52, 2.4), choice<AB, B_MAJOR, Small, EARLY>(0.325, 1.2),
      choice<AB, B_MAJOR, Turns, EARLY>(0.78, 0.7),  choice<AB, B_MAJOR, Split, EARLY>(0.52, 4.5),
  };
  const int multiprocessors = multiprocessors_here(), slices = ceil_div(g.k, BK);
  const auto cost = [&](const Choice<AB>& choice) {
    const int tiles = ceil_div(g.m, choice.bm) * ceil_div(g.n, choice.bn);
    const int waves = ceil_div(tiles * choice.split, multiprocessors);
    return waves * (ceil_div(slices, choice.split) * choice.per_slice + choice.per_tile);
  };
  const auto cheaper = [&](const auto& x, const auto& y) { return cost(x) < cost(y); };
  std::min_element(std::begin(choices), std::end(choices), cheaper)->launch(g, options, stream);
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
      variant<Small>("alone", launch_by_size<bf16, Major::MN, false>).note("no early launch"),
      variant<Wide>("wide").note("block 256×192×64"),
      variant<Large>("large").note("block 128×256×64"),
      variant<Square>("square").note("block 128×128×64"),
      variant<Small>("small").note("block 128×64×64"),
      variant<Turns>("turns").note("block 128×192×64, the consumers take tiles in turn"),
      variant<Split>("split").note("block 128×128×64, two of them share K"),
  };
}
