// Step 17: slices of K wait in a ring of stages, and blocks walk C in bands.
//
// The idea: with two buffers, the copies of a slice have the time of one slice's products to land.
// A ring of STAGES buffers gives them the time of STAGES - 1. Blocks walk C in bands of rows, so
// that those that run together read the same rows of A and columns of B, which the L2 cache then
// holds (--swizzle-stride sets the height of a band).
//
// Against step 16: the ring of stages in place of two buffers, and bands. The block tile grows to
// 256×256, so that a byte from L2 serves 128 FLOP, where step 16's served 85; and the element types
// are parameters of the kernel.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem, _mma4x2_warp4x4_stages_dsmem and
// _mma4x4_warp4x4_stages_dsmem (LeetCUDA).

#include <algorithm>

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

constexpr int MMA = 16;             // rows, columns and depth of one product
constexpr int CHUNK = 8;            // elements that a copy moves: 16 bytes
constexpr int PAD = CHUNK;          // elements added to the rows of As and Bs
constexpr int DEFAULT_BAND = 1024;  // rows of C in a band

/// Block tile and warp tile. STAGES: slices in shared memory.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_;
  static constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;  // elements from row to row
  static constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // elements
  static constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out
  static constexpr int BLOCKS = BN == 256 ? 1 : 2;                 // that an SM shall hold
};

/// Shared memory of a block: the ring, or where it is more, what the sums take on their way out.
template <class T, typename AB, typename Acc>
constexpr int smem_bytes =
    std::max<int>(T::STAGES * T::SLICE * sizeof(AB), T::STAGED * sizeof(Acc));

/// Starts the copies of a tile of ROWS×COLS elements into shared memory, by all THREADS of the
/// block.
template <int ROWS, int COLS, int THREADS, typename AB>
__device__ __forceinline__ void copy_tile(AB* shared, int pitch, const AB* global, int ld) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  AB* to = shared + row * pitch + col;
  const AB* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP) cp_async_16(to + i * pitch, from + i * ld);
}

