// Step 26: clusters. Two blocks share what they read, and the tile grows as far as registers go.
//
// The idea: what limits step 25 is energy. The GPU runs at its power limit, and every byte that
// comes from the L2 cache costs some of it. Two blocks whose tiles lie side by side in C need the
// same rows of A. As a cluster they load half of them each, and TMA delivers a half to both
// (multicast). A larger tile saves bytes, too: 256×192 needs 78 % of those of 128×256 per product,
// and with A shared 56 %. Its 192 sums per thread fit because the producer has given its registers
// back.
//
// A stage now receives what another block has asked for. So it is empty only when the consumers of
// both blocks have read it, and each consumer tells both producers. No block may end before the
// other has stopped signalling to it.
//
// The hardware merges reads of B, too, but only among blocks of one group of multiprocessors (GPC),
// and it deals clusters out to the groups in turn. So the pairs of tiles go to the clusters in an
// order that goes through the chip group by group.
//
// Against step 25: two instructions of 64 rows per consumer, the pair of blocks and its halves of
// A, the arrivals at both blocks' barriers, the cluster's launch, and the order of the clusters.
// What step 25 does line by line with a slice and with the old C stands in wgmma_tile.h.
//
// Source: fast.cu (pranjalssh, 2024) for multicast between two blocks; the tile is our own.

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/cluster_places.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"
#include "common/device/wgmma_tile.h"

constexpr int MMA_M = 64;                               // rows of one instruction; its N is BN
constexpr int BM = 256, BN = 192, BK = 64, STAGES = 3;  // block tile, slices in shared memory
constexpr int CLUSTER = 2;                              // blocks side by side that share A
constexpr int WM = 128, MMAS_M = WM / MMA_M;            // rows of a consumer
constexpr int WARPGROUP = 128, CONSUMERS = BM / WM, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int PIECES = 2, PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C, in turn, per consumer
constexpr int AHEAD = 8;  // slices before a tile's last, when L2 is asked for its old C
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
constexpr int DEFAULT_BAND = 2048;  // rows of C in a band
using Old = OldC<BM, BN, WM, STAGES, STAGE_BYTES>;
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const int* places, const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  const int tile_rows = ceil_div(g.m, BM), pair_cols = ceil_div(g.n, CLUSTER * BN);
  const int pairs = tile_rows * pair_cols, slices = ceil_div(g.k, BK);
  const int rank = cluster_rank(), cluster = blockIdx.x / CLUSTER, step = gridDim.x / CLUSTER;
  const int first_pair = places ? places[cluster] : cluster;  // clusters of a GPC: neighbours
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // The consumers, then the producer. Taken from lane 0: the compiler then knows it to be one value
  // per warp, and keeps what follows from it where wgmma reads descriptors, in uniform registers.
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + A_BYTES;

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CLUSTER * CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  cluster_sync();  // nobody waits or arrives at a barrier that is not there yet
  const auto place_of = [&](int pair) {  // this block's tile, in elements
    const int2 at = tile_in_bands(pair, tile_rows, pair_cols, band_rows);
    return make_int2(at.x * BM, (at.y * CLUSTER + rank) * BN);
  };

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int pair = first_pair; pair < pairs && first_thread; pair += step) {
      const int2 tile = place_of(pair);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        if (g.beta != 0.0f && k == max(0, slices - AHEAD) * BK) Old::prefetch(c_map, tile);
        // The consumers of both blocks have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        constexpr int HALF = BM / CLUSTER;  // rows of A that this block loads for both
        tma_load_multicast(to + rank * HALF * ROW_BYTES, a_map, k, tile.x + rank * HALF, landed,
                           (1 << CLUSTER) - 1);
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
      if (lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);
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
          fence_for_async_reads();  // the engine will see what this thread wrote
          named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
          if (first_thread) {
            tma_store(c_map, tile.y + j * ROW, tile.x + warpgroup * WM + i * MMA_M, box);
            tma_store_commit();
          }
        }
    };

    for (int pair = first_pair; pair < pairs; pair += step) {
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
      store(place_of(pair), g.beta != 0.0f ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
  __syncwarp();    // one lane ran the loop of copies: its warp comes to the barrier as one
  cluster_sync();  // the other block may still have signalled to this one's barriers
}

template <class AB, Major B_MAJOR, bool BY_GPC = true>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<AB, B_MAJOR>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM / CLUSTER, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int pairs = ceil_div(g.m, BM) * ceil_div(g.n, CLUSTER * BN);
  const int resident = resident_clusters(kernel, CLUSTER, THREADS, SMEM_BYTES);
  const int* const places = BY_GPC ? places_on_device(pairs, resident, CLUSTER, stream) : nullptr;
  launch_in_clusters(kernel, CLUSTER, CLUSTER * min(pairs, resident), THREADS, SMEM_BYTES, stream,
                     places, a_map, b_map, c_map, g, band_rows);
}

template <class AB, Major B_MAJOR>
Variant variant(const char* name, Variant::Launcher<AB, float, AB> launcher = launch<AB, B_MAJOR>) {
  Variant v(name, launcher);
  v.any_size(BM, CLUSTER * BN, BK).columns_in(8).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  using bf16 = __nv_bfloat16;
  return {
      variant<bf16, Major::MN>("bf16"),
      variant<bf16, Major::K>("bf16_tn"),
      variant<half, Major::MN>("f16"),
      variant<half, Major::K>("f16_tn"),
      variant<bf16, Major::MN>("as_dealt", launch<bf16, Major::MN, false>).note("unsorted"),
  };
}
