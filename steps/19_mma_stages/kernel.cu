// Step 19: slices of K wait in STAGES buffers; a block tile of 256×256 in dynamic shared memory;
// blocks walk in bands.
//
// The idea: a tensor core is fed from shared memory, shared memory from L2, L2 from DRAM, and each
// of the three has its own remedy. Latency: slices are on their way by cp.async while another is
// computed. Traffic from L2: a block tile of 256×256 is read at 128 FLOP a byte, one of 128×128
// at 64. Traffic from DRAM: neighbouring blocks compute a rectangle of C, not a strip
// (--swizzle-stride, the rectangle's height). Several stages of a large tile no longer fit into the
// 48 KB that a kernel may have statically: the memory is asked for at the launch.
//
// Against step 18: cp.async and stages, one barrier a slice of 64 k, warp tiles of 64×128, B's
// fragments by fours (x4), TN. Rows are padded as before; copies of A are dealt to the lanes so
// that they have no conflicts either.
//
// Source: LeetCUDA's hgemm_mma_m16n8k16_mma2x4_warp4x4_stages (…_dsmem, …_dsmem_tn); the A100
// notes' k06_mma.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/mma_accumulators.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // of one instruction
constexpr int CHUNK = 8;    // elements in 16 bytes: a copy, and a row of an ldmatrix
constexpr int PAD = CHUNK;  // added to every row: pitches are 16 bytes times an odd number
constexpr int DEFAULT_BAND =
    2048;  // rows of C that neighbouring blocks stay within, for the L2 cache

/// A tile as it lies in shared memory, and who copies it: ROWS rows of COLS elements, chunk by
/// chunk.
template <int ROWS, int COLS, int THREADS>
struct SharedTile {
  static constexpr int PITCH = COLS + PAD,
                       ELEMENTS = ROWS * PITCH;  // elements from a row to the next; of the tile
  static constexpr int CHUNKS = COLS / CHUNK, ROWS_AT_ONCE = THREADS / CHUNKS,
                       COPIES = ROWS / ROWS_AT_ONCE;
  static_assert(COPIES * ROWS_AT_ONCE == ROWS && PITCH / CHUNK % 2 == 1,
                "whole copies, an odd pitch");

  /// Row of a thread's first copy. Eight lanes write 128 bytes at a time: where that is several
  /// rows, they lie CHUNKS apart, and their chunks, at row * (CHUNKS + 1) + 0, 1, … (mod 8), in
  /// different banks.
  static __device__ int row(int thread) {
    constexpr int TOGETHER = CHUNKS < 8 ? 8 / CHUNKS : 1;
    const int row = thread / CHUNKS;
    return row / 8 * 8 + row % TOGETHER * (8 / TOGETHER) + row % 8 / TOGETHER;
  }
  static __device__ int col(int thread) { return thread % CHUNKS * CHUNK; }
};

/// Tile sizes and what follows from them. BLOCKS: blocks that an SM shall hold at once. TN: B is
/// stored N×K.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_, int BLOCKS_, bool TN_ = false>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_;              // block tile
  static constexpr int WM = WM_, WN = WN_;                        // warp tile
  static constexpr int MMAS_M = WM / MMA_M, MMAS_N = WN / MMA_N;  // instructions that cover it
  static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr bool TN = TN_;
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  using A = SharedTile<BM, BK, THREADS>;                      // [row][k]
  using B = SharedTile<TN ? BN : BK, TN ? BK : BN, THREADS>;  // TN: [col][k], else [k][col]
  static constexpr int STAGE_BYTES = (A::ELEMENTS + B::ELEMENTS) * 2,
                       SMEM_BYTES = STAGES * STAGE_BYTES;
  static_assert(BM % WM == 0 && BN % WN == 0 && BK % MMA_K == 0 && WM % MMA_M == 0 && WN % 16 == 0,
                "whole tiles");
};

