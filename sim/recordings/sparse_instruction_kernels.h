// One product by one instruction: kernels for mma.sp and wgmma.sp, by the types that they multiply.
#pragma once

#include "recordings/sparse_instructions.h"
#include "recordings/tensor_instruction_kernels.h"

struct Plain {
  static constexpr char name[] = "";
};
struct Ordered {
  static constexpr char name[] = "::ordered_metadata";
};

// A lane's registers of D, and of A and B: a sparse A is as large as half of B's depth makes it.
template <class Shape, class Sum, class A>
struct SparseRegisters {
  static constexpr int d = Sum::bits == 16 ? 2 : 4, factors = Shape::k * A::bits / 128;
};

// --- mma.sp ---

template <class Variant, class Shape, class Sum, class A, class B, class Saturation, int selector>
__global__ void mma_sparse_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                  const uint32_t* metadata_words, uint32_t* d_words) {
  using Registers = SparseRegisters<Shape, Sum, A>;
  const unsigned lane = threadIdx.x;
  const auto first = [&](int registers) { return blockIdx.x * registers * 32 + lane; };
  uint32_t a[4] = {}, b[4] = {}, d[4] = {};
  for (int i = 0; i < Registers::factors; ++i) {
    a[i] = a_words[first(Registers::factors) + 32 * i];
    b[i] = b_words[first(Registers::factors) + 32 * i];
  }
  for (int i = 0; i < Registers::d; ++i) d[i] = c_words[first(Registers::d) + 32 * i];
  const uint32_t metadata = metadata_words[first(1)];
// The names come before the registers of A and B, so that they have the same numbers in every form.
#define MMA_SPARSE "mma.sp%4.sync.aligned.%5.row.col%6.%7.%8.%9.%7 "
#define SUMS "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define INPUTS                                                                                                   \
  "C"(Variant::name), "C"(Shape::name), "C"(Saturation::name), "C"(Sum::name), "C"(A::name), "C"(B::name),       \
      "n"(selector), "r"(metadata), "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(a[2]), "r"(a[3]), "r"(b[2]), \
      "r"(b[3])
  if constexpr (Registers::d == 4 && Registers::factors == 4)
    asm volatile(MMA_SPARSE "{%0, %1, %2, %3}, {%12, %13, %16, %17}, {%14, %15, %18, %19}, {%0, %1, %2, %3}, %11, %10;"
                 : SUMS
                 : INPUTS);
  else if constexpr (Registers::d == 4)
    asm volatile(MMA_SPARSE "{%0, %1, %2, %3}, {%12, %13}, {%14, %15}, {%0, %1, %2, %3}, %11, %10;" : SUMS : INPUTS);
  else if constexpr (Registers::factors == 4)
    asm volatile(MMA_SPARSE "{%0, %1}, {%12, %13, %16, %17}, {%14, %15, %18, %19}, {%0, %1}, %11, %10;"
                 : SUMS
                 : INPUTS);
  else
    asm volatile(MMA_SPARSE "{%0, %1}, {%12, %13}, {%14, %15}, {%0, %1}, %11, %10;" : SUMS : INPUTS);
#undef INPUTS
#undef SUMS
#undef MMA_SPARSE
  for (int i = 0; i < Registers::d; ++i) d_words[first(Registers::d) + 32 * i] = d[i];
}

// --- wgmma.sp ---

