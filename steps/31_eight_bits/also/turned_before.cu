// Step 31, also: B row-major, turned by a kernel of its own before the product.
//
// The idea: wgmma of 8 bits takes B as N×K alone. Who has it as K×N pays for a read and a write of
// B beforehand, and memory of its size. A thread turns 4×4 bytes in registers: four words of four
// columns become four words of four k.
//
// Against kernel.cu: the turning; the product is that of its variant s8.

#include <algorithm>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"
#include "common/device/turned_bytes.h"

namespace {

using ProblemS8 = Gemm<int8_t, int, int>;

constexpr int SIDE = 128, THREADS = 256;                    // of the tile that a block turns
constexpr int WORDS = SIDE / 4, AT_ONCE = THREADS / WORDS;  // of a row of the tile; rows
constexpr int PITCH_TO = 16;                                // bytes, as TMA wants it

__host__ __device__ constexpr int pitch_of(int k) { return ceil_div(k, PITCH_TO) * PITCH_TO; }

/// Four bytes at p, of which `count` are there.
__device__ __forceinline__ uint32_t load_word(const int8_t* p, int count) {
  if (count >= 4) return *reinterpret_cast<const uint32_t*>(p);
  uint32_t word = 0;
  for (int i = 0; i < count; ++i)
    word |= static_cast<uint32_t>(static_cast<uint8_t>(p[i])) << 8 * i;
  return word;
}

/// turned[n][k] = b[k][n], rows of `pitch` bytes. Each block 128×128.
__global__ void __launch_bounds__(THREADS)
    turn_kernel(const int8_t* b, int ldb, int8_t* turned, int pitch, int k, int n) {
  __shared__ uint32_t tile[SIDE][WORDS + 1];  // [n][k / 4]; a word more: fewer bank conflicts
  const int first_k = blockIdx.x * SIDE, first_n = blockIdx.y * SIDE;
  const int word = threadIdx.x % WORDS, row = threadIdx.x / WORDS;
#pragma unroll
  for (int i = row; i < WORDS; i += AT_ONCE) {  // four rows of k, four columns of each
    uint32_t in[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int here_k = first_k + i * 4 + j, here_n = first_n + word * 4;
      in[j] =
          load_word(b + here_k * static_cast<int64_t>(ldb) + here_n, here_k < k ? n - here_n : 0);
    }
    uint32_t out[4];  // four k of each column
    turn_bytes(in, out);
#pragma unroll
    for (int j = 0; j < 4; ++j) tile[word * 4 + j][i] = out[j];
  }
  __syncthreads();  // the tile is complete
#pragma unroll
  for (int i = row; i < SIDE; i += AT_ONCE) {
    const int here_n = first_n + i, here_k = first_k + word * 4;
    if (here_n < n && here_k < pitch)
      *reinterpret_cast<uint32_t*>(turned + here_n * static_cast<int64_t>(pitch) + here_k) =
          tile[i][word];
  }
}

const Variant& product() {
  static const std::vector<Variant> all = all_variants();
  return *std::find_if(all.begin(), all.end(), [](const Variant& v) { return v.name == "s8"; });
}

void launch(const ProblemS8& g, const LaunchOptions& options, cudaStream_t stream) {
  const int pitch = pitch_of(g.k);
  turn_kernel<<<dim3(ceil_div(g.k, SIDE), ceil_div(g.n, SIDE)), THREADS, 0, stream>>>(
      g.b, g.ldb, static_cast<int8_t*>(options.workspace), pitch, g.k, g.n);
  CUDA_CHECK(cudaGetLastError());
  Problem turned{
      {g.m, g.n, g.k, g.a, g.lda, options.workspace, pitch, g.c, g.ldc, g.alpha, g.beta}};
  product().launch(turned, options, stream);
}

std::vector<Variant> variants() {
  constexpr int MOST_K = 131071;  // as kernel.cu
  Variant v("s8_nn", launch);
  v.any_size(256, 256, 128).columns_in(4).aligned_ld(16, 4, 4).flat_grid().in_bands();
  v.workspace(
      [](int, int n, int k) { return (static_cast<size_t>(n) * pitch_of(k) + 255) / 256 * 256; });
  v.on_tensor_cores().k_up_to(MOST_K).note("B as K×N, turned by a kernel before");
  v.most_block_cols = Variant::MOST_ON_Y * SIDE / v.block_n;  // blocks that turn B: y is along n
  return {v};
}

const Also added(variants);

}  // namespace
