// Step 25, also: the kernel with one piece of its work left out, to show what that piece costs.
//
// The results are wrong on purpose: such a variant is timed and never verified. The kernel is
// kernel.cu's, for BF16 and B as K×N; `Parts` says what it does, and `complete` does everything.
//
// Loads that are left out: each stage is filled once, by the block's first slices. From then on the
// producer arrives without expecting bytes, and the consumers multiply what lies there. It is data
// of the usual kind, so that the products cost the usual energy, except that a stage's bits are the
// same each time.
//
// How to read the figures: docs/bottlenecks.md.

#include "common/device/also.h"
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

namespace {

using AB = __nv_bfloat16;
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
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// What a kernel does of its work.
struct Complete {
  static constexpr bool LOAD_A = true, LOAD_B = true;  // false: only to fill the ring once
  static constexpr bool LOAD_ONWARD = true;            // false: each load is the block's first one
  static constexpr bool MULTIPLY = true, STAGE_SUMS = true, STORE = true, BETA = true;
};
struct NoLoadOfA : Complete {
  static constexpr bool LOAD_A = false;
};
struct NoLoadOfB : Complete {
  static constexpr bool LOAD_B = false;
};
struct NoLoads : Complete {
  static constexpr bool LOAD_A = false, LOAD_B = false;
};
struct NoMisses : Complete {
  static constexpr bool LOAD_ONWARD = false;
};
struct NoMma : Complete {
  static constexpr bool MULTIPLY = false;
};
struct NoStaging : Complete {
  static constexpr bool STAGE_SUMS = false;
};
struct NoTmaStore : Complete {
  static constexpr bool STORE = false;
};
struct NoStore : Complete {
  static constexpr bool STAGE_SUMS = false, STORE = false;
};
struct NoBeta : Complete {
  static constexpr bool BETA = false;
};

template <class Parts>
__global__ void __launch_bounds__(THREADS, 1)
    partial_kernel(const __grid_constant__ CUtensorMap a_map,
                   const __grid_constant__ CUtensorMap b_map,
                   const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g,
                   int band_rows) {
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
    int to_fill = STAGES;  // stages that have held nothing yet; counted where loads are left out
    for (int index = blockIdx.x; index < tiles && first_thread; index += gridDim.x) {
      const int loaded = Parts::LOAD_ONWARD ? index : blockIdx.x;
      const int2 tile = tile_in_bands(loaded, tile_rows, tile_cols, band_rows);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        const int from = Parts::LOAD_ONWARD ? k : 0;
        const bool load_a = Parts::LOAD_A || to_fill > 0, load_b = Parts::LOAD_B || to_fill > 0;
        if constexpr (!Parts::LOAD_A || !Parts::LOAD_B) --to_fill;
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        if (Parts::BETA && g.beta != 0.0f && k == max(0, slices - AHEAD) * BK)
          for (int i = 0; i < CONSUMERS * PIECES; ++i)
            tma_prefetch(c_map, tile.y * BN + i % PIECES * ROW, tile.x * BM + i / PIECES * MMA_M);
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, load_a * A_BYTES + load_b * B_BYTES);
        if (load_a) tma_load(to, a_map, from, tile.x * BM, landed);
        if (load_b)
#pragma unroll
          for (int col = 0; col < BN; col += ROW)
            tma_load(to + A_BYTES + col * BK * 2, b_map, tile.y * BN + col, from, landed);
      }
      if constexpr (Parts::BETA)  // the old C comes through the ring behind the slices
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
    // Not known to be true when the kernel is compiled: the sums have to be computed.
    const bool stages_sums = Parts::STAGE_SUMS || g.m < 0, stores = Parts::STORE || g.m < 0;
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
        if (stages_sums) stage_sums<AB>(box, acc + piece * ROW / 2, alpha);
        fence_for_async_reads();                       // the engine will see what this thread wrote
        named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
        if (first_thread) {
          if (stores)
            tma_store(c_map, tile.y * BN + piece * ROW, tile.x * BM + warpgroup * MMA_M, box);
          tma_store_commit();
        }
      }
    };

    if constexpr (!Parts::MULTIPLY)  // sums that the compiler does not know: whatever lies there
      for (int i = 0; i < BN / 2; ++i)
        acc[i] = reinterpret_cast<const volatile float*>(Cs)[i * 32 + lane];
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * STAGE_BYTES;
        const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
        const uint64_t b = matrix_descriptor<Major::MN>(Bs_read + stage, BK);
        if constexpr (Parts::MULTIPLY) {
          wgmma_fence();  // this warp has done with the sums of the tile before
#pragma unroll
          for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
            wgmma_m64k16<AB, Major::MN>(acc, a + k_step * NEXT_K16<Major::K>,
                                        b + k_step * NEXT_K16<Major::MN>, slice > 0 || k_step > 0);
          wgmma_commit();
          wgmma_wait<1>();  // the products of the slice before are done
        }
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      if constexpr (Parts::MULTIPLY)
        wgmma_wait<0>();  // the sums are complete
      else
        for (float& sum : acc) sum += 1.0f;  // other sums for each tile, to be converted anew
      release(stage_before);

      const bool adds_c = Parts::BETA && g.beta != 0.0f;
      if (adds_c) add_c();
      store(index, adds_c ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

template <class Parts>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = partial_kernel<Parts>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(a_map, b_map, c_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class Parts>
Variant variant(const char* name) {
  Variant v(name, launch<Parts>);
  v.any_size(BM, BN, BK).columns_in(8).aligned_ld(8, 8, 8);
  return v.flat_grid().in_bands().on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Complete>("complete").note("the default as it is compiled here"),
      variant<NoLoadOfA>("no_load_a").leaves_out("the loads of A"),
      variant<NoLoadOfB>("no_load_b").leaves_out("the loads of B"),
      variant<NoLoads>("no_loads").leaves_out("the loads of A and B"),
      variant<NoMisses>("no_misses")
          .leaves_out("misses in L2: a block loads its first slice again"),
      variant<NoMma>("no_mma").leaves_out("the products"),
      variant<NoStaging>("no_staging").leaves_out("writing the sums to shared memory"),
      variant<NoTmaStore>("no_tma_store").leaves_out("TMA's stores of C"),
      variant<NoStore>("no_store").leaves_out("writing the sums, and TMA's stores of C"),
      variant<NoBeta>("no_beta").leaves_out("the case that beta is not 0"),
  };
}

const Also added(variants);

}  // namespace
