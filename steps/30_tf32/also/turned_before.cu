// Step 30, also: B turned by a kernel of its own, before the product.
//
// The idea: what kernel.cu does with registers, the usual way: B is written once more as N×K, so
// that both operands are K-major, and then multiplied as step 26 multiplies. The copy costs a read
// and a write of B, and memory of its size. It need not round: TMA does, as it loads the copy.
//
// Against kernel.cu: the turning, both operands by descriptors, sums of two neighbours per lane.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/cluster_places.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ptx/wgmma_narrow.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"

namespace {

using ProblemTf32 = Gemm<tf32_t, float, float>;

constexpr int MMA_M = 64, MMA_K = 8;                    // of one instruction; its N is BN
constexpr int BM = 256, BN = 192, BK = 32, STAGES = 4;  // block tile, slices in shared memory
constexpr int CLUSTER = 2;                              // blocks side by side that share A
constexpr int WM = 128, MMAS_M = WM / MMA_M;            // rows of a consumer
constexpr int WARPGROUP = 128, CONSUMERS = BM / WM, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;  // per thread
constexpr int ROW_BYTES = 128;                                    // of a box
constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = (BM + BN) * ROW_BYTES;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int DEFAULT_BAND = 2048;                          // rows of C in a band
constexpr uint64_t NEXT_ROWS = MMA_M * ROW_BYTES >> 4;      // in a descriptor: 64 rows of A
constexpr int SIDE = 64, TURNERS = 256, PITCH_TO = 4;       // of the turning kernel
constexpr int QUADS = SIDE / 4, AT_ONCE = TURNERS / QUADS;  // of four floats in a row; rows

__host__ __device__ constexpr int pitch_of(int k) { return ceil_div(k, PITCH_TO) * PITCH_TO; }

/// turned[n][k] = b[k][n], rows of `pitch` floats. Each block 64×64.
__global__ void __launch_bounds__(TURNERS)
    turn_kernel(const float* b, int ldb, float* turned, int pitch, int k, int n) {
  __shared__ float tile[SIDE][SIDE + 1];  // [n][k]; a column more, and no bank conflicts
  const int first_k = blockIdx.y * SIDE, first_n = blockIdx.x * SIDE;
  const int quad = threadIdx.x % QUADS * 4, row = threadIdx.x / QUADS;
#pragma unroll
  for (int i = row; i < SIDE; i += AT_ONCE) {
    const int here_k = first_k + i, left = n - first_n - quad;
    const float* const from = b + here_k * static_cast<int64_t>(ldb) + first_n + quad;
    const int count = here_k < k ? left : 0;
    const float4 four = count >= 4 ? load_quad<4>(from, 4) : load_quad<1>(from, count);
    tile[quad][i] = four.x, tile[quad + 1][i] = four.y;
    tile[quad + 2][i] = four.z, tile[quad + 3][i] = four.w;
  }
  __syncthreads();  // the tile is complete
#pragma unroll
  for (int i = row; i < SIDE; i += AT_ONCE) {
    const int here_n = first_n + i, here_k = first_k + quad;
    if (here_n < n && here_k < pitch)
      float4_at(turned + here_n * static_cast<int64_t>(pitch) + here_k) =
          make_float4(tile[i][quad], tile[i][quad + 1], tile[i][quad + 2], tile[i][quad + 3]);
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    turned_kernel(const int* places, const __grid_constant__ CUtensorMap a_map,
                  const __grid_constant__ CUtensorMap b_map, ProblemTf32 g, int band_rows) {
  const int tile_rows = ceil_div(g.m, BM), pair_cols = ceil_div(g.n, CLUSTER * BN);
  const int pairs = tile_rows * pair_cols, slices = ceil_div(g.k, BK);
  const int rank = cluster_rank(), cluster = blockIdx.x / CLUSTER, step = gridDim.x / CLUSTER;
  const int first_pair = places ? places[cluster] : cluster;  // clusters of a GPC: neighbours
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = __shfl_sync(~0u, warp / 4, 0);  // the consumers, then the producer

  extern __shared__ __align__(1024) char As[];     // STAGES times As[BM][BK] and Bs[BN][BK]
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read

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
    for (int pair = first_pair; pair < pairs && threadIdx.x % WARPGROUP == 0; pair += step) {
      const int2 tile = place_of(pair);
      for (int k = 0; k < slices * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers of both blocks have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, STAGE_BYTES);
        constexpr int HALF = BM / CLUSTER;  // rows of A that this block loads for both
        tma_load_multicast(to + rank * HALF * ROW_BYTES, a_map, k, tile.x + rank * HALF, landed,
                           (1 << CLUSTER) - 1);
        tma_load(to + A_BYTES, b_map, k, tile.y, landed);
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * WM * ROW_BYTES;
    const uint64_t first_a = matrix_descriptor<Major::K>(As_read, BK);
    const uint64_t first_b = matrix_descriptor<Major::K>(shared_address(As) + A_BYTES, BK);
    const auto release = [&](int stage) {
      if (lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);
    };
    float acc[MMAS_M][BN / 2];  // 64×BN of the warpgroup each, 16×BN of a warp
    const auto store = [&](int2 tile, float beta) {
      const bool pairs_of_c = reinterpret_cast<uintptr_t>(g.c) % 8 == 0;
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
        for (int j = 0; j < BN / 2; j += 2) {  // two neighbours in a row
          const int row =
              tile.x + warpgroup * WM + i * MMA_M + warp % 4 * 16 + j / 2 % 2 * 8 + lane / 4;
          const int col = tile.y + j / 4 * 8 + lane % 4 * 2;
          if (row >= g.m) continue;
          float* const c = g.c + row * g.ldc + col;
          const float2 two =
              make_float2(col < g.n ? scaled(g.alpha, acc[i][j], beta, c) : 0.0f,
                          col + 1 < g.n ? scaled(g.alpha, acc[i][j + 1], beta, c + 1) : 0.0f);
          store_two(c, two, g.n - col, pairs_of_c);
        }
    };

    for (int pair = first_pair; pair < pairs; pair += step) {
      int stage_before = 0;
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * (STAGE_BYTES >> 4);  // in a descriptor
        wgmma_fence();  // this warp has done with the sums of the tile before
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int i = 0; i < MMAS_M; ++i)
            wgmma_32_bytes<tf32_t, tf32_t>(
                acc[i], first_a + stage + k_step * NEXT_32_BYTES + i * NEXT_ROWS,
                first_b + stage + k_step * NEXT_32_BYTES, slice > 0 || k_step > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      if (g.beta == 0.0f)
        store(place_of(pair), 0.0f);  // a literal: no branches, no loads of C
      else
        store(place_of(pair), g.beta);
    }
  }
  __syncwarp();    // one lane ran the loop of copies: its warp comes to the barrier as one
  cluster_sync();  // the other block may still have signalled to this one's barriers
}

void launch(const ProblemTf32& g, const LaunchOptions& options, cudaStream_t stream) {
  float* const turned = static_cast<float*>(options.workspace);
  const int pitch = pitch_of(g.k);
  turn_kernel<<<dim3(ceil_div(g.n, SIDE), ceil_div(g.k, SIDE)), TURNERS, 0, stream>>>(
      reinterpret_cast<const float*>(g.b), g.ldb, turned, pitch, g.k, g.n);
  CUDA_CHECK(cudaGetLastError());

  const auto kernel = turned_kernel;
  const auto* const b = reinterpret_cast<const tf32_t*>(turned);
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, BM / CLUSTER, BK);
  const CUtensorMap b_map = make_tensor_map(b, g.n, g.k, pitch, BN, BK);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  const int pairs = ceil_div(g.m, BM) * ceil_div(g.n, CLUSTER * BN);
  const int resident = resident_clusters(kernel, CLUSTER, THREADS, SMEM_BYTES);
  const int* const places = places_on_device(pairs, resident, CLUSTER, stream);
  launch_in_clusters(kernel, CLUSTER, CLUSTER * min(pairs, resident), THREADS, SMEM_BYTES, stream,
                     places, a_map, b_map, g, band_rows);
}

std::vector<Variant> variants() {
  constexpr int64_t MOST_K = int64_t{65535} * SIDE;  // rows of blocks that turn B are on the y axis
  Variant v("turned_before", launch);
  v.any_size(BM, CLUSTER * BN, BK).aligned_ld(4, 4, 4).flat_grid().in_bands().on_tensor_cores();
  v.workspace(
      [](int, int n, int k) { return (sizeof(float) * n * pitch_of(k) + 255) / 256 * 256; });
  v.note("B written as N×K by a kernel before").k_up_to(MOST_K);
  return {v};
}

const Also added(variants);

}  // namespace
