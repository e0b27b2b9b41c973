// One product by one instruction: kernels for mma.sync, wmma and wgmma, by the types that they multiply.
#pragma once

#include <mma.h>

#include <cstdint>
#include <type_traits>

#include "recordings/ptx.h"
#include "recordings/tensor_instructions.h"

// --- types and shapes, by their names in PTX ---

#define NUMBER(type, text, bits_, exponent, mantissa, sign)                \
  struct type {                                                            \
    static constexpr char name[] = text;                                   \
    static constexpr int bits = bits_;                                     \
    static constexpr Number number{text, bits_, exponent, mantissa, sign}; \
  };
NUMBER(F16, "f16", 16, 5, 10, true)
NUMBER(BF16, "bf16", 16, 8, 7, true)
NUMBER(TF32, "tf32", 32, 8, 10, true)
NUMBER(F32, "f32", 32, 8, 23, true)
NUMBER(F64, "f64", 64, 11, 52, true)
NUMBER(E4M3, "e4m3", 8, 4, 3, true)
NUMBER(E5M2, "e5m2", 8, 5, 2, true)
NUMBER(S8, "s8", 8, 0, 0, true)
NUMBER(U8, "u8", 8, 0, 0, false)
NUMBER(S4, "s4", 4, 0, 0, true)
NUMBER(U4, "u4", 4, 0, 0, false)
NUMBER(S32, "s32", 32, 0, 0, true)
#undef NUMBER

#define SHAPE(m_, n_, k_)                                   \
  struct M##m_##N##n_##K##k_ {                              \
    static constexpr char name[] = "m" #m_ "n" #n_ "k" #k_; \
    static constexpr int m = m_, n = n_, k = k_;            \
  };
SHAPE(8, 8, 4)
SHAPE(8, 8, 16)
SHAPE(8, 8, 32)
SHAPE(8, 8, 128)
SHAPE(16, 8, 4)
SHAPE(16, 8, 8)
SHAPE(16, 8, 16)
SHAPE(16, 8, 32)
SHAPE(16, 8, 64)
SHAPE(16, 8, 128)
SHAPE(16, 8, 256)
SHAPE(16, 16, 8)
SHAPE(16, 16, 16)
SHAPE(32, 8, 16)
SHAPE(8, 32, 16)
SHAPE(64, 8, 8)
SHAPE(64, 8, 16)
SHAPE(64, 8, 32)
SHAPE(64, 8, 64)
SHAPE(64, 8, 256)
SHAPE(64, 32, 256)
#undef SHAPE

struct Wraps {
  static constexpr char name[] = "";
};
struct Saturates {
  static constexpr char name[] = ".satfinite";
};

// --- mma.sync ---

// The names come before the registers of A and B, so that they have the same numbers in every form.
#define MMA_OPCODE "mma.sync.aligned.%4.row.col%5.%6.%7.%8.%6 "
#define MMA_NAMES "C"(Shape::name), "C"(Saturation::name), "C"(Sum::name), "C"(A::name), "C"(B::name)

// A lane's registers of D, A and B.
template <class Shape, class Sum, class A, class B>
struct MmaRegisters {
  static constexpr int d = Shape::m * Shape::n * Sum::bits / (Sum::bits == 64 ? 64 : 32) / 32,
                       a = Shape::m * Shape::k * A::bits / (A::bits == 64 ? 64 : 32) / 32,
                       b = Shape::k * Shape::n * B::bits / (B::bits == 64 ? 64 : 32) / 32;
};

