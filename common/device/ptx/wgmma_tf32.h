// wgmma on TF32 with its first operand in registers. sm_90a; PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions". What common/device/ptx/wgmma.h says of fences and waits holds here, too; the registers of the first
// operand belong to the instruction as those of the sums do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

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

// The operands behind the sums are four registers, a descriptor and whether to add.
#define WGMMA(N, NAMES, R0, R1, R2, R3, DESCRIPTOR, ADD, ...)                                                         \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD                                                           \
               ", 0;\n"                                                                                               \
               "wgmma.mma_async.sync.aligned.m64n" N "k8.f32.tf32.tf32 {" NAMES "}, {%" R0 ", %" R1 ", %" R2 ", %" R3 \
               "}, %" DESCRIPTOR ", add, 1, 1;\n}\n"                                                                  \
               : __VA_ARGS__                                                                                          \
               : "r"(__float_as_uint(first[0])), "r"(__float_as_uint(first[1])), "r"(__float_as_uint(first[2])),      \
                 "r"(__float_as_uint(first[3])), "l"(second), "r"(static_cast<int>(accumulate)))

/// d = first × second, or d += first × second where `accumulate`: 64×8 in registers times 8×N, N = 2 * SUMS, K-major in
/// shared memory, by its descriptor. Lane l of warp w holds two rows of the first, 16 * w + l / 4 and the one 8 below,
/// of column l % 4 (first[0], first[1]) and of column l % 4 + 4 (first[2], first[3]). The low 13 bits of all elements
/// are ignored.
template <int SUMS>
__device__ __forceinline__ void wgmma_tf32_of_registers(float (&d)[SUMS], const float (&first)[4], uint64_t second,
                                                        bool accumulate) {
  static_assert(SUMS == 32 || SUMS == 64 || SUMS == 96);
  if constexpr (SUMS == 32)
    WGMMA("64", NAMES_32, "32", "33", "34", "35", "36", "37", SUMS_32(0));
  else if constexpr (SUMS == 64)
    WGMMA("128", NAMES_64, "64", "65", "66", "67", "68", "69", SUMS_32(0), SUMS_32(32));
  else
    WGMMA("192", NAMES_96, "96", "97", "98", "99", "100", "101", SUMS_32(0), SUMS_32(32), SUMS_32(64));
}

#undef WGMMA
#undef NAMES_96
#undef NAMES_64
#undef NAMES_32
#undef SUMS_32
#undef SUMS_8
