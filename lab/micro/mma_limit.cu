// How fast are mma.sync and FMA themselves? Loops of one kind of instruction, operands and sums in registers.
//
// Random data, since zeros and ones take less power and so a higher clock. Each sum gets a product and then the same
// product with its sign turned, so that nothing overflows however long it runs.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <memory>

#include "common/device/check.h"
#include "common/device/ptx/mma.h"
#include "common/device/tiles.h"
#include "common/harness/matrix.h"
#include "lab/micro/limits.h"

namespace {

constexpr int THREADS = 256;  // eight warps, two on each quarter of an SM: either hides the other's latency
constexpr int MMA_M_TILES = 4, MMA_N_TILES = 8;  // a warp's tile of sums in 16×8 pieces, as in step 20
constexpr int MMA_ROUNDS = 4000, FMA_ROUNDS = 8000;
constexpr int DATA_WORDS = 1 << 16;

/// The next 32-bit word of a thread's data; neighbours read neighbouring words.
__device__ uint32_t next_word(const uint32_t* data, int& at) {
  const uint32_t word = data[at % DATA_WORDS];
  at += THREADS;
  return word;
}

// mma.sync.m16n8k16; for tf32_t m16n8k8
template <typename AB, typename Acc>
__device__ void multiply(Acc& acc, const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (type_of<AB> == DType::tf32)
    mma_m16n8k8_tf32(acc, a, b);
  else
    mma_m16n8k16<AB>(acc, a, b);
}
__device__ void multiply_add(float& sum, float a, float b) { sum = __fmaf_rn(a, b, sum); }
__device__ void multiply_add(half2& sum, half2 a, half2 b) { sum = __hfma2(a, b, sum); }

__device__ uint32_t bits_of(uint32_t sum) { return sum; }
__device__ uint32_t bits_of(float sum) { return __float_as_uint(sum); }
__device__ uint32_t bits_of(half2 sum) { return *reinterpret_cast<const uint32_t*>(&sum); }

/// Acc: a register of sums, uint32_t for a pair in FP16 or float; REGISTERS of them a tile of 16×8.
template <typename AB, typename Acc, int REGISTERS>
__global__ void __launch_bounds__(THREADS, 1) mma_kernel(const uint32_t* data, uint32_t* out, int rounds) {
  constexpr uint32_t SIGNS = sizeof(AB) == 2 ? 0x80008000u : 0x80000000u;
  int at = blockIdx.x + threadIdx.x;
  uint32_t a[MMA_M_TILES][4], b[2][MMA_N_TILES][2];  // b and -b
  Acc acc[MMA_M_TILES][MMA_N_TILES][REGISTERS] = {};
  for (auto& tile : a)
    for (uint32_t& word : tile) word = next_word(data, at);
  for (int j = 0; j < MMA_N_TILES; ++j)
    for (int word = 0; word < 2; ++word) {
      b[0][j][word] = next_word(data, at);
      b[1][j][word] = b[0][j][word] ^ SIGNS;
    }

#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int sign = 0; sign < 2; ++sign)
#pragma unroll
      for (int i = 0; i < MMA_M_TILES; ++i)
#pragma unroll
        for (int j = 0; j < MMA_N_TILES; ++j) multiply<AB>(acc[i][j], a[i], b[sign][j]);

  uint32_t bits = 0;  // so that every sum is needed
  for (const auto& row : acc)
    for (const auto& tile : row)
      for (const Acc& sum : tile) bits ^= bits_of(sum);
  out[blockIdx.x * THREADS + threadIdx.x] = bits;
}

/// T: float or half2. An outer product of TM by TN, as in a thread tile.
template <typename T, int TM, int TN>
__global__ void __launch_bounds__(THREADS, 1) fma_kernel(const uint32_t* data, uint32_t* out, int rounds) {
  int at = blockIdx.x + threadIdx.x;
  T a[TM], b[2][TN], acc[TM][TN] = {};
  const auto next = [&] {
    const uint32_t word = next_word(data, at);
    return *reinterpret_cast<const T*>(&word);
  };
  for (T& element : a) element = next();
  for (int j = 0; j < TN; ++j) {
    b[0][j] = next();
    b[1][j] = -b[0][j];
  }

#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int sign = 0; sign < 2; ++sign)
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) multiply_add(acc[i][j], a[i], b[sign][j]);

  uint32_t bits = 0;
  for (const auto& row : acc)
    for (const T& sum : row) bits ^= bits_of(sum);
  out[blockIdx.x * THREADS + threadIdx.x] = bits;
}

using Kernel = void (*)(const uint32_t*, uint32_t*, int);

/// flop: of one warp and round (mma) or one thread and round (FMA), times the `workers` of a block.
Limit limit(const char* name, DType ab, DType acc, Kernel kernel, int rounds, double flop, int workers) {
  const int multiprocessors = multiprocessors_here();
  const auto data = std::make_shared<Matrix>(ab, DATA_WORDS / 256, 256 * 4 / static_cast<int>(bytes_of(ab)),
                                             256 * 4 / static_cast<int>(bytes_of(ab)));
  data->fill({InputKind::normal, 1, 1, 1.0});
  const auto out = std::make_shared<DeviceBuffer>(sizeof(uint32_t) * multiprocessors * THREADS);
  const auto enqueue = [=](cudaStream_t stream) {
    kernel<<<multiprocessors, THREADS, 0, stream>>>(static_cast<const uint32_t*>(data->data()), out->as<uint32_t>(),
                                                    rounds);
    CUDA_CHECK(cudaGetLastError());
  };
  return {name, ab, acc, flop * workers * rounds * multiprocessors, enqueue};
}

Limit mma_limit(const char* name, DType ab, DType acc, Kernel kernel) {
  const double depth = ab == DType::tf32 ? 8 : 16;
  return limit(name, ab, acc, kernel, MMA_ROUNDS, 2 * MMA_M_TILES * MMA_N_TILES * 2 * 16 * 8 * depth, THREADS / 32);
}

template <typename T, int TM, int TN>
Limit fma_limit(const char* name, DType type) {
  const double lanes = sizeof(T) / bytes_of(type);
  return limit(name, type, type, fma_kernel<T, TM, TN>, FMA_ROUNDS, 2 * lanes * TM * TN * 2, THREADS);
}

}  // namespace

std::vector<Limit> limits() {
  return {
      mma_limit("mma.sync.m16n8k16", DType::f16, DType::f16, mma_kernel<half, uint32_t, 2>),
      mma_limit("mma.sync.m16n8k16", DType::f16, DType::f32, mma_kernel<half, float, 4>),
      mma_limit("mma.sync.m16n8k16", DType::bf16, DType::f32, mma_kernel<__nv_bfloat16, float, 4>),
      mma_limit("mma.sync.m16n8k8", DType::tf32, DType::f32, mma_kernel<tf32_t, float, 4>),
      fma_limit<half2, 8, 8>("half2 FMA 8x8", DType::f16),
      fma_limit<float, 8, 8>("FP32 FMA 8x8", DType::f32),
      fma_limit<float, 16, 8>("FP32 FMA 16x8", DType::f32),
  };
}
