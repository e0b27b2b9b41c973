// Step 30, also: three products of operands in two parts ("3×TF32").
//
// The idea: x is high + low, high the nearest TF32 of x and low that of the rest, which is exact.
// Both together hold 22 bits of fraction, nearly FP32's 23. Of the four products the one of both
// low parts is left out. What is lost then is 2^-22 of each product. But the tensor core cuts its
// sums to about as many bits, always towards zero: where all products are positive, those losses do
// not cancel, and the result is hardly better than that of one product.
//
// A's high part is what TMA makes of A; its low part is written by a kernel before. B is parted in
// registers, fragment by fragment.
//
// Against kernel.cu: the parts, a tile of 64×256 without clusters, three products, sums of their
// own for the low parts.
//
// Source: Markidis et al., "NVIDIA Tensor Core Programmability, Performance & Precision" (2018),
// for the split; CUTLASS, example 27, for TF32. Inf becomes NaN, as there: its low part is Inf -
// Inf.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ptx/wgmma_tf32.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tf32.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_quads.h"

namespace {

using ProblemTf32 = Gemm<tf32_t, float, float>;

constexpr int MMA_COLS = 64, MMA_K = 8;                // columns of B of one instruction; its depth
constexpr int BM = 64, BN = 256, BK = 32, STAGES = 4;  // block tile, slices in shared memory
constexpr int MMAS = 2, WN = MMAS * MMA_COLS;          // columns of a consumer
constexpr int WARPGROUP = 128, CONSUMERS = BN / WN, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;           // per thread
constexpr int BOX_COLS = 32, ROW_BYTES = 128, BOX_BYTES = BK * ROW_BYTES;  // of B, for a warp
constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BN * ROW_BYTES;          // of one part of A
constexpr int STAGE_BYTES = 2 * A_BYTES + B_BYTES, SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int DEFAULT_BAND = 2048;                        // rows of C in a band
constexpr uint64_t NEXT_K8 = MMA_K * sizeof(float) >> 4;  // in a descriptor
constexpr uint64_t LOW_PART = A_BYTES >> 4;               // in a descriptor: A's low part
constexpr int PAIR_BYTES = 2 * sizeof(float);             // of B, in a lane, for one instruction
constexpr int PARTERS = 256;                              // threads of the kernel before

__host__ __device__ constexpr int pitch_of(int k) { return ceil_div(k, 4) * 4; }

/// low[row][k] = a[row][k] less the nearest TF32; rows of `pitch` floats, one per block.
__global__ void __launch_bounds__(PARTERS)
    low_parts_kernel(const float* a, int lda, float* low, int pitch, int k) {
  const float* const from = a + blockIdx.x * static_cast<int64_t>(lda);
  float* const to = low + blockIdx.x * static_cast<int64_t>(pitch);
  for (int i = threadIdx.x * 4; i < k; i += PARTERS * 4) {
    const float4 x = k - i >= 4 ? load_quad<4>(from + i, 4) : load_quad<1>(from + i, k - i);
    float4_at(to + i) = make_float4(x.x - nearest_tf32(x.x), x.y - nearest_tf32(x.y),
                                    x.z - nearest_tf32(x.z), x.w - nearest_tf32(x.w));
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    three_products_kernel(const __grid_constant__ CUtensorMap a_map,
                          const __grid_constant__ CUtensorMap low_map,
                          const __grid_constant__ CUtensorMap b_map, ProblemTf32 g, int band_rows) {
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int tiles = tile_rows * tile_cols, slices = ceil_div(g.k, BK);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);  // the consumers, then the producer

  extern __shared__ __align__(1024) char As[];  // STAGES times As[2][BM][BK], Bs[BN / 32][BK][32]
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read

  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();  // nobody waits or arrives at a barrier that is not there yet
  const auto place_of = [&](int index) {  // of a tile, in elements
    const int2 at = tile_in_bands(index, tile_rows, tile_cols, band_rows);
    return make_int2(at.x * BM, at.y * BN);
  };

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int index = blockIdx.x; index < tiles && threadIdx.x % WARPGROUP == 0;
         index += gridDim.x) {
      const int2 tile = place_of(index);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        tma_load(to, a_map, k, tile.x, landed);
        tma_load(to + A_BYTES, low_map, k, tile.x, landed);
#pragma unroll
        for (int box = 0; box < BN / BOX_COLS; ++box)
          tma_load(to + 2 * A_BYTES + box * BOX_BYTES, b_map, tile.y + box * BOX_COLS, k, landed);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint64_t first_a = matrix_descriptor<Major::K>(shared_address(As), BK);
    const uint32_t box_b = shared_address(As) + 2 * A_BYTES + warp * BOX_BYTES;
    const uint32_t upper_b = box_b + pair_at(lane % 4, lane);  // of eight rows of B, a lane's two
    const uint32_t lower_b = box_b + pair_at(lane % 4 + 4, lane);
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    float acc[MMAS][BM / 2];      // of the high parts' products: 64 columns of BM rows each
    float low_acc[MMAS][BM / 2];  // of the others
    const auto store = [&](int2 tile, float beta) {
      const int col = tile.y + warp * BOX_COLS + quad_of(lane) * 4, count = g.n - col;
#pragma unroll
      for (int i = 0; i < MMAS; ++i)
#pragma unroll
        for (int j = 0; j < BM / 2; ++j) acc[i][j] += low_acc[i][j];
#pragma unroll
      for (int j = 0; j < BM / 4; ++j) {
        const int row = tile.x + sum_row(j, lane);
        float* const c = g.c + row * g.ldc + col;
        if (row >= g.m) continue;
        const float4 sums = sums_of_quad(acc, j, 1.0f);
        const float quad[] = {sums.x, sums.y, sums.z, sums.w};
        if (count >= 4)
          store_scaled<4>(c, g.alpha, quad, beta, 4);
        else
          store_scaled<1>(c, g.alpha, quad, beta, count);
      }
    };

    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * STAGE_BYTES;
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step) {
          const int at = stage + k_step * MMA_K * ROW_BYTES;
          float high[MMAS][4], low[MMAS][4];  // a pair of each of the two rows of B, in two parts
#pragma unroll
          for (int i = 0; i < MMAS; ++i) {
            load_shared_x2(high[i], at + (upper_b ^ i * PAIR_BYTES));
            load_shared_x2(high[i] + 2, at + (lower_b ^ i * PAIR_BYTES));
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              const float whole = high[i][j];
              high[i][j] = nearest_tf32(whole);
              low[i][j] = nearest_tf32(whole - high[i][j]);
            }
          }
          const uint64_t a = first_a + (stage >> 4) + k_step * NEXT_K8;
          const bool add = slice > 0 || k_step > 0;
          wgmma_fence();  // the fragments are there; this warp has done with the sums before
#pragma unroll
          for (int i = 0; i < MMAS; ++i) {
            wgmma_tf32_of_registers(low_acc[i], low[i], a, add);
            wgmma_tf32_of_registers(low_acc[i], high[i], a + LOW_PART, true);
            wgmma_tf32_of_registers(acc[i], high[i], a, add);
          }
          wgmma_commit();
          wgmma_wait<1>();  // the products before are done: their fragments may be overwritten
          if (k_step == 0 && slice > 0) release(stage_before);
        }
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta == 0.0f)
        store(place_of(index), 0.0f);  // a literal: no branches, no loads of C
      else
        store(place_of(index), g.beta);
    }
  }
}

