// Step 31: elements of 8 bits. Twice the products of BF16 per instruction, and half of the bytes.
//
// The idea: an instruction of wgmma takes 32 bytes of every row of A and B, whatever they hold: 16
// of k in BF16, 32 in 8 bits. So the loop of step 25 does twice the work in the time of a slice:
// 128 of k. Integers (S8) are summed in 32 bits and nothing is rounded. FP8 (e4m3, e5m2) is summed
// in floats of which the tensor core keeps 13 bits of fraction; also/promoted.cu takes those sums
// to full floats before they lose more.
//
// Both operands have to be K-major: the transpose bit of wgmma exists for 16 bits alone. So
// B is stored N×K, a column of it together, as the libraries want it, too.
//
// Against step 25: the types, tiles of 256×192 where they fill the GPU well, S32 results, which are
// twice as wide as BF16 and go to C in boxes of 64×32.
//
// Source: the PTX ISA; DeepGEMM (DeepSeek, 2025) for FP8.

#include <cuda_fp8.h>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma_narrow.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_words.h"

constexpr int MMA_M = 64, MMA_K = 32, BK = 128;  // of one instruction, whose N is BN; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int ROW_BYTES = 128, PIECE_BYTES = MMA_M * ROW_BYTES;   // of a box; of C's boxes
constexpr int MOST_SMEM_BYTES = 226 * 1024;                       // the barriers take the rest
constexpr int DEFAULT_BAND = 2048;                                // rows of C in a band
constexpr uint64_t NEXT_ROWS = PIECE_BYTES >> 4;  // in a descriptor: the next 64 rows of A
static_assert(BK == ROW_BYTES, "a row of a box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// What a block tile makes of shared memory: as many stages as leave two pieces of C per consumer.
template <int BM, int BN>
struct Smem {
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = (BM + BN) * ROW_BYTES;
  static constexpr int STAGES = (MOST_SMEM_BYTES - 2 * CONSUMERS * PIECE_BYTES) / STAGE_BYTES;
  static constexpr int PIECES =
      (MOST_SMEM_BYTES - STAGES * STAGE_BYTES) / (CONSUMERS * PIECE_BYTES);
  static constexpr int BYTES = STAGES * STAGE_BYTES + CONSUMERS * PIECES * PIECE_BYTES;
};

/// A: M×K, B: N×K. Acc: int, or f22_t for floats of 13 bits of fraction.
template <class A, class B, class Acc, class C, int BM, int BN>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<A, Acc, C> g, int band_rows) {
  using Sum = std::conditional_t<std::is_same_v<Acc, int>, int, float>;
  using Memory = Smem<BM, BN>;
  constexpr int STAGES = Memory::STAGES, STAGE_BYTES = Memory::STAGE_BYTES, PIECES = Memory::PIECES;
  constexpr int WM = BM / CONSUMERS, MMAS_M = WM / MMA_M;  // rows of a consumer
  constexpr int BOX_COLS = ROW_BYTES / sizeof(C), BOXES = BN / BOX_COLS;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read

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
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        tma_load(to, a_map, k, tile.x * BM, landed);
        tma_load(to + Memory::A_BYTES, b_map, k, tile.y * BN, landed);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * WM * ROW_BYTES;
    const uint32_t Bs_read = shared_address(As) + Memory::A_BYTES;
    char* const Cs = As + STAGES * STAGE_BYTES + warpgroup * PIECES * PIECE_BYTES;
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    Sum acc[MMAS_M][BN / 2];  // 64×BN of the warpgroup each, 16×BN of a warp
    const auto store = [&](int index, float alpha, float beta) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
        for (int j = 0; j < BOXES; ++j) {
          const int row = tile.x * BM + warpgroup * WM + i * MMA_M, warp_row = row + warp % 4 * 16;
          const int col = tile.y * BN + j * BOX_COLS;
          char* const box = Cs + (i * BOXES + j) % PIECES * PIECE_BYTES;
          const Sum* const sums = acc[i] + j * BOX_COLS / 2;
          const C* const old = g.c + warp_row * g.ldc + col;
          if (first_thread) tma_store_wait_read<PIECES - 1>();  // the engine has read what was here
          named_barrier_sync(1 + warpgroup, WARPGROUP);         // so the piece may be written
          if constexpr (sizeof(C) == 4)
            stage_words<C>(box, sums, alpha, beta, {old, g.ldc, g.m - warp_row, g.n - col});
          else
            stage_halves<C>(box, sums, alpha, beta, {old, g.ldc, g.m - warp_row, g.n - col});
          fence_for_async_reads();  // the engine will see what this thread wrote
          named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
          if (first_thread) {
            tma_store(c_map, col, row, box);
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
        const uint64_t b = matrix_descriptor<Major::K>(Bs_read + stage, BK);
        wgmma_fence();  // this warp has done with the sums of the tile before
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int i = 0; i < MMAS_M; ++i)
            wgmma_32_bytes<A, B>(acc[i], a + k_step * NEXT_32_BYTES + i * NEXT_ROWS,
                                 b + k_step * NEXT_32_BYTES, slice > 0 || k_step > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.alpha == 1.0f && g.beta == 0.0f)
        store(index, 1.0f, 0.0f);  // literals: no branches, no loads of C
      else
        store(index, g.alpha, g.beta);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

template <class A, class B, class Acc, class C, int BM, int BN>
void launch(const Gemm<A, Acc, C>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = Smem<BM, BN>::BYTES, box_cols = ROW_BYTES / sizeof(C);
  const auto kernel = gemm_kernel<A, B, Acc, C, BM, BN>;
  const B* const b = reinterpret_cast<const B*>(g.b);
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap b_map = make_tensor_map(b, g.n, g.k, g.ldb, BN, BK);
  const CUtensorMap c_map = make_tensor_map<C>(g.c, g.m, g.n, g.ldc, MMA_M, box_cols);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, smem_bytes));
  kernel<<<grid, THREADS, smem_bytes, stream>>>(a_map, b_map, c_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

/// 256×192 where its rounds of tiles leave the GPU about as full as those of 128×256.
template <class A, class B, class Acc, class C>
void launch_by_size(const Gemm<A, Acc, C>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr double LARGE_GAIN = 1.04;  // in full rounds: fewer bytes per product
  const int sms = multiprocessors_here();
  const double large = wave_efficiency(g.m, g.n, 256, 192, sms);
  if (LARGE_GAIN * large > wave_efficiency(g.m, g.n, 128, 256, sms))
    launch<A, B, Acc, C, 256, 192>(g, options, stream);
  else
    launch<A, B, Acc, C, 128, 256>(g, options, stream);
}

template <class A, class B, class Acc, class C>
Variant variant(const char* name, Variant::Launcher<A, Acc, C> launcher, int bm, int bn) {
  constexpr int MOST_K = 131071;  // products of S8 up to 2^14 each, in sums of 32 bits
  Variant v(name, launcher);
  v.any_size(bm, bn, BK).columns_in(16 / sizeof(C)).aligned_ld(16, 16, 16 / sizeof(C)).tn();
  v.flat_grid().in_bands().on_tensor_cores().b_of(type_of<B>);
  return std::is_same_v<Acc, int> ? v.k_up_to(MOST_K) : v;
}

std::vector<Variant> variants() {
  using s8 = int8_t;
  using e4m3 = __nv_fp8_e4m3;
  using e5m2 = __nv_fp8_e5m2;
  using bf16 = __nv_bfloat16;
  return {
      variant<s8, s8, int, int>("s8", launch_by_size<s8, s8, int, int>, 256, 256),
      variant<s8, s8, int, int>("s8_256x192", launch<s8, s8, int, int, 256, 192>, 256, 192),
      variant<s8, s8, int, int>("s8_128x256", launch<s8, s8, int, int, 128, 256>, 128, 256),
      variant<e4m3, e4m3, f22_t, bf16>("e4m3", launch_by_size<e4m3, e4m3, f22_t, bf16>, 256, 256),
      variant<e4m3, e4m3, f22_t, bf16>("e4m3_256x192", launch<e4m3, e4m3, f22_t, bf16, 256, 192>,
                                       256, 192),
      variant<e4m3, e4m3, f22_t, bf16>("e4m3_128x256", launch<e4m3, e4m3, f22_t, bf16, 128, 256>,
                                       128, 256),
      variant<e5m2, e4m3, f22_t, bf16>("e5m2_e4m3", launch_by_size<e5m2, e4m3, f22_t, bf16>, 256,
                                       256),
  };
}
