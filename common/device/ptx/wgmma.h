// wgmma: a warpgroup, four warps, multiplies matrices that lie in shared memory. sm_90a; PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions".
//
// D (64×N, FP32, in registers) += A (64×16) × B (16×N). The instruction runs on its own: registers of D and the shared
// memory of A and B belong to it from wgmma_fence to wgmma_wait.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/device/ptx/shared_address.h"
#include "common/device/types.h"

/// How a matrix of 16-bit elements lies in shared memory: rows of 64 elements, 128 bytes, whose eight chunks of 16
/// bytes are swizzled as TMA's 128-byte swizzle does (chunk ^ row % 8). Eight such rows, 1024 bytes, repeat the
/// pattern. The tile starts at a multiple of 1024 bytes.
enum class Major {
  K,  // a row holds 64 of k, one row per row of A or column of B
  MN  // a row holds 64 rows of A or columns of B, one row per k
};

/// The matrix descriptor: where an operand of wgmma lies. `tile_k`: of k in the tile, for Major::MN, where the next 64
/// columns lie behind so many rows.
template <Major major>
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t shared, int tile_k) {
  constexpr int ROW_BYTES = 128, EIGHT_ROWS = 8 * ROW_BYTES;
  constexpr uint64_t SWIZZLE_128 = uint64_t{1} << 62;
  const auto field = [](uint32_t bytes) { return static_cast<uint64_t>((bytes & 0x3FFFF) >> 4); };
  const uint32_t leading = major == Major::K ? 16 : tile_k * ROW_BYTES;  // K: ignored, the row is the whole swizzle
  return SWIZZLE_128 | field(EIGHT_ROWS) << 32 | field(leading) << 16 | field(shared);
}

/// What to add to a descriptor for the next 16 of k.
template <Major major>
inline constexpr uint64_t NEXT_K16 = (major == Major::K ? 16 * 2 : 16 * 128) >> 4;

/// Orders this warp's accesses to the registers of D before the wgmma that follow.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }

/// Closes the group of wgmma since the last commit.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }

/// Waits until all but PENDING of the latest groups are done.
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(PENDING) : "memory");
}

// One description for every N: the registers of the sums as operands of asm, and their numbers in its text.
#define SUMS_8(i)                                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define NAMES_32                                                           \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                       \
  NAMES_32                                                                             \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_96                                                                       \
  NAMES_64                                                                             \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_128                                                                      \
  NAMES_96                                                                             \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, " \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// SUMS registers hold D's N = 2 * SUMS columns; the operands behind them are A, B, whether to add, and B's major.
#define WGMMA(N, TYPE, NAMES, A, B, ADD, B_MN, ...)                                                       \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD                                               \
               ", 0;\n"                                                                                   \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " {" NAMES "}, %" A ", %" B \
               ", add, 1, 1, 0, %" B_MN ";\n}\n"                                                          \
               : __VA_ARGS__                                                                              \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(b_major == Major::MN))
#define WGMMA_OF(TYPE)                                                                          \
  if constexpr (N == 64)                                                                        \
    WGMMA("64", TYPE, NAMES_32, "32", "33", "34", "35", SUMS_32(0));                            \
  else if constexpr (N == 128)                                                                  \
    WGMMA("128", TYPE, NAMES_64, "64", "65", "66", "67", SUMS_32(0), SUMS_32(32));              \
  else if constexpr (N == 192)                                                                  \
    WGMMA("192", TYPE, NAMES_96, "96", "97", "98", "99", SUMS_32(0), SUMS_32(32), SUMS_32(64)); \
  else                                                                                          \
    WGMMA("256", TYPE, NAMES_128, "128", "129", "130", "131", SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96))

/// d = a × b, or d += a × b where `accumulate`. a, b: descriptors; A is K-major. Lane l of warp w holds, in
/// d[4 * j + 2 * h + e], row 16 * w + 8 * h + l / 4 and column 8 * j + 2 * (l % 4) + e.
template <class AB, Major b_major, int SUMS>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[SUMS], uint64_t a, uint64_t b, bool accumulate) {
  constexpr int N = 2 * SUMS;
  static_assert(N == 64 || N == 128 || N == 192 || N == 256);
  if constexpr (std::is_same_v<AB, __half>) {
    WGMMA_OF("f16");
  } else {
    static_assert(std::is_same_v<AB, __nv_bfloat16>);
    WGMMA_OF("bf16");
  }
}

#undef WGMMA_OF
#undef WGMMA
#undef NAMES_128
#undef NAMES_96
#undef NAMES_64
#undef NAMES_32
#undef SUMS_32
#undef SUMS_8