void launch(const ProblemTf32& g, const LaunchOptions& options, cudaStream_t stream) {
  float* const low = static_cast<float*>(options.workspace);
  const int pitch = pitch_of(g.k);
  const float* const a = reinterpret_cast<const float*>(g.a);
  const float* const b = reinterpret_cast<const float*>(g.b);
  low_parts_kernel<<<g.m, PARTERS, 0, stream>>>(a, g.lda, low, pitch, g.k);
  CUDA_CHECK(cudaGetLastError());
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM, BK);
  const CUtensorMap low_map =
      make_tensor_map(reinterpret_cast<const tf32_t*>(low), g.m, g.k, pitch, BM, BK);
  const CUtensorMap b_map = make_tensor_map(b, g.k, g.n, g.ldb, BK, BOX_COLS);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  const auto kernel = three_products_kernel;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int grid =
      min(ceil_div(g.m, BM) * ceil_div(g.n, BN), resident_blocks(kernel, THREADS, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(a_map, low_map, b_map, g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  Variant v("three_products", launch);
  v.any_size(BM, BN, BK).aligned_ld(4, 4, 4).flat_grid().in_bands().on_tensor_cores();
  v.workspace(
      [](int m, int, int k) { return (sizeof(float) * m * pitch_of(k) + 255) / 256 * 256; });
  v.note("operands in two parts, three products; tile 64×256");
  return {v};
}

const Also added(variants);

}  // namespace
