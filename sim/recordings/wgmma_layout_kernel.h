// One wgmma m64n128, dense or with a sparse A, whose other operand is the identity.
#pragma once

#include <cstdint>

#include "recordings/ptx.h"

constexpr int ROWS = 64, COLUMNS = 128, THREADS = 128;
constexpr int REGION = 64 * 1024;       // bytes that the probed operand may lie in
constexpr int IDENTITY = COLUMNS * 64;  // bytes of the other one, behind the region, where it is B
constexpr int ALIGNMENT = 1024;         // of the longest swizzle's pattern
constexpr int SHARED_BYTES = REGION + IDENTITY + ALIGNMENT;

struct Half {
  static constexpr char name[] = "f16", depth[] = "16", sparse_depth[] = "32";
  static constexpr int bytes = 2, exponent_bits = 5, mantissa_bits = 10, unused_bits = 0;
};
struct Tf32 {
  static constexpr char name[] = "tf32", depth[] = "8", sparse_depth[] = "16";
  static constexpr int bytes = 4, exponent_bits = 8, mantissa_bits = 10, unused_bits = 13;
};
struct E4m3 {
  static constexpr char name[] = "e4m3", depth[] = "32", sparse_depth[] = "64";
  static constexpr int bytes = 1, exponent_bits = 4, mantissa_bits = 3, unused_bits = 0;
};

// Where an operand lies: bytes, but for the base offset. `swizzle`: 0, 32, 64 or 128.
struct Descriptor {
  uint32_t start, leading, stride, base_offset, swizzle;
};

// The bits of 0 to 15.
struct Digits {
  uint32_t of[16];
};

__device__ inline uint64_t encoded(const Descriptor& from, uint32_t region) {
  const auto field = [](uint32_t bytes) { return uint64_t{(bytes & 0x3ffff) >> 4}; };
  const uint64_t mode = from.swizzle == 128 ? 1 : from.swizzle == 64 ? 2 : from.swizzle == 32 ? 3 : 0;
  return field(region + from.start) | field(from.leading) << 16 | field(from.stride) << 32 |
         uint64_t{from.base_offset & 7} << 49 | mode << 62;
}

#define SUMS_8(i)                                                                                             \
  "=f"(d[i]), "=f"(d[i + 1]), "=f"(d[i + 2]), "=f"(d[i + 3]), "=f"(d[i + 4]), "=f"(d[i + 5]), "=f"(d[i + 6]), \
      "=f"(d[i + 7])
#define SUMS_64 SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
#define NAMES_64                                                                     \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n128k%64.f32.%65.%65 " NAMES_64 ", "
#define WGMMA_NAMES "C"(Type::depth), "C"(Type::name)

// d = A × B, both in shared memory.
template <class Type, bool mn_major>
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  if constexpr (Type::bytes == 2)
    asm volatile(WGMMA "%66, %67, 0, 1, 1, %68, 0;" : SUMS_64 : WGMMA_NAMES, "l"(a), "l"(b), "n"(mn_major));
  else
    asm volatile(WGMMA "%66, %67, 0, 1, 1;" : SUMS_64 : WGMMA_NAMES, "l"(a), "l"(b));
}

// d = A × B, A in registers.
template <class Type, bool mn_major>
__device__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b) {
  if constexpr (Type::bytes == 2)
    asm volatile(WGMMA "{%66, %67, %68, %69}, %70, 0, 1, 1, %71;"
                 : SUMS_64
                 : WGMMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(mn_major));
  else
    asm volatile(WGMMA "{%66, %67, %68, %69}, %70, 0, 1, 1;"
                 : SUMS_64
                 : WGMMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef WGMMA_NAMES
#undef WGMMA

// The same with a sparse A: every group of neighbours along k has the elements that `metadata` names.
#define WGMMA "wgmma.mma_async.sp.sync.aligned.m64n128k%64.f32.%65.%65 " NAMES_64 ", "
#define WGMMA_NAMES "C"(Type::sparse_depth), "C"(Type::name)
template <class Type, bool mn_major>
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, uint32_t metadata) {
  if constexpr (Type::bytes == 2)
    asm volatile(WGMMA "%66, %67, %68, 0, 0, 1, 1, %69, 0;"
                 : SUMS_64
                 : WGMMA_NAMES, "l"(a), "l"(b), "r"(metadata), "n"(mn_major));
  else
    asm volatile(WGMMA "%66, %67, %68, 0, 0, 1, 1;" : SUMS_64 : WGMMA_NAMES, "l"(a), "l"(b), "r"(metadata));
}
template <class Type, bool mn_major>
__device__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b, uint32_t metadata) {
  if constexpr (Type::bytes == 2)
    asm volatile(WGMMA "{%66, %67, %68, %69}, %70, %71, 0, 0, 1, 1, %72;"
                 : SUMS_64
                 : WGMMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata), "n"(mn_major));
  else
    asm volatile(WGMMA "{%66, %67, %68, %69}, %70, %71, 0, 0, 1, 1;"
                 : SUMS_64
                 : WGMMA_NAMES, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata));
}
#undef WGMMA_NAMES
#undef WGMMA
#undef NAMES_64
#undef SUMS_64
#undef SUMS_8

