/// Conversions (PTX ISA 9.7.9.21): between integers of any width, integers and floating point, and the rounding of one
/// precision.
#include <cmath>
#include <limits>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/rounding.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// Rounds to a whole number as `.rni`, `.rzi`, `.rmi`, `.rpi` say.
enum class Whole { nearest, zero, down, up };
template <Whole how, class T>
T whole(T x) {
  switch (how) {
    case Whole::nearest: return std::nearbyint(x);  // the host rounds to even unless told otherwise
    case Whole::zero: return std::trunc(x);
    case Whole::down: return std::floor(x);
    case Whole::up: return std::ceil(x);
  }
  return x;
}

/// Floating point to integer clamps to the integer's range. NaN becomes 0 in 32 bits or fewer, the smallest number
/// in 64.
template <class I, class T>
I clamped(T x) {
  if (x != x) return sizeof(I) < 8 ? I{0} : static_cast<I>(u64{1} << 63);
  constexpr T low = static_cast<T>(std::numeric_limits<I>::min());
  const T above = std::ldexp(T{1}, std::numeric_limits<I>::digits);  // the first value that is too large
  if (x < low) return std::numeric_limits<I>::min();
  if (x >= above) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}

template <class I, class T>
[[gnu::cold]] void add_to_integer(Table& table, const std::string& types) {
  table.lanewise<[](T x) { return clamped<I>(whole<Whole::nearest>(x)); }>("cvt.rni." + types, Class::convert);
  table.lanewise<[](T x) { return clamped<I>(whole<Whole::zero>(x)); }>("cvt.rzi." + types, Class::convert);
  table.lanewise<[](T x) { return clamped<I>(whole<Whole::down>(x)); }>("cvt.rmi." + types, Class::convert);
  table.lanewise<[](T x) { return clamped<I>(whole<Whole::up>(x)); }>("cvt.rpi." + types, Class::convert);
}

template <class T>
[[gnu::cold]] void add_whole(Table& table, const std::string& types) {
  table.lanewise<[](T x) { return whole<Whole::nearest>(x); }>("cvt.rni." + types, Class::convert);
  table.lanewise<[](T x) { return whole<Whole::zero>(x); }>("cvt.rzi." + types, Class::convert);
  table.lanewise<[](T x) { return whole<Whole::down>(x); }>("cvt.rmi." + types, Class::convert);
  table.lanewise<[](T x) { return whole<Whole::up>(x); }>("cvt.rpi." + types, Class::convert);
}

template <class To, class From>
To converted(From x) {
  return static_cast<To>(x);
}

template <class To, class From>
[[gnu::cold]] void add_rounded(Table& table, const std::string& types) {
  constexpr auto convert = converted<To, From>;
  table.lanewise<convert>("cvt.rn." + types, Class::convert);
  table.lanewise<[](From x) { return rounding::converted<To>(Round::zero, x); }>("cvt.rz." + types, Class::convert);
  table.lanewise<[](From x) { return rounding::converted<To>(Round::down, x); }>("cvt.rm." + types, Class::convert);
  table.lanewise<[](From x) { return rounding::converted<To>(Round::up, x); }>("cvt.rp." + types, Class::convert);
}

/// Integer to integer: widened by the source's sign, or cut.
template <class To, class From>
[[gnu::cold]] void add_resized(Table& table, const std::string& to, const std::string& from) {
  table.lanewise<[](From x) { return static_cast<To>(x); }>("cvt." + to + "." + from, Class::convert);
}

template <class From>
[[gnu::cold]] void add_from_integer(Table& table, const std::string& from) {
  add_resized<u16, From>(table, "{u16,s16}", from);
  add_resized<u32, From>(table, "{u32,s32}", from);
  add_resized<u64, From>(table, "{u64,s64}", from);
  // To eight bits, in a register of 16 or 32: the result fills the register by its sign.
  table.lanewise<[](From x) { return static_cast<u16>(static_cast<u8>(x)); }>("cvt.u8." + from, Class::convert);
  table.lanewise<[](From x) { return static_cast<u32>(static_cast<u8>(x)); }>("cvt.u8." + from, Class::convert);
  table.lanewise<[](From x) { return static_cast<u16>(static_cast<s8>(x)); }>("cvt.s8." + from, Class::convert);
  table.lanewise<[](From x) { return static_cast<u32>(static_cast<s8>(x)); }>("cvt.s8." + from, Class::convert);
  add_rounded<f32, From>(table, "f32." + from);
  add_rounded<f64, From>(table, "f64." + from);
}

