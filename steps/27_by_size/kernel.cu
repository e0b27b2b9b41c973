// Step 27 (exploration)
#include "common/device/check.h"
#include "common/device/cluster_launch.h"
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

constexpr int MMA_M = 64, MMA_K = 16, BK = 64;
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;                    // 64×64 of C
constexpr uint64_t NEXT_ROWS = MMA_M * ROW_BYTES >> 4;

/// Blocks of a cluster along M share B, along N share A; along K (SPLIT) they share the sums.
template <int BM_, int BN_, int STAGES_, int BUFFERS_, int ALONG_M_, int ALONG_N_, int SPLIT_, bool DIRECT_ = false, bool PDL_ = false, int PACE_ = 0, int STAGGER_ = 0, bool NO_STORE_ = false, bool BY_WARP_ = false, int PLACE_ = 0, bool BULK_ = false, bool ACROSS_ = false>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, BUFFERS = BUFFERS_;
  static constexpr int ALONG_M = ALONG_M_, ALONG_N = ALONG_N_, SPLIT = SPLIT_;
  static constexpr bool DIRECT = DIRECT_, PDL = PDL_;
  static constexpr int PACE = PACE_, STAGGER = STAGGER_;
  static constexpr bool NO_STORE = NO_STORE_, BY_WARP = BY_WARP_;
  static constexpr int PLACE = PLACE_;
  static constexpr bool BULK = BULK_, ACROSS = ACROSS_;
  static constexpr int CLUSTER = ALONG_M * ALONG_N * SPLIT;
  static constexpr int WM = BM / CONSUMERS, MMAS_M = WM / MMA_M, PIECES = MMAS_M * BN / ROW;
  static constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr int BYTES = STAGES * STAGE_BYTES + CONSUMERS * BUFFERS * PIECE_BYTES;
  static constexpr int A_ROWS = BM / ALONG_N, B_PARTS = ALONG_M;  // rows of A that a block loads for all
  static_assert(SPLIT == 1 || PIECES % SPLIT == 0 && PIECES * CONSUMERS * 2 * PIECE_BYTES <= STAGES * STAGE_BYTES);
};

template <int BLOCKS>
__device__ __forceinline__ void load_for_all(void* to, const CUtensorMap& map, int x, int y, Barrier* landed) {
  if constexpr (BLOCKS > 1)
    tma_load_multicast(to, map, x, y, landed, (1 << BLOCKS) - 1);
  else
    tma_load(to, map, x, y, landed);
}

__device__ __forceinline__ float4 load_float4_of(const void* pointer, int rank) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];\n"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(shared_address_in(pointer, rank)) : "memory");
  return v;
}

__device__ unsigned paced;

