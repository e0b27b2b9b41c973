// Step 17: 2 to 5 slices in flight, blocks in bands, any size, and TF32: WMMA as far as it goes.
//
// The idea: with two buffers a slice has one slice's products of time to arrive. STAGES buffers in
// a ring give it STAGES - 1, and blocks that walk C in bands find what they read in the L2 cache.
// Copies outside the matrices fill zeros (cp.async reads fewer bytes than it writes), so that one
// kernel serves every size: rows of A below the last are the last again, and their sums are not
// stored.
//
// Against step 16: the ring of stages, bands, zero fill, element types; slices wait in static
// shared memory where asked.
//
// Source: hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages, _mma4x2_warp4x4_stages,
// _mma4x4_warp4x4_stages (LeetCUDA), and for TF32 its sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages.

#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/leave_out.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"
#include "common/harness/round_tf32.h"

constexpr int MMA = 16;  // rows and columns of one product
constexpr int DEFAULT_BAND =
    1024;  // rows of C that neighbouring blocks stay within, for the L2 cache

/// Block tile, warp tile, slices in shared memory. BLOCKS: on an SM.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_, int BLOCKS_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_,
                       BLOCKS = BLOCKS_;
  static constexpr int TM = WM / MMA, TN = WN / MMA;  // products of a warp at each step of k
  static constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
  static constexpr bool IS_STATIC =
      false;  // in dynamic shared memory, which may be more than 48 KB
};
template <class T>
struct Static : T {
  static constexpr bool IS_STATIC = true;
};

/// What follows from the tile and the elements' type: how it lies in shared memory, and who copies
/// what.
template <class T, typename AB, typename Acc>
struct Layout {
  static constexpr int CHUNK = 16 / sizeof(AB);  // elements a copy moves
  // Pads: ldmatrix of 16-bit rows wants an odd number of 16 bytes, single TF32 of A 4 and of B 8
  // banks from row to row.
  static constexpr int A_PITCH = T::BK + CHUNK, B_PITCH = T::BN + 8;
  static constexpr int A_ELEMENTS = T::BM * A_PITCH, STAGE = A_ELEMENTS + T::BK * B_PITCH;
  static constexpr int A_CHUNKS = T::BK / CHUNK, A_ROWS = T::THREADS / A_CHUNKS,
                       A_COPIES = T::BM / A_ROWS;
  static constexpr int B_CHUNKS = T::BN / CHUNK, B_ROWS = T::THREADS / B_CHUNKS,
                       B_COPIES = T::BK / B_ROWS;
  static_assert(A_COPIES * A_ROWS == T::BM && B_COPIES * B_ROWS == T::BK,
                "every thread copies as much");
  static constexpr int STAGED = staged_elements<MMA, T::WN>;  // sums of a warp on their way out
  static constexpr int SLICES_BYTES = T::STAGES * STAGE * static_cast<int>(sizeof(AB));
  static constexpr int STAGED_BYTES = T::WARPS * STAGED * static_cast<int>(sizeof(Acc));
  static constexpr int SMEM_BYTES = SLICES_BYTES > STAGED_BYTES ? SLICES_BYTES : STAGED_BYTES;
};

template <class T, int BYTES>
__device__ __forceinline__ void* shared_memory() {
  if constexpr (T::IS_STATIC) {
    __shared__ __align__(128) unsigned char fixed[BYTES];
    return fixed;
  } else {
    extern __shared__ __align__(128) unsigned char dynamic[];
    return dynamic;
  }
}

/// ROUND: TF32 elements are rounded here, fragment by fragment.
template <class T, typename AB, typename Acc, typename Out, bool ROUND, unsigned SKIP>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    gemm_kernel(Gemm<AB, Acc, Out> g, int band_rows) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, STAGES = T::STAGES;
  using L = Layout<T, AB, Acc>;
  using Fragment = Fragments<MMA, MMA, AB, Acc>;
  const int2 tile = tile_in_bands(blockIdx.x, ceil_div(g.m, BM), ceil_div(g.n, BN), band_rows);
  const int block_row = tile.x * BM, block_col = tile.y * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / T::WARPS_N * T::WM,
            warp_col = warp % T::WARPS_N * T::WN;  // in the block tile
  const int a_row = threadIdx.x / L::A_CHUNKS, a_col = threadIdx.x % L::A_CHUNKS * L::CHUNK;
  const int b_row = threadIdx.x / L::B_CHUNKS, b_col = threadIdx.x % L::B_CHUNKS * L::CHUNK;

  const auto inside = [](int left) {
    return min(max(left, 0), L::CHUNK) * static_cast<int>(sizeof(AB));
  };  // bytes
  const AB* a[L::A_COPIES];
