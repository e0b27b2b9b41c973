// wgmma for types that no step uses: FP16 sums, TF32, FP8. sm_90a; common/device/ptx/wgmma.h has BF16 and FP16 with
// FP32 sums, the fences and the descriptors. Both operands are K-major: the last two have no other form.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "common/device/ptx/wgmma.h"
#include "common/device/types.h"

#define REGISTERS_8(KIND, i)                                                                                  \
  KIND(d[i]), KIND(d[i + 1]), KIND(d[i + 2]), KIND(d[i + 3]), KIND(d[i + 4]), KIND(d[i + 5]), KIND(d[i + 6]), \
      KIND(d[i + 7])
#define REGISTERS_64(KIND, i)                                                                           \
  REGISTERS_8(KIND, i), REGISTERS_8(KIND, i + 8), REGISTERS_8(KIND, i + 16), REGISTERS_8(KIND, i + 24), \
      REGISTERS_8(KIND, i + 32), REGISTERS_8(KIND, i + 40), REGISTERS_8(KIND, i + 48), REGISTERS_8(KIND, i + 56)
#define FLOAT(register) "+f"(register)
#define PAIR(register) "+r"(register)
#define NAMES_64                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128                                                                      \
  NAMES_64                                                                             \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "   \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "   \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// FLAGS: behind whether to add, the signs of A and B and, for 16-bit types, their majors.
#define WGMMA(FORM, NAMES, A, B, FLAGS, ...)                                                    \
  asm volatile(                                                                                 \
      "{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"                                            \
      "wgmma.mma_async.sync.aligned." FORM " {" NAMES "}, %" A ", %" B ", add, " FLAGS ";\n}\n" \
      : __VA_ARGS__                                                                             \
      : "l"(a), "l"(b))

/// d += a × b for a 64×16 of FP16 and sums in FP16: a register holds two neighbours of a row.
__device__ __forceinline__ void wgmma_f16_sums(uint32_t (&d)[64], uint64_t a, uint64_t b) {
  WGMMA("m64n256k16.f16.f16.f16", NAMES_64, "64", "65", "1, 1, 0, 0", REGISTERS_64(PAIR, 0));
}

/// d += a × b for 64×8 of TF32.
__device__ __forceinline__ void wgmma_tf32(float (&d)[128], uint64_t a, uint64_t b) {
  WGMMA("m64n256k8.f32.tf32.tf32", NAMES_128, "128", "129", "1, 1", REGISTERS_64(FLOAT, 0), REGISTERS_64(FLOAT, 64));
}

/// d += a × b for 64×32 of FP8, e4m3.
__device__ __forceinline__ void wgmma_e4m3(float (&d)[128], uint64_t a, uint64_t b) {
  WGMMA("m64n256k32.f32.e4m3.e4m3", NAMES_128, "128", "129", "1, 1", REGISTERS_64(FLOAT, 0), REGISTERS_64(FLOAT, 64));
}

#undef WGMMA
#undef NAMES_128
#undef NAMES_64
#undef PAIR
#undef FLOAT
#undef REGISTERS_64
#undef REGISTERS_8

/// d += a × b by the one instruction for elements of this type and these sums: 32 bytes of k, all the columns that the
/// sums have room for.
template <class Element, class Sum, int SUMS>
__device__ __forceinline__ void multiply(Sum (&d)[SUMS], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<Element, tf32_t>)
    wgmma_tf32(d, a, b);
  else if constexpr (std::is_same_v<Element, __nv_fp8_e4m3>)
    wgmma_e4m3(d, a, b);
  else if constexpr (std::is_same_v<Sum, uint32_t>)
    wgmma_f16_sums(d, a, b);
  else
    wgmma_m64k16<Element, Major::K>(d, a, b, true);
}
