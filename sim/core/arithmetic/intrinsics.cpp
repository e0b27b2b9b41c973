/// Integer instructions that only an intrinsic leads to: __mul24, __sad, __dp2a, __fns, the differences of bytes, and
/// saturating sums (PTX ISA 9.7.1, 9.7.17).
#include <bit>
#include <limits>
#include <string>

#include "core/warp/forms.h"

namespace sim {
namespace {

/// The product of the low 24 bits, taken with their sign: its low 32 bits, or its bits 16 to 47.
template <class T, bool high>
T product_of_24(T a, T b) {
  const auto cut = [](T x) {
    return static_cast<s64>(std::is_signed_v<T> ? static_cast<s64>(static_cast<s32>(static_cast<u32>(x) << 8) >> 8)
                                                : static_cast<s64>(static_cast<u32>(x) & 0xffffff));
  };
  const s64 product = cut(a) * cut(b);
  return static_cast<T>(high ? product >> 16 : product);
}

template <class T>
[[gnu::cold]] void add_24_bits(Table& table, const std::string& type) {
  table.lanewise<[](T a, T b) { return product_of_24<T, false>(a, b); }>("mul24.lo." + type, Class::integer);
  table.lanewise<[](T a, T b) { return product_of_24<T, true>(a, b); }>("mul24.hi." + type, Class::integer);
  table.lanewise<[](T a, T b, T c) { return static_cast<T>(u32(product_of_24<T, false>(a, b)) + u32(c)); }>(
      "mad24.lo." + type, Class::integer);
  table.lanewise<[](T a, T b, T c) { return static_cast<T>(u32(product_of_24<T, true>(a, b)) + u32(c)); }>(
      "mad24.hi." + type, Class::integer);
}

/// sad: the absolute difference of a and b, added to c.
template <class T>
[[gnu::cold]] void add_difference(Table& table, const std::string& type) {
  table.lanewise<[](T a, T b, T c) -> T {
    return static_cast<T>(u64(c) + (a < b ? u64(b) - u64(a) : u64(a) - u64(b)));
  }>("sad." + type, Class::integer);
}

s32 saturated_to_32(s64 x) {
  using limits = std::numeric_limits<s32>;
  return static_cast<s32>(x < limits::min() ? limits::min() : x > limits::max() ? limits::max() : x);
}

/// dp2a: two halves of a times two bytes of b, its lower or its upper two.
template <class Half, class Byte, u32 first_byte>
u32 dot_halves(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 2; ++i) {
    const s32 half = static_cast<Half>(a >> 16 * i), byte = static_cast<Byte>(b >> 8 * (first_byte + i));
    c += static_cast<u32>(half * byte);
  }
  return c;
}

template <class Half, class Byte>
[[gnu::cold]] void add_dot_halves(Table& table, const std::string& types) {
  table.lanewise<dot_halves<Half, Byte, 0>>("dp2a.lo." + types, Class::integer);
  table.lanewise<dot_halves<Half, Byte, 2>>("dp2a.hi." + types, Class::integer);
}

/// fns: position of the n-th set bit from `base` on, upwards for n > 0, downwards for n < 0; all ones where there is
/// none. n = 0 asks for the bit at the base itself.
u32 nth_set_bit(u32 mask, u32 base, s32 n) {
  base &= 31;
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  const s32 step = n > 0 ? 1 : -1;
  for (s32 at = static_cast<s32>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) && (n -= step) == 0) return static_cast<u32>(at);
  }
  return ~0u;
}

/// vabsdiff4: the absolute differences of four bytes; with `.add`, their sum added to c.
u32 byte_differences(u32 a, u32 b, bool sums, u32 c) {
  u32 packed = 0;
  for (u32 shift = 0; shift < 32; shift += 8) {
    const u32 x = a >> shift & 0xff, y = b >> shift & 0xff, size = x < y ? y - x : x - y;
    packed |= size << shift;
    c += size;
  }
  return sums ? c : packed;
}

}  // namespace

[[gnu::cold]] void add_intrinsics(Table& table) {
  add_24_bits<u32>(table, "u32");
  add_24_bits<s32>(table, "s32");
  add_difference<u16>(table, "u16");
  add_difference<s16>(table, "s16");
  add_difference<u32>(table, "u32");
  add_difference<s32>(table, "s32");
  add_difference<u64>(table, "u64");
  add_difference<s64>(table, "s64");
  table.lanewise<[](s32 a, s32 b) { return saturated_to_32(s64{a} + b); }>("add.sat.s32", Class::integer);
  table.lanewise<[](s32 a, s32 b) { return saturated_to_32(s64{a} - b); }>("sub.sat.s32", Class::integer);
  add_dot_halves<u16, u8>(table, "u32.u32");
  add_dot_halves<s16, s8>(table, "s32.s32");
  add_dot_halves<s16, u8>(table, "s32.u32");
  add_dot_halves<u16, s8>(table, "u32.s32");
  table.lanewise<nth_set_bit>("fns.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32) { return byte_differences(a, b, false, 0); }>("vabsdiff4.u32.u32.u32",
                                                                                     Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return byte_differences(a, b, true, c); }>("vabsdiff4.u32.u32.u32.add",
                                                                                      Class::integer);
}

}  // namespace sim
