// Step 33: step 32 with a guard. A proven bound of the error decides before the product.
//
// The idea: step 32 is as precise as its data allow, and the data can be tested. While the digits
// are packed, sums of their squares are taken along. From them follows a bound of the error for
// every row of A and column of B (common/device/guard.h). A region of 128×384 of C is computed by
// three digits where the bound is small enough for all of it, else by four where that one is, else
// in FP32 by step 11's kernel (common/device/fp32_tiles.cu). An infinity or NaN makes its row's or
// column's bound infinite.
//
// The promise: digits are used where their error is at most 2^TAU |ai| |bj| / K, with the sums of
// absolute values of row i and column j. The host waits for nothing. Each kernel is launched,
// computes the tiles that are its own, and skips the others.
//
// Against step 32: four digits are packed, of which three digits use the first three; a tile is
// skipped where the guard has chosen otherwise; two more launches, and one of FP32 tiles.
//
// Source: a bound by Cauchy and Schwarz; the guards in use compare exponents ("Guaranteed DGEMM
// accuracy while using reduced precision tensor cores", NVIDIA, 2025).

#include <cmath>

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/fp32_tiles.h"
#include "common/device/gemm.h"
#include "common/device/guard.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma_s8.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 64, MMA_K = 32;  // of one instruction; its N is BN
constexpr int BM = 128, BK = 64;       // block tile, with BN; a slice's row is 64 bytes
constexpr int WARPGROUP = 128, CONSUMERS = BM / MMA_M, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int DEFAULT_BAND = 2048;                                // rows of C in a band
constexpr int FIRST = 3;  // digits of the kernel that is launched first
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

template <int DIGITS, int BN, int STAGES>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, const __grid_constant__ Guard guard,
                Gemm<float> g, int band_rows) {
  constexpr int A_BYTES = BM * BK, B_BYTES = BN * BK;  // of one digit's tile
  constexpr int STAGE_BYTES = DIGITS * (A_BYTES + B_BYTES);
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer

  extern __shared__ __align__(1024) char As[];     // STAGES times As[DIGITS][BM][BK] and Bs
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + DIGITS * A_BYTES;

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody waits or arrives at a barrier that is not there yet
  if (DIGITS == FIRST) wait_for_kernel_before();  // the digits, and what they shall compute
  let_next_kernel_begin();  // it has tiles of its own, and no need to wait for these

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && threadIdx.x % WARPGROUP == 0;
         index += gridDim.x) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      if (guard.digits_at(tile.x * BM, tile.y * BN) != DIGITS) continue;  // not this kernel's
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        const int stage = place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
#pragma unroll
        for (int digit = 0; digit < DIGITS; ++digit) {
          const int a_row = digit * g.m + tile.x * BM, b_row = digit * g.n + tile.y * BN;
          tma_load(As + stage + digit * A_BYTES, a_map, k, a_row, landed);
          tma_load(Bs + stage + digit * B_BYTES, b_map, k, b_row, landed);
        }
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * MMA_M * BK;
    const uint32_t Bs_read = shared_address(Bs);
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    int32_t acc[DIGITS][BN / 2];  // by weight, each 64×BN of the warpgroup
    const auto store = [&](int2 tile, float beta) {
      // Weight of the last sum, in units of the scales, which are of four digits.
      constexpr double UNIT = uint64_t{1} << 8 * (2 * GUARD_DIGITS - 1 - DIGITS);
      const bool pairs = g.ldc % 2 == 0 && reinterpret_cast<uintptr_t>(g.c) % 8 == 0;
      const int first_row = tile.x * BM + warp * 16 + lane / 4;  // and the one 8 below
      double row_scale[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + half * 8;
        row_scale[half] = row < g.m ? g.alpha * UNIT * guard.packed.a_scale[row] : 0.0;
      }
#pragma unroll
      for (int i = 0; i < BN / 2; i += 2) {  // two neighbours in a row
        const int row = first_row + i / 2 % 2 * 8, col = tile.y * BN + i / 4 * 8 + lane % 4 * 2;
        if (row >= g.m) continue;
        float* const c = g.c + row * g.ldc + col;
        float out[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          int64_t sum = 0;
#pragma unroll
          for (int weight = 0; weight < DIGITS; ++weight) sum = sum * 256 + acc[weight][i + e];
          const bool inside = col + e < g.n;
          const double col_scale = inside ? guard.packed.b_scale[col + e] : 0.0;
          double value = sum * (row_scale[i / 2 % 2] * col_scale);
          if (beta != 0.0f && inside) value += static_cast<double>(beta) * c[e];
          out[e] = static_cast<float>(value);  // the only rounding since the integers
        }
        store_two(c, make_float2(out[0], out[1]), g.n - col, pairs);
      }
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      if (guard.digits_at(tile.x * BM, tile.y * BN) != DIGITS) continue;  // as the producer
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const uint64_t a = rows_descriptor<BK>(As_read + place.stage * STAGE_BYTES);
        const uint64_t b = rows_descriptor<BK>(Bs_read + place.stage * STAGE_BYTES);
        wgmma_fence();  // this warp has done with the sums of the tile before
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int weight = 0; weight < DIGITS; ++weight)
#pragma unroll
            for (int x = 0; x <= weight; ++x)  // digit x of A times digit weight - x of B
              wgmma_m64k32(acc[weight], a + (x * A_BYTES >> 4) + k_step * NEXT_32_BYTES,
                           b + ((weight - x) * B_BYTES >> 4) + k_step * NEXT_32_BYTES,
                           slice > 0 || k_step > 0 || x > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta == 0.0f)
        store(tile, 0.0f);  // a literal: no branches, no loads of C
      else
        store(tile, g.beta);
    }
  }
  if (blockIdx.x == 0) wait_for_kernel_before();  // what waits for this kernel, waits for that one
}

