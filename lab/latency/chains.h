// Chains: each repetition needs what the one before has made. A chain is built by every thread of a block of `THREADS`;
// all its instructions are volatile, so that nvcc keeps them in their order, and something needs their result, or ptxas
// would leave them out.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <numeric>

#include "common/device/ptx/mma.h"
#include "common/device/ptx/shared_address.h"

/// sum = sum * a + b
struct FmaChain {
  static constexpr int THREADS = 32;
  float sum = static_cast<float>(threadIdx.x);

  __device__ void repeat() { asm volatile("fma.rn.f32 %0, %0, %1, %2;\n" : "+f"(sum) : "f"(0.5f), "f"(1.0f)); }
  __device__ uint64_t result() const { return __float_as_uint(sum); }
};

/// mma.sync.m16n8k16 of FP16, the sums of one the addends of the next. Sum: float, or uint32_t for two sums in FP16.
template <class Sum, int REGISTERS>
struct MmaChain {
  static constexpr int THREADS = 32;
  Sum sums[REGISTERS] = {};
  uint32_t a[4] = {}, b[2] = {};

  __device__ void repeat() { mma_m16n8k16<half>(sums, a, b); }
  __device__ uint64_t result() const { return sums[0] != 0; }
};

/// A barrier of the whole block, at which all its warps arrive at about the same time.
template <int BLOCK>
struct BarrierChain {
  static constexpr int THREADS = BLOCK;

  __device__ void repeat() { __syncthreads(); }
  __device__ uint64_t result() const { return 0; }
};

/// A load of 4 bytes from shared memory: what it loads is the address of the next.
struct SharedChain {
  static constexpr int THREADS = 32;
  static constexpr int WORDS = 512, STEP = 33;
  static_assert(std::gcd(WORDS, STEP) == 1, "every word is visited before the first again");
  uint32_t address;

  __device__ SharedChain() {
    __shared__ uint32_t ring[WORDS];
    const uint32_t start = shared_address(ring);
    for (int at = threadIdx.x; at < WORDS; at += THREADS)
      ring[at] = start + (at + STEP) % WORDS * static_cast<uint32_t>(sizeof(uint32_t));
    __syncthreads();
    address = start;
  }

  __device__ void repeat() { asm volatile("ld.shared.b32 %0, [%0];\n" : "+r"(address)::"memory"); }
  __device__ uint64_t result() const { return address; }
};
