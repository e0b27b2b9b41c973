// One product by one instruction of those that few kernels use: of single bits, of f64 rounded in a direction, and four
// products by the old m8n8k4 of f16. As tensor_instruction_kernels.h, whose kernels are used where they fit.
#pragma once

#include "recordings/tensor_instruction_kernels.h"

struct B1 {
  static constexpr char name[] = "b1";
  static constexpr int bits = 1;
  static constexpr Number number{name, 1, 0, 0, false};
};

// What is counted of a row of A and a column of B: the bits that differ, or those that both have.
struct Xor {
  static constexpr char name[] = ".xor.popc";
};
struct And {
  static constexpr char name[] = ".and.popc";
};

#define ROUNDING(type, text)             \
  struct type {                          \
    static constexpr char name[] = text; \
  };
ROUNDING(TowardZero, ".rz")
ROUNDING(Down, ".rm")
ROUNDING(Up, ".rp")
#undef ROUNDING

#define SUMS_2(d, i) "+r"(d[i]), "+r"(d[i + 1])
#define SUMS_4(d, i) SUMS_2(d, i), SUMS_2(d, i + 2)
#define SUMS_8(d, i) SUMS_4(d, i), SUMS_4(d, i + 4)

// --- single bits, by mma.sync ---

template <class Shape, class Operation>
__global__ void mma_bits_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                uint32_t* d_words) {
  constexpr int OF_A = Shape::m * Shape::k / 1024, OF_B = Shape::k / 128, OF_D = Shape::m / 4;
  const unsigned lane = threadIdx.x;
  uint32_t a[OF_A], b[OF_B], d[4] = {};
  for (int i = 0; i < OF_A; ++i) a[i] = a_words[(blockIdx.x * OF_A + i) * 32 + lane];
  for (int i = 0; i < OF_B; ++i) b[i] = b_words[(blockIdx.x * OF_B + i) * 32 + lane];
  for (int i = 0; i < OF_D; ++i) d[i] = c_words[(blockIdx.x * OF_D + i) * 32 + lane];
#define OPCODE "mma.sync.aligned.%4.row.col.s32.b1.b1.s32%5 "
#define NAMES "C"(Shape::name), "C"(Operation::name)
  if constexpr (OF_A == 4)
    asm volatile(OPCODE "{%0, %1, %2, %3}, {%6, %7, %8, %9}, {%10, %11}, {%0, %1, %2, %3};"
                 : SUMS_4(d, 0)
                 : NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (OF_A == 2)
    asm volatile(OPCODE "{%0, %1, %2, %3}, {%6, %7}, {%8}, {%0, %1, %2, %3};"
                 : SUMS_4(d, 0)
                 : NAMES, "r"(a[0]), "r"(a[1]), "r"(b[0]));
  else
    asm volatile(OPCODE "{%0, %1}, {%6}, {%7}, {%0, %1};" : SUMS_4(d, 0) : NAMES, "r"(a[0]), "r"(b[0]));
#undef NAMES
#undef OPCODE
  for (int i = 0; i < OF_D; ++i) d_words[(blockIdx.x * OF_D + i) * 32 + lane] = d[i];
}

// --- single bits, by wmma ---

template <bool by_and>
__global__ void wmma_bits_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                 uint32_t* d_words) {
  using namespace nvcuda::wmma;
  using Bit = experimental::precision::b1;
  constexpr int m = 8, n = 8, k = 128, OF_FACTOR = m * k / 32, OF_SUM = m * n;
  fragment<matrix_a, m, n, k, Bit, row_major> a;
  fragment<matrix_b, m, n, k, Bit, col_major> b;
  fragment<accumulator, m, n, k, int> c, d;
  load_matrix_sync(a, a_words + blockIdx.x * OF_FACTOR, k);
  load_matrix_sync(b, b_words + blockIdx.x * OF_FACTOR, k);
  load_matrix_sync(c, reinterpret_cast<const int*>(c_words + blockIdx.x * OF_SUM), n, mem_row_major);
  bmma_sync(d, a, b, c, by_and ? experimental::bmmaBitOpAND : experimental::bmmaBitOpXOR);
  store_matrix_sync(reinterpret_cast<int*>(d_words + blockIdx.x * OF_SUM), d, n, mem_row_major);
}

// --- single bits, by wgmma ---