template <class AB, Major B_MAJOR, class T>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, STAGES = T::STAGES, CLUSTER = T::CLUSTER;
  const int group_rows = ceil_div(g.m, T::ALONG_M * BM), group_cols = ceil_div(g.n, T::ALONG_N * BN);
  const int groups = group_rows * group_cols, slices = ceil_div(ceil_div(g.k, BK), T::SPLIT);
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int first_group = blockIdx.x / CLUSTER, step = gridDim.x / CLUSTER;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];
  __shared__ Barrier full[STAGES], empty[STAGES];
  char* const Bs = As + T::A_BYTES;
  constexpr int READERS = T::ALONG_M * T::ALONG_N;  // blocks that read a stage

  if (T::PDL) {
    if (threadIdx.x == CONSUMERS * WARPGROUP) {
      for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
    }
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, READERS * CONSUMERS * 4);
    barrier_init_fence();
  }
  if (CLUSTER > 1) cluster_sync(); else __syncthreads();
  if (T::PDL) asm volatile("griddepcontrol.wait;" ::: "memory");
  unsigned chunk = 0;
  const auto place_of = [&](int group) {
    const int2 turned = T::ACROSS ? tile_in_bands(group, group_cols, group_rows, min(band_rows, group_cols)) : tile_in_bands(group, group_rows, group_cols, band_rows);
    const int2 at = T::ACROSS ? make_int2(turned.y, turned.x) : turned;
    return make_int2((at.x * T::ALONG_M + (T::ALONG_M > 1 ? rank : 0)) * BM, (at.y * T::ALONG_N + (T::ALONG_N > 1 ? rank : 0)) * BN);
  };
  const int first_k = T::SPLIT > 1 ? rank * slices * BK : 0;

  RingPlace<STAGES> place;
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    for (int group = first_group; group < groups && first_thread; group += step) {
      const int2 tile = place_of(group);
      for (int k = first_k; k < first_k + slices * BK; k += BK, place.advance()) {
        if (T::PACE > 0 && k / BK % T::PACE == 0) {
          atomicAdd(&paced, 1);
          const unsigned wanted = chunk * gridDim.x;  // all have begun the chunk before
          for (int tries = 0; tries < 2000 && static_cast<int>(*static_cast<volatile unsigned*>(&paced) - wanted) < 0; ++tries) __nanosleep(40);
          ++chunk;
        }
        char* const to = As + place.stage * T::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, T::STAGE_BYTES);
        const int a_row = T::ALONG_N > 1 ? rank * T::A_ROWS : 0;
        load_for_all<T::ALONG_N>(to + a_row * ROW_BYTES, a_map, k, tile.x + a_row, landed);
        if (B_MAJOR == Major::K) {
          constexpr int ROWS = BN / T::ALONG_M;
          const int b_row = T::ALONG_M > 1 ? rank * ROWS : 0;
          load_for_all<T::ALONG_M>(to + T::A_BYTES + b_row * ROW_BYTES, b_map, k, tile.y + b_row, landed);
        } else {
          constexpr int ROWS = BK / T::ALONG_M;
          const int b_row = T::ALONG_M > 1 ? rank * ROWS : 0;
#pragma unroll
          for (int col = 0; col < BN; col += ROW)
            load_for_all<T::ALONG_M>(to + T::A_BYTES + col * BK * 2 + b_row * ROW_BYTES, b_map, tile.y + col, k + b_row, landed);
        }
      }
    }
    if (T::SPLIT > 1) { __syncwarp(); cluster_sync(); }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * T::WM * ROW_BYTES;
    const uint32_t Bs_read = shared_address(Bs);
    char* const Cs = As + STAGES * T::STAGE_BYTES + warpgroup * T::BUFFERS * PIECE_BYTES;
    const auto release = [&](int stage) {
      if constexpr (READERS > 1) {
        if (lane < READERS) barrier_arrive_at(&empty[stage], lane);
      } else {
        if (lane == 0) barrier_arrive(&empty[stage]);
      }
    };
    float acc[T::MMAS_M][BN / 2];
    const auto store_piece = [&](int2 tile, int piece, float beta) {
      const int i = piece / (BN / ROW), j = piece % (BN / ROW);
      const int row = tile.x + warpgroup * T::WM + i * MMA_M, warp_row = row + warp % 4 * 16;
      const int col = tile.y + j * ROW;
      if constexpr (T::DIRECT) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int c = 0; c < 8; c += 4) {
            uint32_t v[4];
#pragma unroll
            for (int t = 0; t < 4; ++t) {
              const float* two = acc[i] + j * 32 + (c + t) * 4 + h * 2;
              store_pair(reinterpret_cast<AB*>(&v[t]), make_float2(g.alpha * two[0], g.alpha * two[1]));
            }
            transpose_in_quad(v, lane);
            const int r = warp_row + h * 8 + lane / 4, cc = col + (c + lane % 4) * 8;
            if (r < g.m && cc < g.n) __stcs(reinterpret_cast<uint4*>(g.c + (size_t)r * g.ldc + cc), make_uint4(v[0], v[1], v[2], v[3]));
          }
        return;
      }
      if constexpr (T::BY_WARP) {
        char* const box = As + STAGES * T::STAGE_BYTES + (warp * T::BUFFERS + piece % T::BUFFERS) * 16 * ROW_BYTES;
        if (lane == 0) tma_store_wait_read<T::BUFFERS - 1>();
        __syncwarp();
        stage_sums<AB>(box - warp % 4 * 16 * ROW_BYTES, acc[i] + j * ROW / 2, g.alpha, beta,
                       {g.c + warp_row * g.ldc + col, g.ldc, g.m - warp_row, g.n - col});
        fence_for_async_reads();
        __syncwarp();
        if (lane == 0) {
          tma_store(c_map, col, warp_row, box);
          tma_store_commit();
        }
        return;
      }
      char* const box = Cs + piece % T::BUFFERS * PIECE_BYTES;
      if (first_thread) tma_store_wait_read<T::BUFFERS - 1>();
      named_barrier_sync(1 + warpgroup, WARPGROUP);
      stage_sums<AB>(box, acc[i] + j * ROW / 2, g.alpha, beta,
                     {g.c + warp_row * g.ldc + col, g.ldc, g.m - warp_row, g.n - col});
      fence_for_async_reads();
      named_barrier_sync(1 + warpgroup, WARPGROUP);
      if (first_thread) {
        tma_store(c_map, col, row, box);
        tma_store_commit();
      }
    };
    const auto store = [&](int2 tile, float beta) {
      if constexpr (T::BULK) {
#pragma unroll
        for (int round = 0; round < T::PIECES; round += T::BUFFERS) {
          if (first_thread) tma_store_wait_read<0>();
          named_barrier_sync(1 + warpgroup, WARPGROUP);
#pragma unroll
          for (int b = 0; b < T::BUFFERS; ++b) {
            const int i = (round + b) / (BN / ROW), j = (round + b) % (BN / ROW);
            const int warp_row = tile.x + warpgroup * T::WM + i * MMA_M + warp % 4 * 16, col = tile.y + j * ROW;
            stage_sums<AB>(Cs + b * PIECE_BYTES, acc[i] + j * ROW / 2, g.alpha, beta,
                           {g.c + warp_row * g.ldc + col, g.ldc, g.m - warp_row, g.n - col});
          }
          fence_for_async_reads();
          named_barrier_sync(1 + warpgroup, WARPGROUP);
          if (first_thread) {
#pragma unroll
            for (int b = 0; b < T::BUFFERS; ++b) {
              const int i = (round + b) / (BN / ROW), j = (round + b) % (BN / ROW);
              tma_store(c_map, tile.y + j * ROW, tile.x + warpgroup * T::WM + i * MMA_M, Cs + b * PIECE_BYTES);
            }
            tma_store_commit();
          }
        }
        return;
      }
#pragma unroll
      for (int piece = 0; piece < T::PIECES; ++piece)
        if (T::SPLIT == 1 || piece / (T::PIECES / T::SPLIT) == rank) store_piece(tile, piece, beta);
    };
    constexpr int QUADS = 8;  // of 4 sums in a thread's part of a piece
    const auto part = [&](int piece, int quad) { return As + ((piece * QUADS + quad) * CONSUMERS * WARPGROUP + threadIdx.x) * 16; };
    const auto sum_of_piece = [&](int piece) { return acc[piece / (BN / ROW)] + piece % (BN / ROW) * (ROW / 2); };

    for (int group = first_group; group < groups; group += step) {
      int stage_before = 0;
      if (T::STAGGER > 0 && warpgroup == 1) named_barrier_sync(4, CONSUMERS * WARPGROUP);
      for (int slice = 0; slice < slices; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * T::STAGE_BYTES;
        const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
        const uint64_t b = matrix_descriptor<B_MAJOR>(Bs_read + stage, BK);
        wgmma_fence();
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int i = 0; i < T::MMAS_M; ++i)
            wgmma_m64k16<AB, B_MAJOR>(acc[i], a + k_step * NEXT_K16<Major::K> + i * NEXT_ROWS,
                                      b + k_step * NEXT_K16<B_MAJOR>, slice > 0 || k_step > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (slice > 0) release(stage_before);
        stage_before = place.stage;
        if (T::STAGGER > 0 && warpgroup == 0 && slice == min(T::STAGGER, slices) - 1) asm volatile("bar.arrive 4, 256;" ::: "memory");
      }
      wgmma_wait<0>();
      if (T::SPLIT == 1) release(stage_before);
      if constexpr (T::SPLIT > 1) {
        constexpr int OWN = T::PIECES / T::SPLIT;
        named_barrier_sync(3, CONSUMERS * WARPGROUP);  // both consumers have done with the ring
#pragma unroll
        for (int piece = 0; piece < T::PIECES; ++piece)
          if (piece / OWN != rank)
#pragma unroll
            for (int quad = 0; quad < QUADS; ++quad)
              *reinterpret_cast<float4*>(part(piece, quad)) = *reinterpret_cast<float4*>(sum_of_piece(piece) + quad * 4);
        cluster_sync();
#pragma unroll
        for (int piece = 0; piece < T::PIECES; ++piece)
          if (piece / OWN == rank)
#pragma unroll
            for (int other = 1; other < T::SPLIT; ++other)
#pragma unroll
              for (int quad = 0; quad < QUADS; ++quad) {
                const float4 v = load_float4_of(part(piece, quad), (rank + other) % T::SPLIT);
                float* const s = sum_of_piece(piece) + quad * 4;
                s[0] += v.x, s[1] += v.y, s[2] += v.z, s[3] += v.w;
              }
      }
      if (T::NO_STORE) {
        if (acc[0][0] == 123.456f && acc[0][5] == 17.0f) store(place_of(group), 0.0f);
        continue;
      }
      if (g.beta == 0.0f)
        store(place_of(group), 0.0f);
      else
        store(place_of(group), g.beta);
    }
    if (T::BY_WARP ? lane == 0 : first_thread) tma_store_wait_read<0>();
  }
  if (CLUSTER > 1) { __syncwarp(); cluster_sync(); }
}