template <int DIGITS>
constexpr int MOST_K = std::numeric_limits<int>::max() / (DIGITS * 128 * 128);  // of the last sum

template <int DIGITS, int BN, int STAGES>
void launch_digits(const Gemm<float>& g, const Guard& guard, int stride, cudaStream_t stream) {
  const auto kernel = gemm_kernel<DIGITS, BN, STAGES>;
  constexpr int SMEM_BYTES = STAGES * DIGITS * (BM + BN) * BK;
  const auto map = [&](const int8_t* digits, int lines, int box) {
    return make_tensor_map(digits, DIGITS * lines, g.k, guard.packed.pitch, box, BK,
                           CU_TENSOR_MAP_SWIZZLE_64B);
  };
  const int band_rows = band_height(stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  launch_early(true, kernel, 1, grid, THREADS, SMEM_BYTES, stream, map(guard.packed.a, g.m, BM),
               map(guard.packed.b, g.n, BN), guard, g, band_rows);
}

/// Acc: what the table says of the sums.
template <int TAU, bool B_TRANSPOSED, class Acc, bool BALANCED>
void launch(const Gemm<float, Acc, float>& p, const LaunchOptions& options, cudaStream_t stream) {
  const Gemm<float> g{p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb, p.c, p.ldc, p.alpha, p.beta};
  const Guard guard(options.workspace, g.m, g.n, g.k);
  split_guarded<B_TRANSPOSED, BALANCED>(guard, g.a, g.lda, g.b, g.ldb, g.m, g.n, g.k, stream);
  launch_early(true, choose_digits<MOST_K<4>>, 1, guard.row_regions, Guard::COLUMNS, 0, stream,
               guard, g.m, g.n, g.k, std::ldexp(1.0f, TAU));
  launch_digits<FIRST, 128, 4>(g, guard, options.swizzle_stride, stream);
  launch_digits<4, 96, 4>(g, guard, options.swizzle_stride, stream);
  launch_fp32_tiles(g, guard, B_TRANSPOSED, stream);
}

template <int TAU, bool B_TRANSPOSED = false, class Acc = int32_t, bool BALANCED = false>
Variant variant(const char* name) {
  Variant v(name, launch<TAU, B_TRANSPOSED, Acc, BALANCED>);
  v.any_size(BM, Guard::COLUMNS, BK).flat_grid().in_bands().on_tensor_cores().k_up_to(MOST_K<3>);
  v.workspace([](int m, int n, int k) { return Guard(nullptr, m, n, k).bytes; });
  return B_TRANSPOSED ? v.tn() : v;
}

std::vector<Variant> variants() {
  constexpr int NEVER = -126;  // no product of digits is as precise as that
  return {
      variant<-16>("guarded").in_digits(3).note("three digits, four, or FP32; TAU = -16"),
      variant<-16, true>("guarded_tn").in_digits(3).note("the same where B is stored n × k"),
      variant<-20>("strict").in_digits(3).note("TAU = -20"),
      variant<-16, false, int32_t, true>("balanced").in_digits(3).balances_along_k(),
      variant<NEVER, false, float>("fp32").note("FP32 everywhere, behind the guard"),
  };
}
