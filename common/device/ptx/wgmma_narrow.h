// wgmma on FP8 and TF32, and one name for all operands that are not of 16 bits. sm_90a; PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions". What common/device/ptx/wgmma.h says of fences and of the places of the sums
// holds here, too.
//
// One instruction takes 32 bytes of a row of A and of B, whatever they hold: 32 elements of 8 bits, 8 of TF32. There is
// no transpose bit for these types: both operands are K-major.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/device/ptx/wgmma_s8.h"

struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct tf32_t;

// Registers of the sums as operands of asm, and their numbers in its text.
#define SUMS_8(i)                                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define SUMS_48 SUMS_32(0), SUMS_8(32), SUMS_8(40)
#define SUMS_64 SUMS_32(0), SUMS_32(32)
#define SUMS_96 SUMS_64, SUMS_32(64)
#define SUMS_128 SUMS_96, SUMS_32(96)
#define NAMES_32                                                           \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_48 \
  NAMES_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
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

// SHAPE_TYPES: "k32.f32.e4m3.e4m3"; the operands behind the sums are A, B and whether to add.
#define WGMMA(N, SHAPE_TYPES, NAMES, A, B, ADD, ...)                                                             \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" ADD                                                      \
               ", 0;\n"                                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" N SHAPE_TYPES " {" NAMES "}, %" A ", %" B ", add, 1, 1;\n}\n" \
               : __VA_ARGS__                                                                                     \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define WGMMA_OF(SHAPE_TYPES)                                         \
  if constexpr (SUMS == 32)                                           \
    WGMMA("64", SHAPE_TYPES, NAMES_32, "32", "33", "34", SUMS_32(0)); \
  else if constexpr (SUMS == 48)                                      \
    WGMMA("96", SHAPE_TYPES, NAMES_48, "48", "49", "50", SUMS_48);    \
  else if constexpr (SUMS == 64)                                      \
    WGMMA("128", SHAPE_TYPES, NAMES_64, "64", "65", "66", SUMS_64);   \
  else if constexpr (SUMS == 96)                                      \
    WGMMA("192", SHAPE_TYPES, NAMES_96, "96", "97", "98", SUMS_96);   \
  else                                                                \
    WGMMA("256", SHAPE_TYPES, NAMES_128, "128", "129", "130", SUMS_128)

/// d = a × b, or d += a × b where `accumulate`; a, b: descriptors of K-major operands. Integers: exact, modulo 2^32.
/// FP8: the tensor core keeps 13 bits of the sums' fraction. TF32: the low 13 bits of the operands are ignored.
template <class A, class B, class Sum, int SUMS>
__device__ __forceinline__ void wgmma_32_bytes(Sum (&d)[SUMS], uint64_t a, uint64_t b, bool accumulate) {
  static_assert(SUMS == 32 || SUMS == 48 || SUMS == 64 || SUMS == 96 || SUMS == 128);
  constexpr bool a_e4m3 = std::is_same_v<A, __nv_fp8_e4m3>, b_e4m3 = std::is_same_v<B, __nv_fp8_e4m3>;
  if constexpr (std::is_same_v<A, int8_t>) {
    static_assert(std::is_same_v<B, int8_t>);
    wgmma_m64k32(d, a, b, accumulate);
  } else if constexpr (std::is_same_v<A, tf32_t>) {
    static_assert(std::is_same_v<B, tf32_t> && std::is_same_v<Sum, float>);
    WGMMA_OF("k8.f32.tf32.tf32");
  } else if constexpr (a_e4m3 && b_e4m3) {
    WGMMA_OF("k32.f32.e4m3.e4m3");
  } else {
    static_assert(std::is_same_v<A, __nv_fp8_e5m2> && b_e4m3 && std::is_same_v<Sum, float>);
    WGMMA_OF("k32.f32.e5m2.e4m3");
  }
}

#undef WGMMA_OF
#undef WGMMA
#undef NAMES_128
#undef NAMES_96
#undef NAMES_64
#undef NAMES_48
#undef NAMES_32
#undef SUMS_128
#undef SUMS_96
#undef SUMS_64
#undef SUMS_48
#undef SUMS_32
#undef SUMS_8
