// Step 30: TF32. FP32 in and out; the tensor cores multiply floats of 10 bits of fraction.
//
// The idea: wgmma takes TF32 from shared memory only if neighbours along k lie together, as they do
// in a row of A. A row of B holds neighbours along n, and no bit of wgmma turns it. But the
// instruction's first operand may come from registers, and threads can fill those from any layout.
// So the operands change places: columns of B are the instruction's 64 rows, and rows of A its N.
// Nobody has to turn B.
//
// Which column is which of the 64 rows is free. A lane takes pairs of neighbours of a row of B and
// deals them out to two instructions, so that it has four neighbours of a row of C then, which one
// access stores.
//
// A tensor core ignores the low 13 bits of a float: it cuts. The tensor maps are of type TFLOAT32,
// so that TMA rounds to nearest what it loads.
//
// Against step 26: the operands' places, fragments of B in registers, tiles one above the other
// that share B, the store from registers.
//
// Source: the PTX ISA for the first operand in registers. The places of columns are our own.

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/cluster_places.h"
#include "common/device/column_boxes.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ptx/wgmma_tf32.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/two_tiles.h"
#include "common/device/wgmma_quads.h"

using ProblemTf32 = Gemm<tf32_t, float, float>;
using Launcher = Variant::Launcher<tf32_t, float, float>;

constexpr int MMA_COLS = 64, MMA_K = 8;        // columns of B of one instruction; its depth
constexpr int BN = 256, BK = 32, STAGES = 4;   // block tile, with BM; slices in shared memory
constexpr int CLUSTER = 2;                     // blocks one above the other that share B
constexpr int WN = 128, MMAS = WN / MMA_COLS;  // columns of a consumer
constexpr int WARPGROUP = 128, CONSUMERS = BN / WN, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int WARPS = CONSUMERS * 4, BOX_COLS = BN / WARPS;       // that multiply; columns of each
constexpr int ROW_BYTES = 128, BOX_BYTES = BK * ROW_BYTES;        // of every box; of B's
constexpr int PAIR_BYTES = 2 * sizeof(float);             // of B, in a lane, for one instruction
constexpr int PARTS = 4, DEFAULT_BAND = 2048;             // of the old C; rows in a band
constexpr uint64_t NEXT_K8 = MMA_K * sizeof(float) >> 4;  // in a descriptor
static_assert(BK * sizeof(float) == ROW_BYTES && BOX_COLS == BK);

constexpr int smem_bytes(int bm) { return STAGES * (bm + BN) * ROW_BYTES; }

