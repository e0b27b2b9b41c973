/// The vectors in which tiles are widened and rounded, and the formats of their factors.
#pragma once

#include "core/base/types.h"

// Vectors are passed between functions that are inlined, so that how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]

namespace sim::tensor {

template <class T, int count>
using Vector [[gnu::vector_size(sizeof(T) * count), gnu::may_alias]] = T;
using Bits = Vector<u32, 16>;
using Signed = Vector<s32, 16>;
using Exponents = Vector<s16, 16>;
using Halves = Vector<u16, 16>;
using Eight = Vector<u32, 8>;

/// A format of few bits: how many its exponent and its mantissa have.
template <u32 exponent_bits, u32 mantissa_bits, bool has_infinity>
struct Small {
  static constexpr u32 bias = (1u << (exponent_bits - 1)) - 1;
  static constexpr s32 least_exponent = 1 - static_cast<s32>(bias);

  /// The bits of f32 of the same value.
  [[gnu::always_inline]] static inline Bits widened(Bits all) {
    constexpr u32 sign = 1u << (exponent_bits + mantissa_bits), moved = 23 - mantissa_bits, rebias = (127 - bias) << 23;
    constexpr u32 first_special = has_infinity ? ((1u << exponent_bits) - 1) << mantissa_bits : sign - 1;
    constexpr f32 unit = 1.0f / static_cast<f32>(1u << (bias - 1 + mantissa_bits));  // of a subnormal number
    const Bits size = all & (sign - 1);
    const auto subnormal = (Bits)(__builtin_convertvector((Signed)size, Vector<f32, 16>) * unit);
    const Bits special = has_infinity ? (size << moved) + 2 * rebias : Bits{} + 0x7fffffffu;
    const Bits normal = size >= first_special ? special : (size << moved) + rebias;
    return (size < (1u << mantissa_bits) ? subnormal : normal) | (all & sign) << (31 - exponent_bits - mantissa_bits);
  }
};
using F16 = Small<5, 10, true>;
using E5m2 = Small<5, 2, true>;
using E4m3 = Small<4, 3, false>;

/// The formats with the exponents of f32.
template <class T, u32 moved, u32 mask>
struct Wide {
  static constexpr s32 least_exponent = -126;
  [[gnu::always_inline]] static inline Bits widened(Bits all) { return all << moved & mask; }
};
using Bf16 = Wide<u16, 16, ~0u>;
using Tf32 = Wide<u32, 0, ~0x1fffu>;

/// The elements of two vectors in turns: first those of their lower halves, then those of their upper ones.
template <class V>
[[gnu::always_inline]] inline V lower_in_turns(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <class V>
[[gnu::always_inline]] inline V upper_in_turns(V a, V b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

}  // namespace sim::tensor