/// STATIC: shared memory declared in the kernel, at most 48 KB.
template <class T, class AB, class Acc, bool STATIC>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, AB> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, STAGES = T::STAGES;
  const int2 tile = tile_in_bands(blockIdx.x, g.m / BM, g.n / BN, band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / T::WARPS_N * T::WM,
            warp_col = warp % T::WARPS_N * T::WN;  // in the block tile

  const int a_row = T::A::row(threadIdx.x), a_col = T::A::col(threadIdx.x);
  const int b_row = T::B::row(threadIdx.x), b_col = T::B::col(threadIdx.x);
  const AB* a = g.a + static_cast<size_t>(block_row + a_row) * g.lda + a_col;
  const AB* b = g.b + static_cast<size_t>(T::TN ? block_col + b_row : b_row) * g.ldb +
                (T::TN ? 0 : block_col) + b_col;

  extern __shared__ __align__(16) unsigned char dynamic_bytes[];
  __shared__ __align__(16) unsigned char static_bytes[STATIC ? T::SMEM_BYTES : 16];
  unsigned char* const shared = STATIC ? static_bytes : dynamic_bytes;  // STAGES x (As, Bs)
  AB* const As = reinterpret_cast<AB*>(shared);
  AB* const Bs = As + T::A::ELEMENTS;
  AB* const As_copy = As + a_row * T::A::PITCH + a_col;
  AB* const Bs_copy = Bs + b_row * T::B::PITCH + b_col;
  // ldmatrix.x4, matrices 0 … 3: of A, rows 0–7 and 8–15 of k 0–7, then of k 8–15; of B, k 0–7 and
  // 8–15 of columns 0–7, then of columns 8–15. NN: B lies row-major in k and is transposed on the
  // way; TN: it is not.
  const uint32_t a_addr =
      shared_address(As + (warp_row + lane % 16) * T::A::PITCH + lane / 16 * CHUNK);
  const uint32_t b_addr = shared_address(
      T::TN ? Bs + (warp_col + lane / 16 * 8 + lane % 8) * T::B::PITCH + lane / 8 % 2 * CHUNK
            : Bs + lane % 16 * T::B::PITCH + warp_col + lane / 16 * CHUNK);

  uint32_t a_frag[T::MMAS_M][4], b_frag[T::MMAS_N / 2][4];
  MmaAccumulators<Acc> acc[T::MMAS_M][T::MMAS_N] = {};

  const auto copy_a = [&](int stage) {  // stage: elements from the first
#pragma unroll
    for (int i = 0; i < T::A::COPIES; ++i)
      cp_async_16(As_copy + stage + i * T::A::ROWS_AT_ONCE * T::A::PITCH,
                  a + i * T::A::ROWS_AT_ONCE * g.lda);
    a += BK;
  };
  const auto copy_b = [&](int stage) {
#pragma unroll
    for (int i = 0; i < T::B::COPIES; ++i)
      cp_async_16(Bs_copy + stage + i * T::B::ROWS_AT_ONCE * T::B::PITCH,
                  b + i * T::B::ROWS_AT_ONCE * g.ldb);
    b += T::TN ? BK : static_cast<size_t>(BK) * g.ldb;
  };

  constexpr int STAGE = T::STAGE_BYTES / 2, LAST_STAGE = (STAGES - 1) * STAGE;  // elements
  const int slices = g.k / BK;
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage < slices) {
      copy_a(stage * STAGE);
      copy_b(stage * STAGE);
    }
    cp_async_commit();  // an empty group where there is no slice: the waits below count groups
  }

  int read = 0, write = LAST_STAGE;  // elements from the first stage
#pragma unroll 1
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    if (slice + STAGES - 1 < slices) {
      copy_a(write);
      copy_b(write);
    }
    cp_async_commit();
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K) {
#pragma unroll
      for (int i = 0; i < T::MMAS_M; ++i)
        ldmatrix_x4(a_frag[i], a_addr + (read + i * MMA_M * T::A::PITCH + k) * 2);
#pragma unroll
      for (int j = 0; j < T::MMAS_N / 2; ++j)
        if (T::TN)
          ldmatrix_x4(b_frag[j], b_addr + (read + j * 2 * MMA_N * T::B::PITCH + k) * 2);
        else
          ldmatrix_x4_trans(b_frag[j], b_addr + (read + k * T::B::PITCH + j * 2 * MMA_N) * 2);
#pragma unroll
      for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
        for (int j = 0; j < T::MMAS_N; ++j)
          mma_m16n8k16<AB>(acc[i][j], a_frag[i], b_frag[j / 2] + j % 2 * 2);
    }
    write = read;
    read = read == LAST_STAGE ? 0 : read + STAGE;
  }

  const int row = block_row + warp_row + lane / 4, col = block_col + warp_col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::MMAS_M; ++i)
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      AB* c = g.c + static_cast<size_t>(row + i * MMA_M + below * 8) * g.ldc + col;
#pragma unroll
      for (int j = 0; j < T::MMAS_N; ++j)
        store_scaled_pair(c + j * MMA_N, g.alpha, sums(acc[i][j], below), g.beta);
    }
}