template <int BM>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const int* places, const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ ColumnBoxes b_boxes,
                const __grid_constant__ CUtensorMap c_map, ProblemTf32 g, int band_rows) {
  constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN * ROW_BYTES;
  constexpr int PART_ROWS = BM / PARTS, PART_BYTES = PART_ROWS * ROW_BYTES;  // of a warp's old C
  const int pair_rows = ceil_div(g.m, CLUSTER * BM), tile_cols = ceil_div(g.n, BN);
  const int pairs = pair_rows * tile_cols;
  const int rank = cluster_rank(), cluster = blockIdx.x / CLUSTER, step = gridDim.x / CLUSTER;
  const int first_pair = places ? places[cluster] : cluster;  // clusters of a GPC: neighbours
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);  // the consumers, then the producer

  extern __shared__ __align__(1024) char As[];     // STAGES times As[BM][BK], Bs[BN / 32][BK][32]
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CLUSTER * WARPS);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  cluster_sync();  // nobody waits or arrives at a barrier that is not there yet
  const auto place_of = [&](int pair) {  // this block's tile, in elements
    const int2 at = tile_in_bands(pair, pair_rows, tile_cols, band_rows);
    return make_int2((at.x * CLUSTER + rank) * BM, at.y * BN);
  };

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int pair = first_pair; pair < pairs && threadIdx.x % WARPGROUP == 0; pair += step) {
      const int2 tile = place_of(pair);
      for (int k = 0; k < g.k; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        // The consumers of both blocks have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(&full[place.stage], STAGE_BYTES);
        tma_load(to, a_map, k, tile.x, &full[place.stage]);
        constexpr int HALF = WARPS / CLUSTER;  // boxes of B that this block loads for both
        load_boxes_multicast<HALF, BK>(to + A_BYTES + rank * HALF * BOX_BYTES, b_boxes,
                                       tile.y + rank * HALF * BOX_COLS, k, &full[place.stage],
                                       (1 << CLUSTER) - 1);
      }
      // The old C comes through the ring behind the slices, each block's own.
      for (int part = 0; part < PARTS && g.beta != 0.0f; ++part, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(&full[place.stage], WARPS * PART_BYTES);
        const int row = tile.x + part * PART_ROWS;
#pragma unroll 1
        for (int i = 0; i < WARPS; ++i)
          tma_load(to + i * PART_BYTES, c_map, tile.y + i * BOX_COLS, row, &full[place.stage]);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint64_t first_a = matrix_descriptor<Major::K>(shared_address(As), BK);
    const uint32_t box_b = shared_address(As) + A_BYTES + warp * BOX_BYTES;
    const uint32_t upper_b = box_b + pair_at(lane % 4, lane);  // of eight rows of B, a lane's two
    const uint32_t lower_b = box_b + pair_at(lane % 4 + 4, lane);
    const auto release = [&](int stage) {
      if (lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);
    };
    float acc[MMAS][BM / 2];  // 64 columns of BM rows of the warpgroup each
    const auto add_c = [&] {
#pragma unroll
      for (int part = 0; part < PARTS; ++part, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const uint32_t box = shared_address(As) + place.stage * STAGE_BYTES + warp * PART_BYTES;
        add_old_quads<PART_ROWS>(acc, part * PART_ROWS, box, g.alpha, g.beta);
        fence_before_async_writes();  // this lane has read what the engine will overwrite
        __syncwarp();                 // all lanes have
        release(place.stage);
      }
    };
    const auto store = [&](int2 tile, float alpha) {
      const int col = tile.y + warp * BOX_COLS + quad_of(lane) * 4, count = g.n - col;
#pragma unroll
      for (int j = 0; j < BM / 4; ++j) {
        const int row = tile.x + sum_row(j, lane);
        if (row < g.m) store_quad(g.c + row * g.ldc + col, sums_of_quad(acc, j, alpha), count);
      }
    };

    for (int pair = first_pair; pair < pairs; pair += step) {
      int stage_before = 0;
      for (int k = 0; k < g.k; k += BK, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * STAGE_BYTES;
        const uint64_t a = first_a + (stage >> 4);
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step) {
          const int at = stage + k_step * MMA_K * ROW_BYTES;
          float b_frag[MMAS][4];  // a pair of each of the two rows
#pragma unroll
          for (int i = 0; i < MMAS; ++i) {
            load_shared_x2(b_frag[i], at + (upper_b ^ i * PAIR_BYTES));
            load_shared_x2(b_frag[i] + 2, at + (lower_b ^ i * PAIR_BYTES));
          }
          wgmma_fence();  // the fragments are there; this warp has done with the sums before
#pragma unroll
          for (int i = 0; i < MMAS; ++i)
            wgmma_tf32_of_registers(acc[i], b_frag[i], a + k_step * NEXT_K8, k > 0 || k_step > 0);
          wgmma_commit();
          wgmma_wait<1>();  // the products before are done: their fragments may be overwritten
          if (k_step == 0 && k > 0) release(stage_before);
        }
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta != 0.0f) add_c();
      store(place_of(pair), g.beta != 0.0f ? 1.0f : g.alpha);
    }
  }
  __syncwarp();    // one lane ran the loop of copies: its warp comes to the barrier as one
  cluster_sync();  // the other block may still have signalled to this one's barriers
}

/// ROUND: A and B, to the nearest TF32.
template <int BM, bool ROUND = true>
void launch(const ProblemTf32& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int SMEM_BYTES = smem_bytes(BM);
  const auto kernel = gemm_kernel<BM>;
  const auto* const a = reinterpret_cast<const std::conditional_t<ROUND, tf32_t, float>*>(g.a);
  const CUtensorMap a_map = make_tensor_map(a, g.m, g.k, g.lda, BM, BK);
  const ColumnBoxes b_boxes = column_boxes(g.b, g.k, g.n, g.ldb, BK, WARPS / CLUSTER, ROUND);
  const CUtensorMap c_map = make_tensor_map<float>(g.c, g.m, g.n, g.ldc, BM / PARTS, BOX_COLS);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, CLUSTER * BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int pairs = ceil_div(g.m, CLUSTER * BM) * ceil_div(g.n, BN);
  const int resident = resident_clusters(kernel, CLUSTER, THREADS, SMEM_BYTES);
  const int* const places = places_on_device(pairs, resident, CLUSTER, stream);
  launch_in_clusters(kernel, CLUSTER, CLUSTER * min(pairs, resident), THREADS, SMEM_BYTES, stream,
                     places, a_map, b_boxes, c_map, g, band_rows);
}

/// The upper rows of C in large tiles and those below in small ones, whose wave takes 0.73 as long.
void launch_by_size(const ProblemTf32& g, const LaunchOptions& options, cudaStream_t stream) {
  const int rows = rows_of_large(g.m, g.n, CLUSTER * 192, CLUSTER * 128, BN, 0.73, CLUSTER);
  if (rows > 0) launch<192>(rows_of(g, 0, rows), options, stream);
  if (rows < g.m) launch<128>(rows_of(g, rows, g.m - rows), options, stream);
}

Variant variant(const char* name, int bm, Launcher launcher) {
  Variant v(name, launcher);
  v.any_size(CLUSTER * bm, BN, BK).aligned_ld(4, 4, 4);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant("tf32", 192, launch_by_size),
      variant("tf32_192x256", 192, launch<192>),
      variant("tf32_128x256", 128, launch<128>),
      variant("cut", 192, launch<192, false>).cuts_operands().note("A and B are not rounded"),
  };
}
