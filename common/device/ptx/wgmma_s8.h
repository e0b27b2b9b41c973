// wgmma on 8-bit integers: a warpgroup multiplies matrices of signed bytes that lie in shared memory, and adds up their
// products in 32 bits, exactly (a sum that leaves 32 bits wraps). sm_90a; PTX ISA, "wgmma.mma_async".
//
// Both operands are K-major: a row of shared memory holds k of one row of A or column of B. Fence, commit and wait are
// those of wgmma.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/wgmma.h"

/// The matrix descriptor of rows of ROW_BYTES bytes of k, 64 or 128, whose chunks of 16 bytes are swizzled as TMA's
/// swizzle of that width does. Eight rows repeat the pattern; the tile starts at a multiple of their bytes.
template <int ROW_BYTES>
__device__ __forceinline__ uint64_t rows_descriptor(uint32_t shared) {
  static_assert(ROW_BYTES == 64 || ROW_BYTES == 128);
  constexpr uint64_t SWIZZLE = uint64_t{ROW_BYTES == 128 ? 1 : 2} << 62, EIGHT_ROWS = 8 * ROW_BYTES >> 4;
  return SWIZZLE | EIGHT_ROWS << 32 | (shared & 0x3FFFF) >> 4;
}

/// What to add to such a descriptor for the next 32 bytes of k.
inline constexpr uint64_t NEXT_32_BYTES = 32 >> 4;

// The registers of the sums as operands of asm, and their numbers in its text.
#define SUMS_16(i)                                                                                            \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), \
      "+r"(d[i + 7]), "+r"(d[i + 8]), "+r"(d[i + 9]), "+r"(d[i + 10]), "+r"(d[i + 11]), "+r"(d[i + 12]),      \
      "+r"(d[i + 13]), "+r"(d[i + 14]), "+r"(d[i + 15])
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define NAMES_32                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_48 \
  NAMES_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_64 \
  NAMES_48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_96                                                                     \
  NAMES_64                                                                           \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_128                                                                                \
  NAMES_96                                                                                       \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// The operands behind SUMS registers, N = 2 * SUMS columns: A, B, whether to add.
#define WGMMA_S8(N, NAMES, A, B, ADD, ...)                                                                  \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD                                                 \
               ", 0;\n"                                                                                     \
               "wgmma.mma_async.sync.aligned.m64n" N "k32.s32.s8.s8 {" NAMES "}, %" A ", %" B ", add;\n}\n" \
               : __VA_ARGS__                                                                                \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

/// d = a × b, or d += a × b where `accumulate`, 32 of k at once. a, b: descriptors. Which lane holds what of d: as
/// wgmma_m64k16.
template <int SUMS>
__device__ __forceinline__ void wgmma_m64k32(int32_t (&d)[SUMS], uint64_t a, uint64_t b, bool accumulate) {
  constexpr int N = 2 * SUMS;
  static_assert(N == 64 || N == 96 || N == 128 || N == 192 || N == 256);
  if constexpr (N == 64)
    WGMMA_S8("64", NAMES_32, "32", "33", "34", SUMS_32(0));
  else if constexpr (N == 96)
    WGMMA_S8("96", NAMES_48, "48", "49", "50", SUMS_32(0), SUMS_16(32));
  else if constexpr (N == 128)
    WGMMA_S8("128", NAMES_64, "64", "65", "66", SUMS_32(0), SUMS_32(32));
  else if constexpr (N == 192)
    WGMMA_S8("192", NAMES_96, "96", "97", "98", SUMS_32(0), SUMS_32(32), SUMS_32(64));
  else
    WGMMA_S8("256", NAMES_128, "128", "129", "130", SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96));
}

#undef WGMMA_S8
#undef NAMES_128
#undef NAMES_96
#undef NAMES_64
#undef NAMES_48
#undef NAMES_32
#undef SUMS_32
#undef SUMS_16