template <class T, class AB, class Acc, bool STATIC = false>
void launch(const Gemm<AB, Acc, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = STATIC ? 0 : T::SMEM_BYTES;
  const auto kernel = gemm_kernel<T, AB, Acc, STATIC>;
  const int grid = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<grid, T::THREADS, smem_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

template <int STAGES, bool TN = false>
using Large =
    Tile<256, 256, 64, 64, 128, STAGES, 1, TN>;  // 4×2 warps of 4×16 instructions, one block an SM
template <int STAGES>
using Wide =
    Tile<128, 256, 32, 64, 64, STAGES, 2>;  // 2×4 warps of 4×8; two blocks an SM up to 4 stages
template <int STAGES, bool TN = false>
using Warp4x4 = Tile<128, 128, 16, 64, 32, STAGES, 2, TN>;  // 2×4 warps of 4×4, as published
template <int STAGES, bool TN = false>
using FourWarps =
    Tile<128, 128, 32, 64, 64, STAGES, 2, TN>;  // 2×2 warps of 4×8: 128 FP32 sums a thread

/// A variant of tile T, its limits taken from there.
template <class T, class AB = half, class Acc = half, bool STATIC = false>
Variant variant(const char* name) {
  Variant v(name, launch<T, AB, Acc, STATIC>);
  return (T::TN ? v.tn() : v)
      .tile(T::BM, T::BN, T::BK)
      .aligned_ld(CHUNK, CHUNK, 2)
      .on_tensor_cores();
}

std::vector<Variant> variants() {
  const char* const in_static = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages";
  const char* const dynamic = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem";
  const char* const dynamic_tn = "LeetCUDA hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn";
  return {
      variant<Large<3>>("large_stages3").note("block 256×256×64, 207 KB"),
      variant<Large<2>>("large_stages2"),
      variant<Large<3, true>>("tn"),
      variant<FourWarps<4>, half, float>("fp32_accumulate").note("block 128×128×32, four warps"),
      variant<FourWarps<4>, __nv_bfloat16, float>("bf16").note("block 128×128×32, four warps"),
      variant<FourWarps<4, true>, half, float>("tn_fp32_accumulate"),
      variant<Wide<2>>("wide_stages2").note("block 128×256×32"),
      variant<Wide<3>>("wide_stages3"),
      variant<Wide<4>>("wide_stages4"),
      variant<Wide<5>>("wide_stages5").note("one block an SM"),
      variant<Warp4x4<2>>("warp4x4_stages2").covers(dynamic),
      variant<Warp4x4<3>>("warp4x4_stages3").covers(dynamic),
      variant<Warp4x4<4>>("warp4x4_stages4").covers(dynamic),
      variant<Warp4x4<5>>("warp4x4_stages5").covers(dynamic),
      variant<Warp4x4<2>, half, half, true>("warp4x4_static_stages2").covers(in_static),
      variant<Warp4x4<3>, half, half, true>("warp4x4_static_stages3").covers(in_static),
      variant<Warp4x4<4>, half, half, true>("warp4x4_static_stages4")
          .covers(in_static)
          .note("41 KB; five do not fit"),
      variant<Warp4x4<2, true>>("warp4x4_tn_stages2").covers(dynamic_tn),
      variant<Warp4x4<3, true>>("warp4x4_tn_stages3").covers(dynamic_tn),
      variant<Warp4x4<4, true>>("warp4x4_tn_stages4").covers(dynamic_tn),
      variant<Warp4x4<5, true>>("warp4x4_tn_stages5").covers(dynamic_tn),
      variant<FourWarps<2>, half, float>("k06").covers("A100 notes k06_mma"),
  };
}
