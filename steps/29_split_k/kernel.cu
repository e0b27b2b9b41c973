// Step 29: blocks that share K.
//
// The idea: a small C with a long K has too few tiles, whatever their size. So two or four blocks,
// a cluster, share one tile: each multiplies its part of K. They meet, and each completes a part of
// the tile: it adds the sums of that part which the others have left in their shared memory
// (distributed shared memory), and stores it.
//
// A cluster computes one tile and ends, because its ring holds sums then, and no slices.
//
// Against step 27, whose consumers share a tile as these do: the cluster and its part of K; the
// exchange of sums; no loop over tiles.
//
// Source: the split over distributed shared memory is our own; split K itself is old (CUTLASS,
// "Efficient GEMM in CUDA").

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

constexpr int MMA_M = 64, BK = 64;  // rows of one instruction, whose N is BN; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int MEETING = 1 + CONSUMERS;          // the named barrier of both consumers
constexpr int ROW = 64, ROW_BYTES = 128;        // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C
constexpr int AHEAD = 8;  // slices before a tile's last, when L2 is asked for its old C
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// A block tile, its slices in shared memory, the pieces of C that a consumer has room for, and the
/// blocks that share K.
template <int BM_, int BN_, int STAGES_, int PIECES_, int SPLIT_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, PIECES = PIECES_, SPLIT = SPLIT_;
  static constexpr int WM = BM / CONSUMERS, MMAS_M = WM / MMA_M;  // rows of a consumer
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BK * BN * 2;
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
  static constexpr int BAND = 2048;  // rows of C in a band
  static_assert(BM * BN * 4 <= STAGES * STAGE_BYTES, "the ring has room for the sums");
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
  constexpr int SPLIT = T::SPLIT, EACH = MMAS_M * BN / ROW;  // pieces of C of a consumer
  using Old = OldC<BM, BN, WM, STAGES, STAGE_BYTES, SPLIT>;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int slices = ceil_div(ceil_div(g.k, BK), SPLIT);          // of this block
  const int rank = cluster_rank(), first_k = rank * slices * BK;  // zeros arrive from beyond K
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
  const int2 at = tile_in_bands(blockIdx.x / SPLIT, tile_rows, tile_cols, band_rows);
  const int2 tile = make_int2(at.x * BM, at.y * BN);

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int slice = 0; slice < slices && first_thread; ++slice, place.advance()) {
      const int k = first_k + slice * BK;
      char* const to = As + place.stage * STAGE_BYTES;
      Barrier* const landed = &full[place.stage];
      if (g.beta != 0.0f && slice == max(0, slices - AHEAD)) Old::prefetch(c_map, tile);
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
    if (g.beta != 0.0f && first_thread) Old::load(As, full, empty, place, c_map, tile, rank);
    __syncwarp();    // the first warp comes to the barrier as one
    cluster_sync();  // the consumers meet those of the other blocks
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
    int stage_before = 0;
    for (int slice = 0; slice < slices; ++slice, place.advance()) {
      barrier_wait(&full[place.stage], place.parity);
      const int stage = place.stage * (STAGE_BYTES >> 4);  // in a descriptor
      const uint64_t a = first_a + stage, b = first_b + stage;
      wgmma_fence();  // the sums belong to the products from here
      multiply_slice<AB, B_MAJOR>(acc, a, b, slice > 0);
      wgmma_commit();
      wgmma_wait<1>();  // the products of the slice before are done
      if (slice > 0) release(stage_before);
      stage_before = place.stage;
    }
    wgmma_wait<0>();  // the sums are complete
    release(stage_before);
    if (g.beta != 0.0f) Old::add(acc, As, full, release, place, warpgroup, g, rank);

    // The ring has served: it takes the sums of the pieces that the other blocks store.
    constexpr int QUADS = ROW / 2 / 4;  // of four sums, per thread and piece
    const auto left = [&](int piece, int quad) {
      const int place = (piece * QUADS + quad) * CONSUMERS * WARPGROUP + threadIdx.x;
      return reinterpret_cast<float4*>(As) + place;
    };
    const auto sums_of = [&](int piece) {  // 32 per thread
      return acc[piece / (BN / ROW)] + piece % (BN / ROW) * (ROW / 2);
    };
    named_barrier_sync(MEETING, CONSUMERS * WARPGROUP);  // both have read their slices
#pragma unroll
    for (int piece = 0; piece < EACH; ++piece)
      if (Old::owner(warpgroup, piece) != rank)
#pragma unroll
        for (int quad = 0; quad < QUADS; ++quad)
          *left(piece, quad) = float4_at(sums_of(piece) + quad * 4);
    cluster_sync();                                        // the other blocks' sums are there
    const float factor = g.beta != 0.0f ? g.alpha : 1.0f;  // this block's sums have it already
#pragma unroll
    for (int piece = 0; piece < EACH; ++piece) {
      if (Old::owner(warpgroup, piece) != rank) continue;
      for (int other = 1; other < SPLIT; ++other)
#pragma unroll
        for (int quad = 0; quad < QUADS; ++quad) {
          const float4 more = load_float4_of(left(piece, quad), rank ^ other);
          float* const sums = sums_of(piece) + quad * 4;
          sums[0] += factor * more.x, sums[1] += factor * more.y;
          sums[2] += factor * more.z, sums[3] += factor * more.w;
        }
      const int row = tile.x + warpgroup * WM + piece / (BN / ROW) * MMA_M;
      char* const box = Cs + piece % PIECES * PIECE_BYTES;
      if (first_thread) tma_store_wait_read<PIECES - 1>();  // the engine has read what was here
      named_barrier_sync(1 + warpgroup, WARPGROUP);         // so the piece may be written
      stage_sums<AB>(box, sums_of(piece), g.beta != 0.0f ? 1.0f : g.alpha);
      // A fence, a barrier, and one thread starts the store.
      store_box(c_map, box, g, row, tile.y + piece % (BN / ROW) * ROW);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
  cluster_sync();  // the other blocks may still read this one's sums
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
  const int tiles = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  launch_early(!options.alone, kernel, T::SPLIT, tiles * T::SPLIT, THREADS, BYTES, stream, a_map,
               b_map, c_map, g, band_rows);
}

using Two = Tile<128, 64, 8, 1, 2>;
using Four = Tile<128, 64, 8, 1, 4>;
using TwoLarge = Tile<128, 128, 6, 1, 2>;

template <class AB, Major B_MAJOR, class T = Two>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_MAJOR, T>);
  v.any_size(T::BM, T::BN, BK).aligned_ld(8, 8, 8).flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  using bf16 = __nv_bfloat16;
  return {
      variant<bf16, Major::MN>("two").note("block 128×64×64, two of them share K"),
      variant<bf16, Major::K>("two_tn"),
      variant<half, Major::MN>("two_f16"),
      variant<half, Major::K>("two_f16_tn"),
      variant<bf16, Major::MN, Four>("four").note("block 128×64×64, four of them share K"),
      variant<bf16, Major::MN, TwoLarge>("two_large").note("block 128×128×64, two share K"),
  };
}