template <class T, typename AB, typename Acc>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, MMAS_M = T::MMAS_M, MMAS_N = T::MMAS_N;
  using Fragment = Fragments<MMA, MMA, AB, Acc>;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM, warp_col = warp % T::WARPS_N * T::WN;

  const AB* a = g.a + block_row * g.lda;
  const AB* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // The ring: As[BM][A_PITCH] and Bs[BK][B_PITCH], STAGES times.
  AB* const shared = reinterpret_cast<AB*>(smem);

  typename Fragment::A a_frag[MMAS_M];         // (WM, 16)
  typename Fragment::B b_frag;                 // (16, 16)
  typename Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], static_cast<Acc>(0.0f));

  int left = g.k;                           // of K, not on its way yet
  const auto copy_slice = [&](int stage) {  // start the next slice's copies
    AB* const As = shared + stage;
    AB* const Bs = As + T::A_SIZE;
    if (left > 0) {
      copy_tile<BM, BK, T::THREADS>(As, T::A_PITCH, a, g.lda);
      copy_tile<BK, BN, T::THREADS>(Bs, T::B_PITCH, b, g.ldb);
      a += BK;
      b += BK * g.ldb;
      left -= BK;
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  };

#pragma unroll
  for (int stage = 0; stage < T::STAGES - 1; ++stage) copy_slice(stage * T::SLICE);

  int read = 0, write = (T::STAGES - 1) * T::SLICE;  // elements from the first stage
#pragma unroll 1
  for (int slices = g.k / BK; slices > 0; --slices) {
    cp_async_wait<T::STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy_slice(write);

    const AB* const As = shared + read + warp_row * T::A_PITCH;
    const AB* const Bs = shared + read + T::A_SIZE + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
        load_fragment(a_frag[i], As + i * MMA * T::A_PITCH + k, T::A_PITCH);
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        load_fragment(b_frag, Bs + k * T::B_PITCH + j * MMA, T::B_PITCH);
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    write = read;
    read = read == (T::STAGES - 1) * T::SLICE ? 0 : read + T::SLICE;
  }

  // Every group still open is an empty one, so no copy lands on sums on their way out.
  __syncthreads();  // everyone has read the last slice before these sums overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class T, typename AB, typename Acc>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int bytes = smem_bytes<T, AB, Acc>;
  const auto kernel = gemm_kernel<T, AB, Acc>;
  const int grid = g.m / T::BM * (g.n / T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, T::THREADS, bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <class T, typename AB = half, typename Acc = half>
Variant variant(const char* name) {
  return Variant(name, launch<T, AB, Acc>)
      .tile(T::BM, T::BN, T::BK)
      .shared_memory(smem_bytes<T, AB, Acc>)
      .aligned_ld(8, 8, 8)
      .flat_grid()
      .in_bands()
      .on_tensor_cores();
}

template <int STAGES>
using Warp2x4 = Tile<128, 128, 16, 32, 64, STAGES>;
template <int STAGES>
using Mma4x2Warp4x4 = Tile<256, 128, 16, 64, 64, STAGES>;
template <int STAGES>
using Mma4x4Warp4x4 = Tile<256, 256, 16, 64, 64, STAGES>;
using Square = Tile<128, 128, 64, 64, 64, 3>;  // sums in float take twice the registers
using Wide = Tile<128, 256, 32, 64, 64, 3>;

std::vector<Variant> variants() {
  const char* const published_2x4 = "LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem";
  const char* const published_4x2 = "LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem";
  const char* const published_4x4 = "LeetCUDA hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem";
  return {
      variant<Tile<256, 256, 64, 64, 128, 3>>("mma4x2_warp4x8")
          .note("256×256 by 8 warps of 64×128, slices of 64, 3 stages"),
      variant<Tile<256, 256, 64, 64, 128, 2>>("mma4x2_warp4x8_138kb").note("2 stages"),
      variant<Tile<256, 256, 32, 64, 128, 2>>("mma4x2_warp4x8_73kb").note("slices of 32, 2 stages"),
      variant<Square, half, float>("fp32_accumulate").note("128×128 by 4 warps of 64×64"),
      variant<Square, __nv_bfloat16, float>("bf16").note("BF16, FP32 accumulate"),
      variant<Wide, half, float>("fp32_80kb").note("128×256 by 8 warps of 64×64"),
      variant<Wide, __nv_bfloat16, float>("bf16_80kb").note("128×256 by 8 warps of 64×64"),
      variant<Warp2x4<2>>("warp2x4_stages2").covers(published_2x4),
      variant<Warp2x4<3>>("warp2x4_stages3").covers(published_2x4),
      variant<Warp2x4<4>>("warp2x4_stages4").covers(published_2x4),
      variant<Warp2x4<5>>("warp2x4_stages5").covers(published_2x4),
      variant<Mma4x2Warp4x4<2>>("mma4x2_warp4x4_stages2").covers(published_4x2),
      variant<Mma4x2Warp4x4<3>>("mma4x2_warp4x4_stages3").covers(published_4x2),
      variant<Mma4x2Warp4x4<4>>("mma4x2_warp4x4_stages4").covers(published_4x2),
      variant<Mma4x2Warp4x4<5>>("mma4x2_warp4x4_stages5").covers(published_4x2),
      variant<Mma4x4Warp4x4<2>>("mma4x4_warp4x4_stages2").covers(published_4x4),
      variant<Mma4x4Warp4x4<3>>("mma4x4_warp4x4_stages3").covers(published_4x4),
      variant<Mma4x4Warp4x4<4>>("mma4x4_warp4x4_stages4").covers(published_4x4),
      variant<Mma4x4Warp4x4<5>>("mma4x4_warp4x4_stages5").covers(published_4x4),
  };
}
