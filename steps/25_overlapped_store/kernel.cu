// Step 25: blocks that stay, and a store that goes on while they multiply.
//
// The idea: in step 24 a block ends with its tile. Its tensor cores stand still while it stores C,
// and again while the next block fills its ring. Here a block computes one tile after the other, as
// in step 21. The producer runs ahead into the next tile on its own: it only looks at the ring. The
// consumers write their sums to shared memory, one thread starts a TMA store, and the products of
// the next tile begin while the engine reads the sums and writes C.
//
// The sums cross from the threads' writes to the engine's reads. Every thread that has written says
// so with a fence, then the warpgroup meets at a barrier, then one thread starts the store.
//
// Where beta is not 0, the old C is needed before the store. It comes by the ring, too, behind the
// slices of its tile: four pieces of 64×64 per stage, which the consumers add to their sums.
//
// Against step 24: the loops over tiles, the place in the ring that outlives a tile, the store, the
// old C by TMA. One stage of the ring is given up for the sums. TMA fills what lies outside A and B
// with zeros and leaves out what lies outside C, 16 bytes at a time: any M, any K, and N in
// multiples of 8.
//
// Source: CUTLASS's persistent kernels (NVIDIA, 2023); the order of fence, barrier and store is
// that of DeepGEMM (DeepSeek, 2025).

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"

constexpr int MMA_M = 64, MMA_K = 16;                   // of one instruction; its N is BN
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 3;  // block tile, slices in shared memory
constexpr int WARPGROUP = 128, CONSUMERS = BM / MMA_M, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int PIECES = 4, PIECE_BYTES = MMA_M * ROW_BYTES;  // 64×64 of C, so many per consumer
constexpr int AT_ONCE = 2;  // pieces per consumer of the old C that a stage of the ring holds
constexpr int AHEAD = 8;    // slices before a tile's last, when L2 is asked for its old C
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
constexpr int DEFAULT_BAND = 2048;  // rows of C in a band
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(CONSUMERS * AT_ONCE * PIECE_BYTES <= STAGE_BYTES && PIECES % AT_ONCE == 0);
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// B as K×N lies in boxes of 64 columns, one row per k (Major::MN); as N×K in one box, one row per
/// column (Major::K).
template <class AB, Major B_MAJOR>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + A_BYTES;

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody waits or arrives at a barrier that is not there yet

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && first_thread; index += gridDim.x) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        if (g.beta != 0.0f && k == max(0, slices - AHEAD) * BK)
          for (int i = 0; i < CONSUMERS * PIECES; ++i)
            tma_prefetch(c_map, tile.y * BN + i % PIECES * ROW, tile.x * BM + i / PIECES * MMA_M);
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        tma_load(to, a_map, k, tile.x * BM, landed);
        if (B_MAJOR == Major::K) {
          tma_load(to + A_BYTES, b_map, k, tile.y * BN, landed);
        } else {
#pragma unroll
          for (int col = 0; col < BN; col += ROW)
            tma_load(to + A_BYTES + col * BK * 2, b_map, tile.y * BN + col, k, landed);
        }
      }
      // The old C comes through the ring behind the slices.
      for (int piece = 0; piece < PIECES && g.beta != 0.0f; piece += AT_ONCE, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, CONSUMERS * AT_ONCE * PIECE_BYTES);
#pragma unroll
        for (int i = 0; i < CONSUMERS * AT_ONCE; ++i)
          tma_load(to + i * PIECE_BYTES, c_map, tile.y * BN + (piece + i % AT_ONCE) * ROW,
                   tile.x * BM + i / AT_ONCE * MMA_M, landed);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * MMA_M * ROW_BYTES;
    const uint32_t Bs_read = shared_address(Bs);
    char* const Cs = As + STAGES * STAGE_BYTES + warpgroup * PIECES * PIECE_BYTES;
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    float acc[BN / 2];  // 64×BN of the warpgroup, 16×BN of a warp
    const auto add_c = [&] {
#pragma unroll
      for (int piece = 0; piece < PIECES; piece += AT_ONCE, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const char* const box = As + place.stage * STAGE_BYTES + warpgroup * AT_ONCE * PIECE_BYTES;
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
          add_old_c<AB>(acc + (piece + i) * ROW / 2, box + i * PIECE_BYTES, g.alpha, g.beta);
        fence_before_async_writes();  // this lane has read what the engine will overwrite
        __syncwarp();                 // all lanes have
        release(place.stage);
      }
    };
    const auto store = [&](int index, float alpha) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
#pragma unroll
      for (int piece = 0; piece < PIECES; ++piece) {
        char* const box = Cs + piece * PIECE_BYTES;
        if (first_thread) tma_store_wait_read<PIECES - 1>();  // the engine has read this piece
        named_barrier_sync(1 + warpgroup, WARPGROUP);         // so the piece may be written
        stage_sums<AB>(box, acc + piece * ROW / 2, alpha);
        fence_for_async_reads();                       // the engine will see what this thread wrote
        named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
        if (first_thread) {
          tma_store(c_map, tile.y * BN + piece * ROW, tile.x * BM + warpgroup * MMA_M, box);
          tma_store_commit();
        }
      }
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * STAGE_BYTES;
        const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
        const uint64_t b = matrix_descriptor<B_MAJOR>(Bs_read + stage, BK);
        wgmma_fence();  // this warp has done with the sums of the tile before
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
          wgmma_m64k16<AB, B_MAJOR>(acc, a + k_step * NEXT_K16<Major::K>,
                                    b + k_step * NEXT_K16<B_MAJOR>, slice > 0 || k_step > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta != 0.0f) add_c();
      store(index, g.beta != 0.0f ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

template <class AB, Major B_MAJOR>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<AB, B_MAJOR>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, BN, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(a_map, b_map, c_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class AB, Major B_MAJOR>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_MAJOR>);
  v.any_size(BM, BN, BK).columns_in(8).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<__nv_bfloat16, Major::MN>("bf16"),
      variant<__nv_bfloat16, Major::K>("bf16_tn"),
      variant<half, Major::MN>("f16"),
      variant<half, Major::K>("f16_tn"),
  };
}