template <class AB, Major B_MAJOR, class T, int BAND>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = gemm_kernel<AB, B_MAJOR, T>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, T::A_ROWS, BK);
  const CUtensorMap b_map = B_MAJOR == Major::K ? make_tensor_map(g.b, g.n, g.k, g.ldb, T::BN / T::ALONG_M, BK)
                                                : make_tensor_map(g.b, g.k, g.n, g.ldb, BK / T::ALONG_M, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, T::BY_WARP ? 16 : MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, BAND, T::BM * T::ALONG_M, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES));
  const int groups = ceil_div(g.m, T::BM * T::ALONG_M) * ceil_div(g.n, T::ALONG_N * T::BN);
  const int grid = T::CLUSTER * (T::SPLIT > 1 ? groups : std::min(groups, resident_clusters(kernel, T::CLUSTER, THREADS, T::BYTES)));
  if (T::PACE > 0) {
    void* counter = nullptr;
    CUDA_CHECK(cudaGetSymbolAddress(&counter, paced));
    CUDA_CHECK(cudaMemsetAsync(counter, 0, 4, stream));
  }
  if (T::CLUSTER == 1 && T::PLACE == 0) {
    cudaLaunchAttribute attribute[1]{};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(grid), configuration.blockDim = dim3(THREADS), configuration.dynamicSmemBytes = T::BYTES, configuration.stream = stream;
    configuration.attrs = attribute, configuration.numAttrs = T::PDL;
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    CUDA_CHECK(cudaLaunchKernelEx(&configuration, kernel, a_map, b_map, c_map, g, band_rows));
    return;
  }
  if (T::PDL) {
    cudaLaunchAttribute attributes[2]{};
    auto configuration = cluster_configuration(attributes[0], std::max(T::CLUSTER, T::PLACE), grid, THREADS, T::BYTES, stream);
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    configuration.numAttrs = 2;
    CUDA_CHECK(cudaLaunchKernelEx(&configuration, kernel, a_map, b_map, c_map, g, band_rows));
    return;
  }
  launch_in_clusters(kernel, T::CLUSTER, grid, THREADS, T::BYTES, stream, a_map, b_map, c_map, g, band_rows);
}