template <class Shape, class Sum, class A, class B, class Saturation, int selector, bool shared_a>
__global__ void wgmma_sparse_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                    const uint32_t* metadata_words, uint32_t* d_words) {
  constexpr int OF_A = 4, OF_D = Sum::bits == 16 ? 2 : 4, A_WORDS = OF_A * WGMMA_THREADS, B_WORDS = 2 * WGMMA_B_WORDS;
  const unsigned thread = threadIdx.x, lane = thread % 32;
  __shared__ alignas(128) uint32_t shared_b[B_WORDS];
  __shared__ alignas(128) uint32_t shared[A_WORDS];
  shared_b[thread] = b_words[blockIdx.x * B_WORDS + thread];
  uint32_t a[OF_A], d[4] = {};
  for (int i = 0; i < OF_A; ++i) {
    a[i] = a_words[(blockIdx.x * OF_A + i) * WGMMA_THREADS + thread];
    // Two core matrices of 8 rows along k, eight below each other.
    const unsigned eight_rows = thread / 32 * 2 + i % 2;
    shared[eight_rows * 64 + i / 2 * 32 + lane] = a[i];
  }
  for (int i = 0; i < OF_D; ++i) d[i] = c_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread];
  const uint32_t metadata = metadata_words[blockIdx.x * WGMMA_THREADS + thread];
  fence_for_async_reads();  // what threads stored, before wgmma reads it
  __syncthreads();
  const auto descriptor = [](const uint32_t* at, uint32_t stride) {
    return (shared_address(at) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{stride >> 4} << 32;
  };
  const uint64_t of_a = descriptor(shared, 256), of_b = descriptor(shared_b, 512);
  wgmma_fence();
#define WGMMA_SPARSE "wgmma.mma_async.sp.sync.aligned.%4.%5.%6.%7%8 "
#define INPUTS                                                                                                       \
  "C"(Shape::name), "C"(Sum::name), "C"(A::name), "C"(B::name), "C"(Saturation::name), "n"(selector), "r"(metadata), \
      "l"(of_b), "l"(of_a), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define SUMS "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define FOUR "{%0, %1, %2, %3}, "
#define TWO "{%0, %1}, "
#define FROM_SHARED "%12, %11, %10, %9, 1"
#define FROM_REGISTERS "{%13, %14, %15, %16}, %11, %10, %9, 1"
  constexpr bool half_sums = Sum::bits == 16, half_factors = A::bits == 16, whole = std::is_same_v<Sum, S32>;
  if constexpr (half_sums && half_factors && shared_a)
    asm volatile(WGMMA_SPARSE TWO FROM_SHARED ", 1, 1, 0, 0;" : SUMS : INPUTS);
  else if constexpr (half_sums && half_factors)
    asm volatile(WGMMA_SPARSE TWO FROM_REGISTERS ", 1, 1, 0;" : SUMS : INPUTS);
  else if constexpr (half_sums && shared_a)
    asm volatile(WGMMA_SPARSE TWO FROM_SHARED ", 1, 1;" : SUMS : INPUTS);
  else if constexpr (half_sums)
    asm volatile(WGMMA_SPARSE TWO FROM_REGISTERS ", 1, 1;" : SUMS : INPUTS);
  else if constexpr (whole && shared_a)
    asm volatile(WGMMA_SPARSE FOUR FROM_SHARED ";" : SUMS : INPUTS);
  else if constexpr (whole)
    asm volatile(WGMMA_SPARSE FOUR FROM_REGISTERS ";" : SUMS : INPUTS);
  else if constexpr (half_factors && shared_a)
    asm volatile(WGMMA_SPARSE FOUR FROM_SHARED ", 1, 1, 0, 0;" : SUMS : INPUTS);
  else if constexpr (half_factors)
    asm volatile(WGMMA_SPARSE FOUR FROM_REGISTERS ", 1, 1, 0;" : SUMS : INPUTS);
  else if constexpr (shared_a)
    asm volatile(WGMMA_SPARSE FOUR FROM_SHARED ", 1, 1;" : SUMS : INPUTS);
  else
    asm volatile(WGMMA_SPARSE FOUR FROM_REGISTERS ", 1, 1;" : SUMS : INPUTS);
#undef FROM_REGISTERS
#undef FROM_SHARED
#undef TWO
#undef FOUR
#undef SUMS
#undef INPUTS
#undef WGMMA_SPARSE
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < OF_D; ++i) d_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread] = d[i];
}