#pragma unroll
  for (int i = 0; i < L::A_COPIES; ++i)
    a[i] =
        g.a + static_cast<size_t>(min(block_row + a_row + i * L::A_ROWS, g.m - 1)) * g.lda + a_col;
  const int b_bytes = inside(g.n - block_col - b_col);  // of this thread's chunk of a row
  const AB* b = g.b + static_cast<size_t>(b_row) * g.ldb + (b_bytes > 0 ? block_col + b_col : 0);

  AB* const shared =
      static_cast<AB*>(shared_memory<T, L::SMEM_BYTES>());  // STAGES x (As[BM][], Bs[BK][])
  const AB* const As_read = shared + warp_row * L::A_PITCH;
  const AB* const Bs_read = shared + L::A_ELEMENTS + warp_col;

  typename Fragment::A a_frag[TM];
  typename Fragment::B b_frag;
  typename Fragment::Sum acc[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::fill_fragment(acc[i][j], static_cast<Acc>(0.0f));

  int left = g.k;  // of K, not on its way yet
  const bool whole_tile = block_row + BM <= g.m && block_col + BN <= g.n;
  const auto copy_16 = [](AB* to, const AB* from, bool whole, int bytes) {
    if (whole) return cp_async_16(to, from);
    cp_async_16(to, from, bytes);  // a size known only at run time costs six instructions
  };
  const auto copy_parts = [&](int stage,
                              bool whole) {  // whole: no row, column or k of the slice lies outside
    AB* const As = shared + stage + a_row * L::A_PITCH + a_col;
    AB* const Bs = shared + stage + L::A_ELEMENTS + b_row * L::B_PITCH + b_col;
    const int a_bytes = inside(left - a_col);
#pragma unroll
    for (int i = 0; i < L::A_COPIES && !(SKIP & SKIP_COPY_A); ++i)
      copy_16(As + i * L::A_ROWS * L::A_PITCH, a[i], whole, a_bytes);
#pragma unroll
    for (int i = 0; i < L::B_COPIES && !(SKIP & SKIP_COPY_B); ++i)
      copy_16(Bs + i * L::B_ROWS * L::B_PITCH, b + static_cast<size_t>(i * L::B_ROWS) * g.ldb,
              whole, b_row + i * L::B_ROWS < left ? b_bytes : 0);
  };
  const auto copy_slice =
      [&](int stage) {  // start the next slice's copies: a group, if only an empty one
        if (whole_tile && left >= BK) {
          copy_parts(stage, true);
        } else if (left > 0) {
          copy_parts(stage, false);
        }
        cp_async_commit();
#pragma unroll
        for (int i = 0; i < L::A_COPIES; ++i) a[i] += BK;
        b += static_cast<size_t>(BK) * g.ldb;
        left -= BK;
      };
  const auto multiply = [&](int stage) {
#pragma unroll
    for (int k = 0; k < BK; k += Fragment::K) {
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        load_fragment(a_frag[i], As_read + stage + i * MMA * L::A_PITCH + k, L::A_PITCH);
        if constexpr (ROUND) round_to_tf32(a_frag[i]);
      }
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        load_fragment(b_frag, Bs_read + stage + k * L::B_PITCH + j * MMA, L::B_PITCH);
        if constexpr (ROUND) round_to_tf32(b_frag);
#pragma unroll
        for (int i = 0; i < TM; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_slice(stage * L::STAGE);

  int read = 0, write = (STAGES - 1) * L::STAGE;  // elements from the first stage
  const int slices = ceil_div(g.k, BK);
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait<STAGES - 2>();  // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's, and everyone has read the stage that is filled next
    copy_slice(write);
    if constexpr (!(SKIP & SKIP_LOAD_AND_MMA)) multiply(read);
    write = read;
    read = read == (STAGES - 1) * L::STAGE ? 0 : read + L::STAGE;
  }

  // A kernel without its store would compute nothing at all; no launch has m = 0, but the compiler
  // does not know.
  if ((SKIP & SKIP_STORE_C) && g.m > 0) return;
  cp_async_wait<0>();  // no copy may land on sums on their way out
  __syncthreads();     // nor may sums of one warp overwrite a slice that another still reads
  const int row = block_row + warp_row, col = block_col + warp_col;
  store_warp_tile<MMA, MMA>(acc, reinterpret_cast<Acc*>(shared) + warp * L::STAGED,
                            g.c + static_cast<size_t>(row) * g.ldc + col, g.ldc, g.m - row,
                            g.n - col, g.alpha, g.beta);
}

template <class T, bool ROUND, unsigned SKIP, typename AB, typename Acc, typename Out>
void launch(const Gemm<AB, Acc, Out>& g, const LaunchOptions& options, cudaStream_t stream) {
  constexpr int smem_bytes = Layout<T, AB, Acc>::SMEM_BYTES,
                dynamic_bytes = T::IS_STATIC ? 0 : smem_bytes;
  const auto kernel = gemm_kernel<T, AB, Acc, Out, ROUND, SKIP>;
  const int grid = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  kernel<<<grid, T::THREADS, dynamic_bytes, stream>>>(g, band_rows);
  CUDA_CHECK(cudaGetLastError());
}

/// As published for TF32: A and B are rounded by launches of their own, which read and write them
/// once more.
template <class T>
void launch_separate_pass(const Gemm<tf32_t, float, float>& g, const LaunchOptions& options,
                          cudaStream_t stream) {
  static DeviceBuffer a, b;
  Gemm<tf32_t, float, float> of_rounded = g;
  of_rounded.a = rounded(a, g.a, g.m, g.k, g.lda, stream);
  of_rounded.b = rounded(b, g.b, g.k, g.n, g.ldb, stream);
  launch<T, false, 0>(of_rounded, options, stream);
}

template <class T, typename AB = half, typename Acc = half, typename Out = half, unsigned SKIP = 0>
Variant variant(const std::string& name,
                Variant::Launcher<AB, Acc, Out> launcher =
                    launch<T, type_of<AB> == DType::tf32, SKIP, AB, Acc, Out>) {
  return Variant(name, launcher)
      .any_size(T::BM, T::BN, T::BK)
      .aligned_ld(8, 8, 8)
      .on_tensor_cores();
}

/// A published tile at several numbers of stages.
template <template <int> class Tiles, typename AB, typename Acc, typename Out, int... STAGES>
void add(std::vector<Variant>& all, const char* name, const char* published) {
  (all.push_back(
       variant<Tiles<STAGES>, AB, Acc, Out>(name + std::to_string(STAGES)).covers(published)),
   ...);
}
template <int STAGES>
using Warp2x4 = Tile<128, 128, 16, 32, 64, STAGES, 2>;
template <int STAGES>
using Warp2x4Static = Static<Warp2x4<STAGES>>;
template <int STAGES>
using Mma4x2Warp4x4 = Tile<256, 128, 16, 64, 64, STAGES, 2>;
template <int STAGES>
using Mma4x4Warp4x4 = Tile<256, 256, 16, 64, 64, STAGES, 1>;
template <int STAGES>
using Tf32Warp2x4 = Tile<128, 128, 8, 32, 64, STAGES, 2>;
using Best = Tile<256, 256, 64, 64, 128, 3, 1>;
using BestFloat = Tile<128, 128, 64, 64, 64, 3, 2>;  // sums in float take twice the registers
using BestTf32 = Tile<128, 128, 32, 64, 64, 3, 2>;

template <unsigned SKIP>
Variant without(const char* part, const char* name) {
  return variant<Best, half, half, half, SKIP>(name).leaves_out(part);
}

std::vector<Variant> variants() {
  std::vector<Variant> all{
      variant<Best>("mma4x2_warp4x8").note("256×256 by 8 warps of 64×128, slices of 64, 3 stages"),
      variant<BestFloat, half, float>("fp32_accumulate").note("128×128 by 4 warps of 64×64"),
      variant<BestFloat, __nv_bfloat16, float, __nv_bfloat16>("bf16").note("BF16, FP32 accumulate"),
      variant<BestTf32, tf32_t, float, float>("tf32").note("TF32, slices of 32, 3 stages"),
      variant<BestTf32, tf32_t, float, float>("tf32_separate_pass", launch_separate_pass<BestTf32>)
          .note("A and B rounded by a pass of their own, which is timed")
          .covers("LeetCUDA sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages"),
  };
  add<Warp2x4, half, half, half, 2, 3, 4, 5>(
      all, "warp2x4_stages", "LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem");
  add<Warp2x4Static, half, half, half, 2, 3, 4>(
      all, "warp2x4_static_stages", "LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages");
  add<Mma4x2Warp4x4, half, half, half, 2, 3, 4, 5>(
      all, "mma4x2_warp4x4_stages", "LeetCUDA hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem");
  add<Mma4x4Warp4x4, half, half, half, 2, 3, 4, 5>(
      all, "mma4x4_warp4x4_stages", "LeetCUDA hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem");
  add<Tf32Warp2x4, tf32_t, float, float, 2, 3, 4, 5>(
      all, "tf32_warp2x4_stages", "LeetCUDA sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages_dsmem");
  all.push_back(without<SKIP_COPY_A>("the copy of A", "no_copy_a"));
  all.push_back(without<SKIP_COPY_B>("the copy of B", "no_copy_b"));
  all.push_back(without<SKIP_COPY_A | SKIP_COPY_B>("both copies", "no_copies"));
  all.push_back(
      without<SKIP_LOAD_AND_MMA>("the fragments' loads and the products", "no_load_and_mma"));
  all.push_back(without<SKIP_STORE_C>("the store of C", "no_store"));
  return all;
}