/// From eight bits that lie in a register of type R.
template <class V, class R>
[[gnu::cold]] void add_from_byte(Table& table, const std::string& from) {
  table.lanewise<[](R x) { return static_cast<u16>(static_cast<V>(x)); }>("cvt.{u16,s16}." + from, Class::convert);
  table.lanewise<[](R x) { return static_cast<u32>(static_cast<V>(x)); }>("cvt.{u32,s32}." + from, Class::convert);
  table.lanewise<[](R x) { return static_cast<u64>(static_cast<V>(x)); }>("cvt.{u64,s64}." + from, Class::convert);
  table.lanewise<[](R x) { return static_cast<f32>(static_cast<V>(x)); }>("cvt.rn.f32." + from, Class::convert);
  table.lanewise<[](R x) { return static_cast<f64>(static_cast<V>(x)); }>("cvt.rn.f64." + from, Class::convert);
}

/// `.ftz` of single precision: a subnormal operand, or result, becomes a zero of its sign.
template <class I>
[[gnu::cold]] void add_flushing_to_integer(Table& table, const std::string& type) {
  table.lanewise<[](f32 x) { return clamped<I>(whole<Whole::nearest>(flushed(x))); }>("cvt.rni.ftz." + type + ".f32",
                                                                                      Class::convert);
  table.lanewise<[](f32 x) { return clamped<I>(whole<Whole::zero>(flushed(x))); }>("cvt.rzi.ftz." + type + ".f32",
                                                                                   Class::convert);
  table.lanewise<[](f32 x) { return clamped<I>(whole<Whole::down>(flushed(x))); }>("cvt.rmi.ftz." + type + ".f32",
                                                                                   Class::convert);
  table.lanewise<[](f32 x) { return clamped<I>(whole<Whole::up>(flushed(x))); }>("cvt.rpi.ftz." + type + ".f32",
                                                                                 Class::convert);
}

[[gnu::cold]] void add_flushing(Table& table) {
  add_flushing_to_integer<s16>(table, "s16");
  add_flushing_to_integer<u16>(table, "u16");
  add_flushing_to_integer<s32>(table, "s32");
  add_flushing_to_integer<u32>(table, "u32");
  add_flushing_to_integer<s64>(table, "s64");
  add_flushing_to_integer<u64>(table, "u64");
  table.lanewise<[](f32 x) { return whole<Whole::nearest>(flushed(x)); }>("cvt.rni.ftz.f32.f32", Class::convert);
  table.lanewise<[](f32 x) { return whole<Whole::zero>(flushed(x)); }>("cvt.rzi.ftz.f32.f32", Class::convert);
  table.lanewise<[](f32 x) { return whole<Whole::down>(flushed(x)); }>("cvt.rmi.ftz.f32.f32", Class::convert);
  table.lanewise<[](f32 x) { return whole<Whole::up>(flushed(x)); }>("cvt.rpi.ftz.f32.f32", Class::convert);
  table.lanewise<[](f32 x) { return f64{flushed(x)}; }>("cvt.ftz.f64.f32", Class::convert);
  table.lanewise<[](f64 x) { return flushed(static_cast<f32>(x)); }>("cvt.rn.ftz.f32.f64", Class::convert);
  table.lanewise<[](f32 x) { return saturated(flushed(x)); }>("cvt.ftz.sat.f32.f32", Class::convert);
}

template <class T>
[[gnu::cold]] void add_from_floating(Table& table, const std::string& from) {
  add_to_integer<s16, T>(table, "s16." + from);
  add_to_integer<u16, T>(table, "u16." + from);
  add_to_integer<s32, T>(table, "s32." + from);
  add_to_integer<u32, T>(table, "u32." + from);
  add_to_integer<s64, T>(table, "s64." + from);
  add_to_integer<u64, T>(table, "u64." + from);
  add_whole<T>(table, from + "." + from);
}

}  // namespace

[[gnu::cold]] void add_convert(Table& table) {
  add_from_integer<u16>(table, "u16");
  add_from_integer<s16>(table, "s16");
  add_from_integer<u32>(table, "u32");
  add_from_integer<s32>(table, "s32");
  add_from_integer<u64>(table, "u64");
  add_from_integer<s64>(table, "s64");
  add_from_byte<u8, u16>(table, "u8");
  add_from_byte<u8, u32>(table, "u8");
  add_from_byte<s8, u16>(table, "s8");
  add_from_byte<s8, u32>(table, "s8");
  add_from_floating<f32>(table, "f32");
  add_from_floating<f64>(table, "f64");
  add_rounded<f32, f64>(table, "f32.f64");
  table.lanewise<[](f32 x) { return static_cast<f64>(x); }>("cvt.f64.f32", Class::convert);
  table.lanewise<[](f32 x) { return std::fmin(std::fmax(x, 0.0f), 1.0f); }>("cvt.sat.f32.f32", Class::convert);
  table.lanewise<[](f64 x) { return std::fmin(std::fmax(x, 0.0), 1.0); }>("cvt.sat.f64.f64", Class::convert);
  add_flushing(table);
}

}  // namespace sim