// What a product with a sparse A stores of each group of neighbours in A: its first half, or its second one.
constexpr uint32_t FIRST_HALF = 0x44444444, SECOND_HALF = 0xeeeeeeee;

// Fills the region with one digit of each element's number, multiplies the operand at `probed` with the identity, and
// writes D. `of_b`: the operand is B, otherwise A. `metadata`: of a sparse A, 0 otherwise; of B only the rows are read
// that it names.
template <class Type, bool of_b, bool mn_major, bool sparse>
__global__ void read_operand(Descriptor probed, int pass, Digits digits, uint32_t metadata, float* out) {
  constexpr int PER_WORD = 4 / Type::bytes, BITS = 8 * Type::bytes;
  extern __shared__ unsigned char dynamic[];
  unsigned char* const region = dynamic + (ALIGNMENT - shared_address(dynamic) % ALIGNMENT) % ALIGNMENT;
  uint32_t* const words = reinterpret_cast<uint32_t*>(region);
  for (int word = threadIdx.x; word < REGION / 4; word += THREADS) {
    uint32_t bits = 0;
    for (int i = 0; i < PER_WORD; ++i) bits |= digits.of[(word * PER_WORD + i) >> 4 * pass & 15] << BITS * i;
    words[word] = bits;
  }
  // The identity as B: K-major lines of 16 bytes, eight columns one after the other, two or four such matrices along k.
  // Where A is sparse, column j has its one in the row that A's stored element j meets.
  constexpr int MATRICES = sparse ? 4 : 2, HALF_GROUP = Type::bytes == 4 ? 1 : 2;
  for (int word = threadIdx.x; word < IDENTITY / 4; word += THREADS) {
    const int column = word / (32 * MATRICES) * 8 + word % 32 / 4, k = (word / 32 % MATRICES * 4 + word % 4) * PER_WORD;
    const int met = sparse ? column / HALF_GROUP * (2 * HALF_GROUP) + column % HALF_GROUP : column;
    uint32_t bits = 0;
    for (int i = 0; i < PER_WORD; ++i) bits |= k + i == met ? digits.of[1] << BITS * i : 0;
    words[REGION / 4 + word] = bits;
  }
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * 16;
  uint32_t identity[4] = {};  // as A: register i holds row lane / 4 + 8·(i % 2), and neighbours along k
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + lane / 4 + 8 * (i % 2), k = (lane % 4 + 4 * (i / 2)) * PER_WORD;
    for (int j = 0; j < PER_WORD; ++j) identity[i] |= k + j == row ? digits.of[1] << BITS * j : 0;
  }
  float d[64];
  fence_for_async_reads();  // what threads stored, before wgmma reads it
  __syncthreads();
  // The compiler must not compute these behind the fence.
  asm volatile("" : "+r"(identity[0]), "+r"(identity[1]), "+r"(identity[2]), "+r"(identity[3]));
  wgmma_fence();
  const uint64_t descriptor = encoded(probed, shared_address(region));
  const Descriptor of_identity{REGION, 128, 128 * MATRICES, 0, 0};
  if constexpr (of_b && sparse)
    multiply<Type, mn_major>(d, identity, descriptor, metadata);
  else if constexpr (of_b)
    multiply<Type, mn_major>(d, identity, descriptor);
  else if constexpr (sparse)
    multiply<Type, mn_major>(d, descriptor, encoded(of_identity, shared_address(region)), metadata);
  else
    multiply<Type, mn_major>(d, descriptor, encoded(of_identity, shared_address(region)));
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < 64; ++i) {
    const int row = first_row + lane / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    out[row * COLUMNS + column] = d[i];
  }
}
