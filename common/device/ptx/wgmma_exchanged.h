// wgmma with the operands exchanged: a product of few rows, computed as its transposed. sm_90a; PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions".
//
// The instruction's first operand has 64 rows, however few rows a matrix has. So columns of B take their place: D
// (64×N)
// += Bᵀ (64×16) × Aᵀ (16×N), where N are rows of A. Fences, groups and waits are those of wgmma.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/device/ptx/wgmma.h"
#include "common/device/types.h"

#define EXCHANGED(N, TYPE, NAMES, FIRST, SECOND, ADD, TURNED, ...)                                                 \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD                                                        \
               ", 0;\n"                                                                                            \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " {" NAMES "}, %" FIRST ", %" SECOND \
               ", add, 1, 1, %" TURNED ", 0;\n}\n"                                                                 \
               : __VA_ARGS__                                                                                       \
               : "l"(b), "l"(a), "r"(static_cast<int>(accumulate)), "n"(b_major == Major::MN))
#define SUMS_8(i)                                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES_32                                                                                                   \
  NAMES_8                                                                                                          \
  ", %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
  "%30, %31"
#define EXCHANGED_OF(TYPE)                                           \
  if constexpr (N == 16)                                             \
    EXCHANGED("16", TYPE, NAMES_8, "8", "9", "10", "11", SUMS_8(0)); \
  else                                                               \
    EXCHANGED("64", TYPE, NAMES_32, "32", "33", "34", "35", SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24))

/// d = (a × b)ᵀ, or d += (a × b)ᵀ where `accumulate`, for 2 * SUMS rows of A and 64 columns of B. a, b: descriptors; A
/// is K-major. Lane l of warp w holds, in d[4 * j + 2 * h + e], column 16 * w + 8 * h + l / 4 and row
/// 8 * j + 2 * (l % 4) + e of a × b.
template <class AB, Major b_major, int SUMS>
__device__ __forceinline__ void wgmma_exchanged_k16(float (&d)[SUMS], uint64_t a, uint64_t b, bool accumulate) {
  constexpr int N = 2 * SUMS;
  static_assert(N == 16 || N == 64);
  if constexpr (std::is_same_v<AB, __half>) {
    EXCHANGED_OF("f16");
  } else {
    static_assert(std::is_same_v<AB, __nv_bfloat16>);
    EXCHANGED_OF("bf16");
  }
}

#undef EXCHANGED_OF
#undef NAMES_32
#undef NAMES_8
#undef SUMS_8
#undef EXCHANGED
