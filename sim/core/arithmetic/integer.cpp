/// Integer arithmetic, bits, comparisons, predicates, moves (PTX ISA 9.7.1, 9.7.2, 9.7.6, 9.7.8, 9.7.9).
#include <bit>
#include <limits>

#include "core/arithmetic/comparison.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

using s128 = __int128;
using u128 = unsigned __int128;

/// Twice as wide a type, for mul.wide and mul.hi.
template <class T>
struct Wider;
template <>
struct Wider<u16> {
  using type = u32;
};
template <>
struct Wider<s16> {
  using type = s32;
};
template <>
struct Wider<u32> {
  using type = u64;
};
template <>
struct Wider<s32> {
  using type = s64;
};
template <>
struct Wider<u64> {
  using type = u128;
};
template <>
struct Wider<s64> {
  using type = s128;
};
template <class T>
using wider = typename Wider<T>::type;

/// Low half of a product: in the wider unsigned type, where overflow is defined.
template <class T>
T low_product(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}

template <class T>
T high_product(T a, T b) {
  return static_cast<T>(static_cast<wider<T>>(a) * b >> (8 * sizeof(T)));
}

template <class T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b));
}

template <class T>
T difference(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b));
}

/// Division by zero gives all ones, as the hardware's routine does; the one quotient that overflows wraps.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return difference<T>(0, a);
  }
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

/// What add, mul, min and their like mean for one type; `name` is "s32".
template <class T>
[[gnu::cold]] void add_arithmetic(Table& table, const std::string& name) {
  const std::string alike = sizeof(T) == 2 ? "{s16,u16}" : sizeof(T) == 4 ? "{s32,u32}" : "{s64,u64}";
  if constexpr (std::is_unsigned_v<T>) {  // the bits are the same for both signs
    table.lanewise<[](T a, T b) { return sum(a, b); }>("add." + alike, Class::integer);
    table.lanewise<[](T a, T b) { return difference(a, b); }>("sub." + alike, Class::integer);
    table.lanewise<[](T a, T b) { return low_product(a, b); }>("mul.lo." + alike, Class::integer);
    table.lanewise<[](T a, T b, T c) { return sum(low_product(a, b), c); }>("mad.lo." + alike, Class::integer);
  } else {
    table.lanewise<[](T a) { return a < 0 ? difference<T>(0, a) : a; }>("abs." + name, Class::integer);
    table.lanewise<[](T a) { return difference<T>(0, a); }>("neg." + name, Class::integer);
  }
  table.lanewise<[](T a, T b) { return high_product(a, b); }>("mul.hi." + name, Class::integer);
  table.lanewise<[](T a, T b, T c) { return sum(high_product(a, b), c); }>("mad.hi." + name, Class::integer);
  table.lanewise<[](T a, T b) { return quotient(a, b); }>("div." + name, Class::integer);
  table.lanewise<[](T a, T b) { return remainder(a, b); }>("rem." + name, Class::integer);
  table.lanewise<[](T a, T b) { return a < b ? a : b; }>("min." + name, Class::integer);
  table.lanewise<[](T a, T b) { return a < b ? b : a; }>("max." + name, Class::integer);
  table.lanewise<[](T a, u32 n) -> T {
    constexpr u32 bits = 8 * sizeof(T);
    return n < bits ? static_cast<T>(a >> n) : std::is_signed_v<T> ? static_cast<T>(a >> (bits - 1)) : T{0};
  }>("shr." + name, Class::integer);
  if constexpr (sizeof(T) < 8) {
    table.lanewise<[](T a, T b) { return static_cast<wider<T>>(a) * b; }>("mul.wide." + name, Class::integer);
    table.lanewise<[](T a, T b, wider<T> c) { return sum<wider<T>>(static_cast<wider<T>>(a) * b, c); }>(
        "mad.wide." + name, Class::integer);
  }
}

/// Bitwise operations of one width; `names` are the types that spell it.
template <class T>
[[gnu::cold]] void add_bitwise(Table& table, const std::string& width) {
  constexpr u32 bits = 8 * sizeof(T);
  table.lanewise<[](T a, T b) -> T { return a & b; }>("and.b" + width, Class::integer);
  table.lanewise<[](T a, T b) -> T { return a | b; }>("or.b" + width, Class::integer);
  table.lanewise<[](T a, T b) -> T { return a ^ b; }>("xor.b" + width, Class::integer);
  table.lanewise<[](T a) -> T { return static_cast<T>(~a); }>("not.b" + width, Class::integer);
  table.lanewise<[](T a) -> T { return a == 0; }>("cnot.b" + width, Class::integer);
  table.lanewise<[](T a, u32 n) -> T { return n < bits ? static_cast<T>(a << n) : T{0}; }>("shl.b" + width,
                                                                                           Class::integer);
  table.lanewise<[](T a, u32 n) -> T { return n < bits ? static_cast<T>(a >> n) : T{0}; }>("shr.b" + width,
                                                                                           Class::integer);
  table.lanewise<[](T a, T b, bool p) { return p ? a : b; }>("selp.{b" + width + ",s" + width + ",u" + width + "}",
                                                             Class::predicate);
  table.lanewise<[](T a) { return a; }>("mov.{b" + width + ",s" + width + ",u" + width + "}", Class::move);
}