template <class Shape, class Sum, class A, class B, class Saturation>
__device__ void mma(uint32_t (&d)[4], const uint32_t* a, const uint32_t* b) {
  using Registers = MmaRegisters<Shape, Sum, A, B>;
#define SUMS "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
  if constexpr (Registers::d == 4 && Registers::a == 4)
    asm volatile(MMA_OPCODE "{%0, %1, %2, %3}, {%9, %10, %11, %12}, {%13, %14}, {%0, %1, %2, %3};"
                 : SUMS
                 : MMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (Registers::d == 4)
    asm volatile(MMA_OPCODE "{%0, %1, %2, %3}, {%9, %10}, {%11}, {%0, %1, %2, %3};"
                 : SUMS
                 : MMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(b[0]));
  else if constexpr (Registers::a == 4)
    asm volatile(MMA_OPCODE "{%0, %1}, {%9, %10, %11, %12}, {%13, %14}, {%0, %1};"
                 : SUMS
                 : MMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (Registers::a == 2)
    asm volatile(MMA_OPCODE "{%0, %1}, {%9, %10}, {%11}, {%0, %1};"
                 : SUMS
                 : MMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(b[0]));
  else
    asm volatile(MMA_OPCODE "{%0, %1}, {%9}, {%10}, {%0, %1};" : SUMS : MMA_NAMES, "r"(a[0]), "r"(b[0]));
#undef SUMS
}

template <class Shape, class Sum, class A, class B, class Saturation>
__device__ void mma(double (&d)[4], const double* a, const double* b) {
  using Registers = MmaRegisters<Shape, Sum, A, B>;
#define SUMS "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
  if constexpr (Registers::a == 8)
    asm volatile(MMA_OPCODE
                 "{%0, %1, %2, %3}, {%9, %10, %11, %12, %13, %14, %15, %16}, {%17, %18, %19, %20}, {%0, %1, %2, %3};"
                 : SUMS
                 : MMA_NAMES, "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                   "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
  else if constexpr (Registers::a == 4)
    asm volatile(MMA_OPCODE "{%0, %1, %2, %3}, {%9, %10, %11, %12}, {%13, %14}, {%0, %1, %2, %3};"
                 : SUMS
                 : MMA_NAMES, "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  else if constexpr (Registers::a == 2)
    asm volatile(MMA_OPCODE "{%0, %1, %2, %3}, {%9, %10}, {%11}, {%0, %1, %2, %3};"
                 : SUMS
                 : MMA_NAMES, "d"(a[0]), "d"(a[1]), "d"(b[0]));
  else
    asm volatile(MMA_OPCODE "{%0, %1}, {%9}, {%10}, {%0, %1};" : SUMS : MMA_NAMES, "d"(a[0]), "d"(b[0]));
#undef SUMS
}

template <class Shape, class Sum, class A, class B, class Saturation>
__global__ void mma_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                           uint32_t* d_words) {
  using Word = std::conditional_t<Sum::bits == 64, double, uint32_t>;
  using Registers = MmaRegisters<Shape, Sum, A, B>;
  const unsigned lane = threadIdx.x;
  const auto first = [&](int registers) { return blockIdx.x * registers * 32 + lane; };
  Word a[Registers::a], b[Registers::b], d[4] = {};
  for (int i = 0; i < Registers::a; ++i) a[i] = reinterpret_cast<const Word*>(a_words)[first(Registers::a) + 32 * i];
  for (int i = 0; i < Registers::b; ++i) b[i] = reinterpret_cast<const Word*>(b_words)[first(Registers::b) + 32 * i];
  for (int i = 0; i < Registers::d; ++i) d[i] = reinterpret_cast<const Word*>(c_words)[first(Registers::d) + 32 * i];
  mma<Shape, Sum, A, B, Saturation>(d, a, b);
  for (int i = 0; i < Registers::d; ++i) reinterpret_cast<Word*>(d_words)[first(Registers::d) + 32 * i] = d[i];
}

// --- wgmma ---

constexpr int WGMMA_THREADS = 128, WGMMA_B_WORDS = 64;

template <class Shape, class Sum, class A, class B, class Saturation>
__global__ void wgmma_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                             uint32_t* d_words) {
  constexpr int OF_A = 4, OF_D = Sum::bits == 16 ? 2 : 4;
  const unsigned thread = threadIdx.x;
  __shared__ alignas(128) uint32_t shared[WGMMA_B_WORDS];
  if (thread < WGMMA_B_WORDS) shared[thread] = b_words[blockIdx.x * WGMMA_B_WORDS + thread];
  uint32_t a[OF_A], d[4] = {};
  for (int i = 0; i < OF_A; ++i) a[i] = a_words[(blockIdx.x * OF_A + i) * WGMMA_THREADS + thread];
  for (int i = 0; i < OF_D; ++i) d[i] = c_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread];
  fence_for_async_reads();  // what threads stored, before wgmma reads it
  __syncthreads();
  // Two core matrices of 128 bytes, one behind the other along k.
  const uint64_t descriptor =
      (shared_address(shared) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
  wgmma_fence();
#define WGMMA_OPCODE "wgmma.mma_async.sync.aligned.%4.%5.%6.%7%8 "
#define WGMMA_INPUTS                                                                                         \
  "C"(Shape::name), "C"(Sum::name), "C"(A::name), "C"(B::name), "C"(Saturation::name), "r"(a[0]), "r"(a[1]), \
      "r"(a[2]), "r"(a[3]), "l"(descriptor)
#define SUMS "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
  if constexpr (Sum::bits == 16 && A::bits == 16)
    asm volatile(WGMMA_OPCODE "{%0, %1}, {%9, %10, %11, %12}, %13, 1, 1, 1, 0;" : SUMS : WGMMA_INPUTS);
  else if constexpr (Sum::bits == 16)
    asm volatile(WGMMA_OPCODE "{%0, %1}, {%9, %10, %11, %12}, %13, 1, 1, 1;" : SUMS : WGMMA_INPUTS);
  else if constexpr (std::is_same_v<Sum, S32>)
    asm volatile(WGMMA_OPCODE "{%0, %1, %2, %3}, {%9, %10, %11, %12}, %13, 1;" : SUMS : WGMMA_INPUTS);
  else if constexpr (A::bits == 16)
    asm volatile(WGMMA_OPCODE "{%0, %1, %2, %3}, {%9, %10, %11, %12}, %13, 1, 1, 1, 0;" : SUMS : WGMMA_INPUTS);
  else
    asm volatile(WGMMA_OPCODE "{%0, %1, %2, %3}, {%9, %10, %11, %12}, %13, 1, 1, 1;" : SUMS : WGMMA_INPUTS);
#undef SUMS
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < OF_D; ++i) d_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread] = d[i];
}