// Descriptor of core matrices of 128 bytes, the two along k one behind the other.
__device__ inline uint64_t two_along_k(const uint32_t* shared) {
  return (shared_address(shared) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

// m64n32: A from registers, or as core matrices from shared memory.
template <bool a_in_registers>
__global__ void wgmma_bits_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                  uint32_t* d_words) {
  constexpr int OF_A = 4, OF_D = 16, A_WORDS = 64 * 8, B_WORDS = 32 * 8;
  const unsigned thread = threadIdx.x;
  __shared__ alignas(128) uint32_t shared_a[A_WORDS], shared_b[B_WORDS];
  for (unsigned i = thread; i < A_WORDS; i += WGMMA_THREADS) shared_a[i] = a_words[blockIdx.x * A_WORDS + i];
  for (unsigned i = thread; i < B_WORDS; i += WGMMA_THREADS) shared_b[i] = b_words[blockIdx.x * B_WORDS + i];
  uint32_t a[OF_A], d[OF_D];
  for (int i = 0; i < OF_A; ++i) a[i] = a_words[(blockIdx.x * OF_A + i) * WGMMA_THREADS + thread];
  for (int i = 0; i < OF_D; ++i) d[i] = c_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread];
  fence_for_async_reads();  // what threads stored, before wgmma reads it
  __syncthreads();
  wgmma_fence();
#define OPCODE                                                                                                \
  "wgmma.mma_async.sync.aligned.m64n32k256.s32.b1.b1.and.popc {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, " \
  "%11, %12, %13, %14, %15}, "
  if constexpr (a_in_registers)
    asm volatile(OPCODE "{%16, %17, %18, %19}, %20, 1;"
                 : SUMS_8(d, 0), SUMS_8(d, 8)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(two_along_k(shared_b)));
  else
    asm volatile(OPCODE "%16, %17, 1;"
                 : SUMS_8(d, 0), SUMS_8(d, 8)
                 : "l"(two_along_k(shared_a)), "l"(two_along_k(shared_b)));
#undef OPCODE
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < OF_D; ++i) d_words[(blockIdx.x * OF_D + i) * WGMMA_THREADS + thread] = d[i];
}

// --- f64 by wmma, whose function in C++ rounds to nearest ---

template <class Rounding>
__global__ void wmma_rounded_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                    uint32_t* d_words) {
  using namespace nvcuda::wmma;
  constexpr int m = 8, n = 8, k = 4;
  const auto at = [](const uint32_t* words, int elements) {
    return reinterpret_cast<const double*>(words) + size_t{blockIdx.x} * elements;
  };
  fragment<matrix_a, m, n, k, double, row_major> a;
  fragment<matrix_b, m, n, k, double, col_major> b;
  fragment<accumulator, m, n, k, double> d;
  load_matrix_sync(a, at(a_words, m * k), k);
  load_matrix_sync(b, at(b_words, k * n), k);
  load_matrix_sync(d, at(c_words, m * n), n, mem_row_major);
  asm volatile("wmma.mma.sync.aligned.row.col.m8n8k4%2.f64.f64.f64.f64 {%0, %1}, {%3}, {%4}, {%0, %1};"
               : "+d"(d.x[0]), "+d"(d.x[1])
               : "C"(Rounding::name), "d"(a.x[0]), "d"(b.x[0]));
  store_matrix_sync(reinterpret_cast<double*>(d_words) + size_t{blockIdx.x} * m * n, d, n, mem_row_major);
}

// --- f16 by the old m8n8k4: four products, each of eight lanes' registers ---

template <class D, class C, class LayoutA, class LayoutB>
__global__ void mma_of_four_kernel(const uint32_t* a_words, const uint32_t* b_words, const uint32_t* c_words,
                                   uint32_t* d_words) {
  constexpr int OF_FACTOR = 2, OF_C = C::bits / 4, OF_D = D::bits / 4;
  const unsigned lane = threadIdx.x;
  uint32_t a[OF_FACTOR], b[OF_FACTOR], c[8] = {}, d[8] = {};
  for (int i = 0; i < OF_FACTOR; ++i) a[i] = a_words[(blockIdx.x * OF_FACTOR + i) * 32 + lane];
  for (int i = 0; i < OF_FACTOR; ++i) b[i] = b_words[(blockIdx.x * OF_FACTOR + i) * 32 + lane];
  for (int i = 0; i < OF_C; ++i) d[i] = c[i] = c_words[(blockIdx.x * OF_C + i) * 32 + lane];
#define OPCODE "mma.sync.aligned.m8n8k4.%8.%9.%10.f16.f16.%11 "
#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define INPUTS \
  "C"(LayoutA::name), "C"(LayoutB::name), "C"(D::name), "C"(C::name), "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1])
  if constexpr (OF_D == 4)
    asm volatile(OPCODE "{%0, %1, %2, %3}, {%12, %13}, {%14, %15}, {%0, %1, %2, %3};" : SUMS_8(d, 0) : INPUTS);
  else if constexpr (OF_C == 8)
    asm volatile(OPCODE SUMS ", {%12, %13}, {%14, %15}, " SUMS ";" : SUMS_8(d, 0) : INPUTS);
  else
    asm volatile(OPCODE SUMS ", {%12, %13}, {%14, %15}, {%16, %17, %18, %19};"
                 : SUMS_8(d, 0)
                 : INPUTS, "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
#undef INPUTS
#undef SUMS
#undef OPCODE
  for (int i = 0; i < OF_D; ++i) d_words[(blockIdx.x * OF_D + i) * 32 + lane] = d[i];
}

#undef SUMS_8
#undef SUMS_4
#undef SUMS_2