template <class T>
T reversed(T a) {
  T b = 0;
  for (u32 i = 0; i < 8 * sizeof(T); ++i) b |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
  return b;
}

/// bfe: `length` bits from bit `position` on; beyond the top, copies of the sign (0 for unsigned).
template <class T>
T extracted(T a, u32 position, u32 length) {
  constexpr u32 bits = 8 * sizeof(T);
  position &= 0xff, length &= 0xff;
  if (length == 0) return 0;
  const u32 top = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
  const bool sign = std::is_signed_v<T> && (static_cast<u64>(a) >> top & 1);
  T result = 0;
  for (u32 i = 0; i < bits; ++i) {
    const bool bit = i < length && position + i < bits ? static_cast<u64>(a) >> (position + i) & 1 : sign;
    result = static_cast<T>(static_cast<u64>(result) | u64{bit} << i);
  }
  return result;
}

/// bfi: the low `length` bits of a put into b at `position`.
template <class T>
T inserted(T a, T b, u32 position, u32 length) {
  position &= 0xff, length &= 0xff;
  for (u32 i = 0; i < length && position + i < 8 * sizeof(T); ++i) {
    const T bit = T{1} << (position + i);
    b = (b & ~bit) | ((a >> i & 1) << (position + i));
  }
  return b;
}

/// bfind: position of the highest bit that is not the sign, or all ones; shiftamt: how far to shift it to the top.
template <class T, bool shift>
u32 found_bit(T a) {
  using U = std::make_unsigned_t<T>;
  U bits = static_cast<U>(a);
  if (std::is_signed_v<T> && a < T{0}) bits = ~bits;
  if (bits == 0) return ~0u;
  const u32 position = 8 * sizeof(T) - 1 - static_cast<u32>(std::countl_zero(bits));
  return shift ? 8 * sizeof(T) - 1 - position : position;
}

/// prmt: four bytes picked from the eight of a and b; bit 3 of a selector copies the byte's sign instead.
u32 permuted(u32 a, u32 b, u32 selectors) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 selector = selectors >> 4 * i & 0xf;
    u32 byte = static_cast<u32>(bytes >> 8 * (selector & 7)) & 0xff;
    if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/// lop3: each bit of the result is looked up in `table` by the bits of a, b and c.
u32 looked_up(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 row = 0; row < 8; ++row) {
    if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return result;
}

u32 dot_bytes(auto a0, auto b0, u32 a, u32 b, u32 c) {
  using A = decltype(a0);
  using B = decltype(b0);
  for (u32 i = 0; i < 32; i += 8) c += static_cast<u32>(s32{static_cast<A>(a >> i)} * s32{static_cast<B>(b >> i)});
  return c;
}

template <class T>
[[gnu::cold]] void add_equality(Table& table, const std::string& type) {
  add_setp<T, [](T a, T b) { return a == b; }>(table, {"eq", "", type});
  add_setp<T, [](T a, T b) { return a != b; }>(table, {"ne", "", type});
}

template <class T>
[[gnu::cold]] void add_order(Table& table, const std::string& type) {
  const bool is_unsigned = std::is_unsigned_v<T>;
  add_setp<T, [](T a, T b) { return a < b; }>(table, {is_unsigned ? "{lt,lo}" : "lt", "", type});
  add_setp<T, [](T a, T b) { return a <= b; }>(table, {is_unsigned ? "{le,ls}" : "le", "", type});
  add_setp<T, [](T a, T b) { return (a > b); }>(table, {is_unsigned ? "{gt,hi}" : "gt", "", type});
  add_setp<T, [](T a, T b) { return a >= b; }>(table, {is_unsigned ? "{ge,hs}" : "ge", "", type});
}

template <class T>
[[gnu::cold]] void add_integer_type(Table& table, const std::string& name) {
  add_arithmetic<T>(table, name);
  add_equality<T>(table, name);
  add_order<T>(table, name);
}

