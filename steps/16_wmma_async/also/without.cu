// Step 16's kernel with one part of the work left out at a time, to see what that part costs.
//
// Against kernel.cu: nothing in the variant `complete`; the simulator counts the same for both. The
// other variants compute wrong results, so they are timed and never verified. What is left out no
// longer takes time, and neither does anything that had to wait for it: docs/bottlenecks tells how
// to read the times.
//
// Source: the A100 notes measured their k05 and k07 in this way.

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/wmma.h"

namespace {

constexpr int MMA = 16;                              // rows, columns and depth of one product
constexpr int CHUNK = 8;                             // halves that a copy moves: 16 bytes
constexpr int PAD = CHUNK;                           // halves added to the rows of As and Bs
constexpr int BM = 128, BN = 256, BK = 32;           // block tile
constexpr int WM = 64, WN = 64;                      // warp tile
constexpr int BLOCKS = 2;                            // that an SM shall hold
constexpr int MMAS_M = WM / MMA, MMAS_N = WN / MMA;  // products of a warp and 16 k
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = WARPS * 32;
constexpr int A_PITCH = BK + PAD, B_PITCH = BN + PAD;                // halves from row to row
constexpr int A_SIZE = BM * A_PITCH, SLICE = A_SIZE + BK * B_PITCH;  // halves
constexpr int STAGED = WARPS * staged_elements<MMA, WN>;             // sums on their way out
constexpr int SMEM_BYTES = std::max<int>(2 * SLICE * sizeof(half), STAGED * sizeof(half));

/// The parts of the kernel; a variant has all but one or two of them.
struct Complete {
  static constexpr bool COPY_A = true, COPY_B = true;  // from global memory
  static constexpr bool COPY_CONFLICTS = true;         // A's copies write rows with a gap of PAD
  static constexpr bool LOAD_AND_MMA = true;           // the fragments' loads and the products
  static constexpr bool STORE_C = true;
};
struct NoCopyA : Complete {
  static constexpr bool COPY_A = false;
};
struct NoCopyB : Complete {
  static constexpr bool COPY_B = false;
};
struct NoCopies : Complete {
  static constexpr bool COPY_A = false, COPY_B = false;
};
struct NoCopyConflicts : Complete {
  static constexpr bool COPY_CONFLICTS = false;
};
struct NoLoadAndMma : Complete {
  static constexpr bool LOAD_AND_MMA = false;
};
struct NoStore : Complete {
  static constexpr bool STORE_C = false;
};

/// Starts the copies of a tile of ROWS×COLS halves into shared memory, by all threads of the block.
template <int ROWS, int COLS>
__device__ __forceinline__ void copy_tile(half* shared, int pitch, const half* global, int ld) {
  constexpr int LANES = COLS / CHUNK, STEP = THREADS / LANES;  // threads per row; rows at a time
  static_assert(ROWS % STEP == 0, "every thread copies as much");
  const int row = threadIdx.x / LANES, col = threadIdx.x % LANES * CHUNK;
  half* to = shared + row * pitch + col;
  const half* from = global + row * ld + col;
#pragma unroll
  for (int i = 0; i < ROWS; i += STEP) cp_async_16(to + i * pitch, from + i * ld);
}

template <class Parts>
__global__ void __launch_bounds__(THREADS, BLOCKS) gemm_kernel(Gemm<half> g) {
  using Fragment = Fragments<MMA, MMA, half, half>;
  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

  const half* a = g.a + block_row * g.lda;
  const half* b = g.b + block_col;

  extern __shared__ __align__(128) char smem[];
  // Two slices: As[BM][A_PITCH] and Bs[BK][B_PITCH], twice.
  half* const shared = reinterpret_cast<half*>(smem);

  Fragment::A a_frag[MMAS_M];         // (WM, 16)
  Fragment::B b_frag;                 // (16, 16)
  Fragment::Sum acc[MMAS_M][MMAS_N];  // (WM, WN)
#pragma unroll
  for (int i = 0; i < MMAS_M; ++i)
#pragma unroll
    for (int j = 0; j < MMAS_N; ++j) wmma::fill_fragment(acc[i][j], __float2half(0.0f));

  const auto copy_slice = [&](int buffer) {  // start the next slice's copies
    half* const As = shared + buffer;
    half* const Bs = As + A_SIZE;
    // Without the gaps, the rows that a copy writes follow each other: no conflict, and the wrong
    // places.
    constexpr int A_COPY_PITCH = Parts::COPY_CONFLICTS ? A_PITCH : BK;
    if constexpr (Parts::COPY_A) copy_tile<BM, BK>(As, A_COPY_PITCH, a, g.lda);
    if constexpr (Parts::COPY_B) copy_tile<BK, BN>(Bs, B_PITCH, b, g.ldb);
    a += BK;
    b += BK * g.ldb;
    cp_async_commit();
  };

  copy_slice(0);

  int read = 0, write = SLICE;  // halves from the first buffer
#pragma unroll 1
  for (int left = g.k - BK; left >= 0; left -= BK) {
    cp_async_wait<0>();  // this thread's copies of the slice have landed
    __syncthreads();     // so have everyone's, and everyone has read the buffer that is filled next
    if (left > 0) copy_slice(write);

    if constexpr (Parts::LOAD_AND_MMA) {
      const half* const As = shared + read + warp_row * A_PITCH;
      const half* const Bs = shared + read + A_SIZE + warp_col;
#pragma unroll
      for (int k = 0; k < BK; k += MMA) {
#pragma unroll
        for (int i = 0; i < MMAS_M; ++i)
          load_fragment(a_frag[i], As + i * MMA * A_PITCH + k, A_PITCH);
#pragma unroll
        for (int j = 0; j < MMAS_N; ++j) {
          load_fragment(b_frag, Bs + k * B_PITCH + j * MMA, B_PITCH);
#pragma unroll
          for (int i = 0; i < MMAS_M; ++i) wmma::mma_sync(acc[i][j], a_frag[i], b_frag, acc[i][j]);
        }
      }
    }
    write = read;
    read = SLICE - read;
  }

  // Without its store the kernel would have no result, and the compiler would remove all of it. No
  // launch has m = 0, but the compiler does not know that.
  if (!Parts::STORE_C && g.m > 0) return;
  __syncthreads();  // everyone has read the last slice before sums on their way out overwrite it
  store_warp_tile(acc, smem, g, block_row + warp_row, block_col + warp_col);
}

template <class Parts>
void launch(const Gemm<half>& g, const LaunchOptions&, cudaStream_t stream) {
  const auto kernel = gemm_kernel<Parts>;
  const dim3 grid(g.n / BN, g.m / BM);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
  kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

template <class Parts>
Variant variant(const char* name) {
  return Variant(name, launch<Parts>).tile(BM, BN, BK).aligned_ld(8, 8, 8).on_tensor_cores();
}

std::vector<Variant> variants() {
  return {
      variant<Complete>("complete").note("nothing left out: the default's counts"),
      variant<NoCopyA>("no_copy_a").leaves_out("the copy of A"),
      variant<NoCopyB>("no_copy_b").leaves_out("the copy of B"),
      variant<NoCopies>("no_copies").leaves_out("both copies"),
      variant<NoCopyConflicts>("no_store_conflicts").leaves_out("the conflicts of the copies of A"),
      variant<NoLoadAndMma>("no_load_and_mma").leaves_out("the fragments' loads and the products"),
      variant<NoStore>("no_store").leaves_out("the store of C"),
  };
}

const Also added(variants);

}  // namespace
