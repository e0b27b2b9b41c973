// mma.sync: d += a * b on tensor cores, all three in the registers of one warp. sm_80 and later; PTX ISA, "Matrix
// Fragments for mma.m16n8k16 with floating point type" and "… mma.m16n8k8": who holds which element.
//
// With group = lane / 4 and pair = lane % 4 * 2, elements in pairs of 16 bits, the lower column (a) or row (b) first:
//   a[0]: (group, pair)   a[1]: (group + 8, pair)   a[2]: (group, pair + 8)   a[3]: (group + 8, pair + 8)    16×16
//   b[0]: (pair, group)   b[1]: (pair + 8, group)                                                           16×8
//   d[0], d[1]: (group, pair) and the next column; d[2], d[3]: row group + 8. As FP16: d[0] and d[1], a pair each.
// No "memory": registers only. volatile: the order of the source stands until ptxas schedules.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/device/types.h"

/// FP16 in, FP16 sums. b: two registers.
template <class AB = __half>
__device__ __forceinline__ void mma_m16n8k16(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t* b) {
  static_assert(std::is_same_v<AB, __half>, "FP16 sums exist for FP16 inputs only");
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};\n"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// FP16 (AB = __half) or BF16 (AB = __nv_bfloat16) in, FP32 sums. b: two registers.
template <class AB = __half>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
  static_assert(std::is_same_v<AB, __half> || std::is_same_v<AB, __nv_bfloat16>, "16-bit floating-point inputs");
  if constexpr (std::is_same_v<AB, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// TF32 in (FP32 bits, rounded by cvt.rna.tf32), FP32 sums. 16×8 times 8×8, one element a register; place = lane % 4:
/// a[0]: (group, place)   a[1]: (group + 8, place)   a[2], a[3]: place + 4   b[0]: (place, group)   b[1]: place + 4
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
