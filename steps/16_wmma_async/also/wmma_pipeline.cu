// The same idea in the C++ library's words: a cuda::pipeline of one thread orders the asynchronous
// copies.
//
// What differs from kernel.cu: cuda::memcpy_async for cp.async, producer_commit for the group's
// end, and pipeline_consumer_wait_prior for the wait; nvcc makes the same three instructions of
// them. A slice of 32 in two stages, or one of 64 in one stage: the same shared memory, half the
// barriers, but no copy under way while the block multiplies.
//
// Source: k05_wmma_pipeline of the A100 notes; CUDA C++ Programming Guide, "Asynchronous Data
// Copies using cuda::pipeline".

#include <cuda/pipeline>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16, CHUNK = 8;  // rows, columns, depth of one product; halves of a copy
constexpr int BM = 128, BN = 128, WM = 32, WN = 64;  // block tile, warp tile
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int TM = WM / MMA, TN = WN / MMA,
              PAD = 8;  // products of a warp and 16 k; halves added to a row
constexpr int STAGED = staged_elements<MMA, WN>;  // sums of a warp on their way out

template <int BK, int STAGES>
struct Smem {
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD, A_HALVES = BM * A_PITCH;
  static constexpr int STAGE = A_HALVES + BK * B_PITCH;
  static constexpr int SLICES_BYTES = STAGES * STAGE * static_cast<int>(sizeof(half));
  static constexpr int STAGED_BYTES = THREADS / 32 * STAGED * static_cast<int>(sizeof(float));
  static constexpr int BYTES = SLICES_BYTES > STAGED_BYTES ? SLICES_BYTES : STAGED_BYTES;
};

/// Hands the copies of a tile of ROWS×COLS halves to the pipeline.
template <int ROWS, int COLS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld,
                                          cuda::pipeline<cuda::thread_scope_thread>& pipeline) {
  constexpr int A_ROW = COLS / CHUNK, ROWS_AT_ONCE = THREADS / A_ROW;  // copies
  const int row = threadIdx.x / A_ROW, col = threadIdx.x % A_ROW * CHUNK;
#pragma unroll
  for (int i = 0; i < ROWS; i += ROWS_AT_ONCE)
    cuda::memcpy_async(shared + (row + i) * pitch + col,
                       global + static_cast<size_t>(row + i) * ld + col,
                       cuda::aligned_size_t<16>(16), pipeline);
}

template <int BK, int STAGES>
__global__ void __launch_bounds__(THREADS, 2) gemm_kernel(Gemm<half, float, half> g) {
  using S = Smem<BK, STAGES>;
  using Fragment = Fragments<MMA, MMA, half, float>;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;  // in the block tile
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;

  const half* a = g.a + static_cast<size_t>(block_row) * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) half shared[];  // STAGES x (As[BM][A_PITCH], Bs[BK][B_PITCH])

  Fragment::A a_frag[TM];
  Fragment::B b_frag;
  Fragment::Sum acc[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) wmma::fill_fragment(acc[i][j], 0.0f);

  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  const int slices = g.k / BK;
  const auto produce = [&](int slice) {  // one group of copies, an empty one after the last slice
    pipeline.producer_acquire();
    if (slice < slices) {
      half* const As = shared + slice % STAGES * S::STAGE;
      copy_tile<BM, BK>(As, S::A_PITCH, a + slice * BK, g.lda, pipeline);
      copy_tile<BK, BN>(As + S::A_HALVES, S::B_PITCH, b + static_cast<size_t>(slice) * BK * g.ldb,
                        g.ldb, pipeline);
    }
    pipeline.producer_commit();
  };

  for (int stage = 0; stage < STAGES - 1; ++stage) produce(stage);
  for (int slice = 0; slice < slices; ++slice) {
    if (slice > 0) __syncthreads();  // everyone has read the stage that is filled now
    produce(slice + STAGES - 1);
    cuda::pipeline_consumer_wait_prior<STAGES - 1>(
        pipeline);    // this thread's copies of the slice have landed
    __syncthreads();  // so have everyone's

    const half* const As = shared + slice % STAGES * S::STAGE + warp_row * S::A_PITCH;
    const half* const Bs = shared + slice % STAGES * S::STAGE + S::A_HALVES + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
        load_fragment(a_frag[i], As + i * MMA * S::A_PITCH + k, S::A_PITCH);
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        load_fragment(b_frag, Bs + k * S::B_PITCH + j * MMA, S::B_PITCH);
#pragma unroll
        for (int i = 0; i < TM; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    pipeline.consumer_release();
  }

  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  const int row = block_row + warp_row, col = block_col + warp_col;
  store_warp_tile<MMA, MMA>(acc, reinterpret_cast<float*>(shared) + warp * STAGED,
                            g.c + static_cast<size_t>(row) * g.ldc + col, g.ldc, WM, WN, g.alpha,
                            g.beta);
}

template <int BK, int STAGES>
void launch(const Gemm<half, float, half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int smem_bytes = Smem<BK, STAGES>::BYTES;
  const auto kernel = gemm_kernel<BK, STAGES>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  kernel<<<dim3(ceil_div(g.n, BN), ceil_div(g.m, BM)), THREADS, smem_bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  const auto add = [](const char* name, int bk, auto launcher) {
    return Variant(name, launcher).tile(BM, BN, bk).aligned_ld(8, 8, 8).on_tensor_cores();
  };
  return {
      add("pipeline_k32", 32, launch<32, 2>)
          .note("cuda::pipeline, FP32 accumulate, two stages of 32")
          .covers("A100 notes k05_wmma_pipeline"),
      add("pipeline_k64", 64, launch<64, 1>)
          .note("cuda::pipeline, FP32 accumulate, one stage of 64")
          .covers("A100 notes k05_wmma_pipeline"),
  };
}

const Also added(variants);

}  // namespace