[[gnu::cold]] void add_predicates(Table& table) {
  table.lanewise<[](bool a, bool b) { return a && b; }>("and.pred", Class::predicate);
  table.lanewise<[](bool a, bool b) { return a || b; }>("or.pred", Class::predicate);
  table.lanewise<[](bool a, bool b) { return a != b; }>("xor.pred", Class::predicate);
  table.lanewise<[](bool a) { return !a; }>("not.pred", Class::predicate);
  table.lanewise<[](bool a) { return a; }>("mov.pred", Class::predicate);
}

[[gnu::cold]] void add_bit_fields(Table& table) {
  table.lanewise<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>("popc.b32", Class::integer);
  table.lanewise<[](u64 a) { return static_cast<u32>(std::popcount(a)); }>("popc.b64", Class::integer);
  table.lanewise<[](u32 a) { return static_cast<u32>(std::countl_zero(a)); }>("clz.b32", Class::integer);
  table.lanewise<[](u64 a) { return static_cast<u32>(std::countl_zero(a)); }>("clz.b64", Class::integer);
  table.lanewise<[](u32 a) { return reversed(a); }>("brev.b32", Class::integer);
  table.lanewise<[](u64 a) { return reversed(a); }>("brev.b64", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return extracted(a, b, c); }>("bfe.u32", Class::integer);
  table.lanewise<[](s32 a, u32 b, u32 c) { return extracted(a, b, c); }>("bfe.s32", Class::integer);
  table.lanewise<[](u64 a, u32 b, u32 c) { return extracted(a, b, c); }>("bfe.u64", Class::integer);
  table.lanewise<[](s64 a, u32 b, u32 c) { return extracted(a, b, c); }>("bfe.s64", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c, u32 d) { return inserted(a, b, c, d); }>("bfi.b32", Class::integer);
  table.lanewise<[](u64 a, u64 b, u32 c, u32 d) { return inserted(a, b, c, d); }>("bfi.b64", Class::integer);
  table.lanewise<[](u32 a) { return found_bit<u32, false>(a); }>("bfind.u32", Class::integer);
  table.lanewise<[](s32 a) { return found_bit<s32, false>(a); }>("bfind.s32", Class::integer);
  table.lanewise<[](u64 a) { return found_bit<u64, false>(a); }>("bfind.u64", Class::integer);
  table.lanewise<[](s64 a) { return found_bit<s64, false>(a); }>("bfind.s64", Class::integer);
  table.lanewise<[](u32 a) { return found_bit<u32, true>(a); }>("bfind.shiftamt.u32", Class::integer);
  table.lanewise<[](s32 a) { return found_bit<s32, true>(a); }>("bfind.shiftamt.s32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return permuted(a, b, c); }>("prmt.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c, u32 d) { return looked_up(a, b, c, d); }>("lop3.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 n) { return static_cast<u32>((u64{b} << 32 | a) << (n & 31) >> 32); }>(
      "shf.l.wrap.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 n) { return static_cast<u32>((u64{b} << 32 | a) >> (n & 31)); }>("shf.r.wrap.b32",
                                                                                                       Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 n) { return static_cast<u32>((u64{b} << 32 | a) << (n < 32 ? n : 32) >> 32); }>(
      "shf.l.clamp.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 n) { return static_cast<u32>((u64{b} << 32 | a) >> (n < 32 ? n : 32)); }>(
      "shf.r.clamp.b32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return dot_bytes(u8{}, u8{}, a, b, c); }>("dp4a.u32.u32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return dot_bytes(s8{}, s8{}, a, b, c); }>("dp4a.s32.s32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return dot_bytes(s8{}, u8{}, a, b, c); }>("dp4a.s32.u32", Class::integer);
  table.lanewise<[](u32 a, u32 b, u32 c) { return dot_bytes(u8{}, s8{}, a, b, c); }>("dp4a.u32.s32", Class::integer);
}

}  // namespace

[[gnu::cold]] void add_integer(Table& table) {
  add_integer_type<u16>(table, "u16");
  add_integer_type<s16>(table, "s16");
  add_integer_type<u32>(table, "u32");
  add_integer_type<s32>(table, "s32");
  add_integer_type<u64>(table, "u64");
  add_integer_type<s64>(table, "s64");
  add_equality<u16>(table, "b16");
  add_equality<u32>(table, "b32");
  add_equality<u64>(table, "b64");
  add_bitwise<u16>(table, "16");
  add_bitwise<u32>(table, "32");
  add_bitwise<u64>(table, "64");
  add_bit_fields(table);
  add_predicates(table);
}

}  // namespace sim