// --- wmma ---

// How C++ calls a type's elements: in a fragment, and in memory.
template <class Type>
struct Cpp;
#define CPP(type, in_fragment, in_memory) \
  template <>                             \
  struct Cpp<type> {                      \
    using Fragment = in_fragment;         \
    using Memory = in_memory;             \
  };
CPP(F16, __half, __half)
CPP(BF16, __nv_bfloat16, __nv_bfloat16)
CPP(TF32, nvcuda::wmma::precision::tf32, float)
CPP(F32, float, float)
CPP(F64, double, double)
CPP(S8, signed char, signed char)
CPP(U8, unsigned char, unsigned char)
CPP(S4, nvcuda::wmma::experimental::precision::s4, void)
CPP(U4, nvcuda::wmma::experimental::precision::u4, void)
CPP(S32, int, int)
#undef CPP

struct ByRows {
  static constexpr char name[] = "row";
  using Layout = nvcuda::wmma::row_major;
};
struct ByColumns {
  static constexpr char name[] = "col";
  using Layout = nvcuda::wmma::col_major;
};

template <class Shape, class D, class Factor, class C, class LayoutA, class LayoutB, bool saturates>
__global__ void wmma_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                            uint32_t* d_words) {
  using namespace nvcuda::wmma;
  constexpr int m = Shape::m, n = Shape::n, k = Shape::k;
  const auto block = [](const uint32_t* words, int elements, int bits) {
    return words + size_t{blockIdx.x} * (elements * bits / 32);
  };
  using Element = typename Cpp<Factor>::Fragment;
  using Stored = const typename Cpp<Factor>::Memory*;
  fragment<matrix_a, m, n, k, Element, typename LayoutA::Layout> a;
  fragment<matrix_b, m, n, k, Element, typename LayoutB::Layout> b;
  fragment<accumulator, m, n, k, typename Cpp<C>::Fragment> c;
  fragment<accumulator, m, n, k, typename Cpp<D>::Fragment> d;
  load_matrix_sync(a, reinterpret_cast<Stored>(block(a_words, m * k, Factor::bits)),
                   std::is_same_v<LayoutA, ByRows> ? k : m);
  load_matrix_sync(b, reinterpret_cast<Stored>(block(b_words, k * n, Factor::bits)),
                   std::is_same_v<LayoutB, ByRows> ? n : k);
  load_matrix_sync(c, reinterpret_cast<const typename Cpp<C>::Memory*>(block(c_words, m * n, C::bits)), n,
                   mem_row_major);
  if constexpr (std::is_same_v<C, S32>)
    mma_sync(d, a, b, c, saturates);
  else
    mma_sync(d, a, b, c);
  store_matrix_sync(reinterpret_cast<typename Cpp<D>::Memory*>(const_cast<uint32_t*>(block(d_words, m * n, D::bits))),
                    d, n, mem_row_major);
}