template <class T, int BAND = 2048, Major B_MAJOR = Major::MN, class AB = __nv_bfloat16>
Variant variant(const char* name) {
  Variant v(name, launch<AB, B_MAJOR, T, BAND>);
  v.any_size(T::BM * T::ALONG_M, T::BN * T::ALONG_N, BK).columns_in(8).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

std::vector<Variant> variants() {
  return {
      variant<Tile<128, 256, 3, 4, 1, 1, 1, false, true>>("pdl"),
      variant<Tile<128, 256, 3, 4, 1, 1, 1, false, true, 0, 0, false, false, 0, true>>("bulk"),
      variant<Tile<128, 256, 3, 4, 1, 1, 1, false, true, 0, 0, false, false, 0, true, true>>("bulk_across"),
      variant<Tile<256, 192, 3, 2, 1, 1, 1, false, true>>("192"),
      variant<Tile<256, 192, 3, 3, 1, 1, 1, false, true, 0, 0, false, false, 0, true>>("192_bulk"),
      variant<Tile<256, 192, 3, 3, 1, 1, 1, false, true, 0, 0, false, false, 0, true, true>>("192_bulk_across"),
      variant<Tile<128, 64, 8, 1, 1, 1, 1, false, true, 0, 0, false, false, 0, true>>("64_bulk"),
      variant<Tile<128, 128, 6, 2, 1, 1, 1, false, true, 0, 0, false, false, 0, true>>("128_bulk"),
      variant<Tile<128, 128, 4, 2, 1, 1, 1, false, true, 0, 0, false, false, 0, true>>("128_bulk_4"),
      variant<Tile<128, 128, 6, 2, 1, 1, 2, false, true>>("k2_128"),
  };
}
