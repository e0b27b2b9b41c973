// Step 32, also: eight products of three digits, in two passes over K.
//
// Six products leave out x2 y3 and x3 y2, which weigh 2^8. A sum of their own would take a fourth
// set of accumulators, and a tile of 128×128 has registers for three. So they come first: a pass
// over K sums them where the last sum will be. Then the sum is shifted by the 8 bits that its
// weight is less, which rounds once per element of C and not once per k, and the second pass is the
// six products of kernel.cu on top of it. The first pass needs no digit of the largest weight and
// loads two tiles of A and two of B per slice: 32 KB where the second loads 48.
//
// What this gains are the 8 bits of the products left out: on data whose rows mix magnitudes they
// are the largest part of the error. The rounding to integers of 24 bits stays.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/digits.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma_s8.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

namespace {

using Problem32 = Gemm<float, int32_t, float>;

constexpr int MMA_M = 64, MMA_K = 32;       // of one instruction; its N is BN
constexpr int BM = 128, BN = 128, BK = 64;  // block tile; a slice's row is 64 bytes
constexpr int DIGITS = 3, STAGES = 4;
constexpr int A_BYTES = BM * BK, B_BYTES = BN * BK;  // of one digit's tile
constexpr int STAGE_BYTES = DIGITS * (A_BYTES + B_BYTES);
constexpr int WARPGROUP = 128, CONSUMERS = BM / MMA_M, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int DEFAULT_BAND = 2048;                                // rows of C in a band
using FirstPass = std::true_type;
using SecondPass = std::false_type;
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map, const double* a_scale,
                const double* b_scale, Problem32 g, int band_rows) {
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

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && threadIdx.x % WARPGROUP == 0;
         index += gridDim.x) {
      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      for (int slice = 0; slice < 2 * slices; ++slice, place.advance()) {
        const int first = slice < slices ? 1 : 0;  // digit: the first pass has no use for digit 0
        const int k = slice % slices * BK, stage = place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, (DIGITS - first) * (A_BYTES + B_BYTES));
        for (int digit = first; digit < DIGITS; ++digit) {
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
      constexpr double UNIT = uint64_t{1} << 8 * (DIGITS - 1);  // weight of the last sum
      const bool pairs = g.ldc % 2 == 0 && reinterpret_cast<uintptr_t>(g.c) % 8 == 0;
      const int first_row = tile.x * BM + warp * 16 + lane / 4;  // and the one 8 below
      double row_scale[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + half * 8;
        row_scale[half] = row < g.m ? g.alpha * UNIT * a_scale[row] : 0.0;
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
          double value = inside ? sum * (row_scale[i / 2 % 2] * b_scale[col + e]) : 0.0;
          if (beta != 0.0f && inside) value += static_cast<double>(beta) * c[e];
          out[e] = static_cast<float>(value);  // the only rounding since the integers
        }
        store_two(c, make_float2(out[0], out[1]), g.n - col, pairs);
      }
    };

    // A pass over K: the products of the weight behind the last sum's, or those of all three sums.
    const auto walk = [&](auto pass) {
      constexpr bool FIRST = decltype(pass)::value;
      constexpr int LOWEST = FIRST ? DIGITS : 0, HIGHEST = FIRST ? DIGITS : DIGITS - 1;
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const uint64_t a = rows_descriptor<BK>(As_read + place.stage * STAGE_BYTES);
        const uint64_t b = rows_descriptor<BK>(Bs_read + place.stage * STAGE_BYTES);
        wgmma_fence();  // this warp has done with what it did to the sums itself
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int weight = LOWEST; weight <= HIGHEST; ++weight)
#pragma unroll
            for (int x = FIRST ? 1 : 0; x <= (FIRST ? DIGITS - 1 : weight); ++x) {
              const bool overwrite = FIRST ? x == 1 : x == 0 && weight < DIGITS - 1;
              wgmma_m64k32(acc[FIRST ? DIGITS - 1 : weight],  // digit x of A, weight - x of B
                           a + (x * A_BYTES >> 4) + k_step * NEXT_32_BYTES,
                           b + ((weight - x) * B_BYTES >> 4) + k_step * NEXT_32_BYTES,
                           slice > 0 || k_step > 0 || !overwrite);
            }
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      walk(FirstPass{});
#pragma unroll
      for (int32_t& sum : acc[DIGITS - 1]) sum = (sum + 128) >> 8;  // now of the last sum's weight
      walk(SecondPass{});

      const int2 tile = tile_in_bands(index, tile_rows, tile_cols, band_rows);
      if (g.beta == 0.0f)
        store(tile, 0.0f);  // a literal: no branches, no loads of C
      else
        store(tile, g.beta);
    }
  }
}

void launch(const Problem32& g, const LaunchOptions& options, cudaStream_t stream) {
  const PackedDigits<DIGITS> packed(options.workspace, g.m, g.n, g.k);
  split_operands(packed, g.a, g.lda, g.b, g.ldb, g.m, g.n, g.k, stream);

  constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
  const CUtensorMap a_map =
      make_tensor_map(packed.a, DIGITS * g.m, g.k, packed.pitch, BM, BK, CU_TENSOR_MAP_SWIZZLE_64B);
  const CUtensorMap b_map =
      make_tensor_map(packed.b, DIGITS * g.n, g.k, packed.pitch, BN, BK, CU_TENSOR_MAP_SWIZZLE_64B);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(gemm_kernel, THREADS, SMEM_BYTES));
  gemm_kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(a_map, b_map, packed.a_scale, packed.b_scale,
                                                     g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  constexpr int64_t LARGEST_PRODUCT = 128 * 128, SUM_LIMIT = int64_t{1} << 31;
  Variant v("eight_products", launch);
  v.any_size(BM, BN, BK).flat_grid().in_bands().on_tensor_cores().in_digits(DIGITS);
  // Per k the last sum takes DIGITS products, and of the DIGITS - 1 of the pass before a 256th.
  v.k_up_to((SUM_LIMIT - 2) * 256 / ((256 * DIGITS + DIGITS - 1) * LARGEST_PRODUCT));
  v.workspace([](int m, int n, int k) { return PackedDigits<DIGITS>(nullptr, m, n, k).bytes; });
  v.note("three digits, a pass of two more products");
  return {v};
}

const Also added(variants);

}  // namespace
