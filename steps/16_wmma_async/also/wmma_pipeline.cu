// The same idea in the C++ library's words: a cuda::pipeline of one thread orders the asynchronous
// copies.
//
// Against kernel.cu: cuda::memcpy_async for cp.async, producer_commit for the end of a group, and
// pipeline_consumer_wait_prior for the wait; nvcc makes the same three instructions of them. There
// are either two stages with slices of 32, or one stage with a slice of 64: the same shared memory
// and half the barriers, but no copy under way while the block multiplies. The sums are in FP32.
//
// Source: k05_wmma_pipeline of the A100 notes; CUDA C++ Programming Guide, "Asynchronous Data
// Copies using cuda::pipeline".

#include <algorithm>
#include <cuda/pipeline>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16;                              // rows, columns and depth of one product
constexpr int CHUNK = 8, CHUNK_BYTES = 16;           // what a copy moves, in halves and in bytes
constexpr int PAD = CHUNK;                           // halves added to the rows of As and Bs
constexpr int BM = 128, BN = 128;                    // block tile
constexpr int WM = 32, WN = 64;                      // warp tile
constexpr int BLOCKS = 2;                            // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int STAGED = WARPS * staged_elements<MMA, WN>;  // sums on their way out

/// STAGES slices of depth BK in shared memory.
template <int BK, int STAGES>
struct Ring {
  static constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;                // halves, row to row
  static constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
  static constexpr int BYTES = std::max<int>(STAGES * SLICE * sizeof(half), STAGED * sizeof(float));
};

using Pipeline = cuda::pipeline<cuda::thread_scope_thread>;

/// Hands the copies of a tile of ROWS×COLS halves to the pipeline, by all threads of the block.
template <int ROWS, int COLS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld,
                                          Pipeline& pipeline) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  half* to = shared + row * pitch + col;
  const half* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP)
    cuda::memcpy_async(to + i * pitch, from + i * ld,
                       cuda::aligned_size_t<CHUNK_BYTES>(CHUNK_BYTES), pipeline);
}

template <int BK, int STAGES>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half, float, half> g) {
  using R = Ring<BK, STAGES>;
  using Fragment = Fragments<MMA, MMA, half, float>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // The ring: As[BM][A_PITCH] and Bs[BK][B_PITCH], STAGES times.
  half* const shared = reinterpret_cast<half*>(smem);

  Fragment::A a_frag[MMAS_M];         // (WM, 16)
  Fragment::B b_frag;                 // (16, 16)
  Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], 0.0f);

  Pipeline pipeline = cuda::make_pipeline();
  const int slices = g.k / BK;
  const auto copy_slice =
      [&](int slice) {  // one group of copies, an empty one after the last slice
        pipeline.producer_acquire();
        if (slice < slices) {
          half* const As = shared + slice % STAGES * R::SLICE;
          half* const Bs = As + R::A_SIZE;
          copy_tile<BM, BK>(As, R::A_PITCH, a, g.lda, pipeline);
          copy_tile<BK, BN>(Bs, R::B_PITCH, b, g.ldb, pipeline);
          a += BK;
          b += BK * g.ldb;
        }
        pipeline.producer_commit();
      };

  for (int stage = 0; stage < STAGES - 1; ++stage) copy_slice(stage);

  for (int slice = 0; slice < slices; ++slice) {
    if (slice > 0) __syncthreads();  // everyone has read the stage that is filled now
    copy_slice(slice + STAGES - 1);
    // This thread's copies of the slice have landed …
    cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipeline);
    __syncthreads();  // … and so have everyone's

    const half* const As = shared + slice % STAGES * R::SLICE + warp_row * R::A_PITCH;
    const half* const Bs = shared + slice % STAGES * R::SLICE + R::A_SIZE + warp_col;
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
#pragma unroll
      for (int i = 0; i < MMAS_M; ++i)
        load_fragment(a_frag[i], As + i * MMA * R::A_PITCH + k, R::A_PITCH);
#pragma unroll
      for (int j = 0; j < MMAS_N; ++j) {
        load_fragment(b_frag, Bs + k * R::B_PITCH + j * MMA, R::B_PITCH);
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
      }
    }
    pipeline.consumer_release();
  }

  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <int BK, int STAGES>
void launch(const Gemm<half, float, half>& g, const LaunchOptions&, cudaStream_t stream) {
  constexpr int bytes = Ring<BK, STAGES>::BYTES;
  const auto kernel = gemm_kernel<BK, STAGES>;
  const dim3 grid(g.n / BN, g.m / BM);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, THREADS, bytes, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <int BK, int STAGES>
Variant variant(const char* name) {
  return Variant(name, launch<BK, STAGES>).tile(BM, BN, BK).aligned_ld(8, 8, 8).on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<32, 2>("pipeline_k32")
          .note("cuda::pipeline, FP32 accumulate, two stages of 32")
          .covers("A100 notes k05_wmma_pipeline"),
      variant<64, 1>("pipeline_k64")
          .note("cuda::pipeline, FP32 accumulate, one stage of 64")
          .covers("A100 notes k05_wmma_pipeline"),
  };
}

const Also added(variants);

}  // namespace
