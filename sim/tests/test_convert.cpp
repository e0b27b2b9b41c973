// Conversions between every pair of types, with every rounding.
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <tuple>

#include "evaluate.h"

namespace sim::testing::test_convert {
namespace {

template <class To, class From>
void expect_resized(const std::string& to, const std::string& from) {
  expect_like<To, From>("cvt." + to + "." + from, [](From x) { return static_cast<To>(static_cast<__int128>(x)); }, 4);
}

template <class From>
void expect_to_every_integer(const std::string& from) {
  for (const char* to : {"u16", "s16"}) expect_resized<u16, From>(to, from);
  for (const char* to : {"u32", "s32"}) expect_resized<u32, From>(to, from);
  for (const char* to : {"u64", "s64"}) expect_resized<u64, From>(to, from);
  expect_like<u32, From>("cvt.u8." + from, [](From x) { return static_cast<u32>(static_cast<u64>(x) % 256); }, 4);
  expect_like<u16, From>("cvt.u8." + from, [](From x) { return static_cast<u16>(static_cast<u64>(x) % 256); }, 4);
  const auto sign = [](From x) { return static_cast<s8>(x); };
  expect_like<u32, From>("cvt.s8." + from, [=](From x) { return static_cast<u32>(sign(x)); }, 4);
  expect_like<u16, From>("cvt.s8." + from, [=](From x) { return static_cast<u16>(sign(x)); }, 4);
}

TEST(Convert, BetweenIntegers) {
  for_integers([](auto x, const char* type) { expect_to_every_integer<decltype(x)>(type); });
}

template <class Register>
void expect_from_byte() {
  const auto u = [](Register x) { return static_cast<int>(x % 256); };
  const auto s = [](Register x) { return static_cast<s8>(x); };
  for (const std::string sign : {"u", "s"}) {
    expect_like<u16, Register>("cvt." + sign + "16.u8", [=](Register x) { return static_cast<u16>(u(x)); }, 3);
    expect_like<u32, Register>("cvt." + sign + "32.u8", [=](Register x) { return static_cast<u32>(u(x)); }, 3);
    expect_like<u64, Register>("cvt." + sign + "64.u8", [=](Register x) { return static_cast<u64>(u(x)); }, 3);
    expect_like<u16, Register>("cvt." + sign + "16.s8", [=](Register x) { return static_cast<u16>(s(x)); }, 3);
    expect_like<u32, Register>("cvt." + sign + "32.s8", [=](Register x) { return static_cast<u32>(s(x)); }, 3);
    expect_like<u64, Register>(
        "cvt." + sign + "64.s8", [=](Register x) { return static_cast<u64>(static_cast<s64>(s(x))); }, 3);
  }
  expect_like<f32, Register>("cvt.rn.f32.u8", [=](Register x) { return static_cast<f32>(u(x)); }, 3);
  expect_like<f32, Register>("cvt.rn.f32.s8", [=](Register x) { return static_cast<f32>(s(x)); }, 3);
  expect_like<f64, Register>("cvt.rn.f64.u8", [=](Register x) { return static_cast<f64>(u(x)); }, 3);
  expect_like<f64, Register>("cvt.rn.f64.s8", [=](Register x) { return static_cast<f64>(s(x)); }, 3);
}

TEST(Convert, FromBytesInWiderRegisters) {
  expect_from_byte<u16>();
  expect_from_byte<u32>();
}

// The neighbours of `near` that bracket the exact value, by comparing in a type that holds both exactly.
template <class To>
To directed(Exactly exact, char mode) {
  To near = static_cast<To>(exact);
  const auto step = [&](To towards) { near = std::nextafter(near, towards); };
  const To infinity = std::numeric_limits<To>::infinity();
  if (mode == 'm' && static_cast<Exactly>(near) > exact) step(-infinity);
  if (mode == 'p' && static_cast<Exactly>(near) < exact) step(infinity);
  if (mode == 'z' && exact > 0 && static_cast<Exactly>(near) > exact) step(-infinity);
  if (mode == 'z' && exact < 0 && static_cast<Exactly>(near) < exact) step(infinity);
  return near;
}

template <class To, class From>
void expect_rounded(const std::string& types) {
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    expect_like<To, From>(
        std::string("cvt.r") + mode + "." + types,
        [mode](From x) {
          if constexpr (std::is_floating_point_v<From>) {
            if (!std::isfinite(x)) return static_cast<To>(x);
            if (x == 0) return static_cast<To>(x);
          }
          To result = directed<To>(x, mode);
          if constexpr (std::is_floating_point_v<From>) {
            if (result == 0) result = std::copysign(result, x < 0 ? To(-1) : To(1));
          }
          return result;
        },
        6);
  }
}

TEST(Convert, ToFloatingPointInEveryRounding) {
  for_integers([](auto x, const std::string& type) {
    expect_rounded<f32, decltype(x)>("f32." + type);
    expect_rounded<f64, decltype(x)>("f64." + type);
  });
  expect_rounded<f32, f64>("f32.f64");
  expect_like<f64, f32>("cvt.f64.f32", [](f32 x) { return static_cast<f64>(x); });
}

template <class T>
T whole(T x, char mode) {
  return mode == 'n' ? std::rint(x) : mode == 'z' ? std::trunc(x) : mode == 'm' ? std::floor(x) : std::ceil(x);
}

template <class I, class T>
void expect_to_integer(const std::string& types) {
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    expect_like<I, T>(
        std::string("cvt.r") + mode + "i." + types,
        [mode](T x) -> I {
          using limits = std::numeric_limits<I>;
          if (std::isnan(x)) return sizeof(I) == 8 ? static_cast<I>(u64{1} << 63) : I(0);
          const Exactly rounded = whole(x, mode);
          if (rounded <= static_cast<Exactly>(limits::min())) return limits::min();
          if (rounded >= static_cast<Exactly>(limits::max())) return limits::max();
          return static_cast<I>(rounded);
        },
        6);
  }
}

template <class T>
void expect_from_floating(const std::string& from) {
  for_integers([&](auto x, const std::string& type) { expect_to_integer<decltype(x), T>(type + "." + from); });
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    expect_like<T, T>(
        std::string("cvt.r") + mode + "i." + from + "." + from, [mode](T x) { return whole(x, mode); }, 6);
  }
}

TEST(Convert, ToIntegersClampedInEveryRounding) {
  expect_from_floating<f32>("f32");
  expect_from_floating<f64>("f64");
}

std::vector<f32> telling_singles() {
  std::vector<f32> values = telling_values<f32>();
  values.resize((values.size() + 31) / 32 * 32);
  return values;
}
std::vector<f32> flushed(std::vector<f32> values) {
  for (f32& x : values) x = flush(x);
  return values;
}

template <class I>
void expect_flushed_to_integer(const std::string& type) {
  for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
    const auto x = telling_singles();
    const auto flushing = evaluate_all<I>("cvt." + mode + ".ftz." + type + ".f32", x);
    const auto of_flushed = evaluate_all<I>("cvt." + mode + "." + type + ".f32", flushed(x));
    EXPECT_EQ(flushing, of_flushed) << mode << " " << type;
  }
}

// `.ftz` takes a subnormal for a zero: rounding upwards makes no 1 of it.
TEST(Convert, FlushesSubnormals) {
  for_integers([](auto x, const char* type) { expect_flushed_to_integer<decltype(x)>(type); });
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    expect_like<f32, f32>(std::string("cvt.r") + mode + "i.ftz.f32.f32", [=](f32 x) { return whole(flush(x), mode); });
  }
  expect_like<f64, f32>("cvt.ftz.f64.f32", [=](f32 x) { return f64{flush(x)}; });
  expect_like<f32, f64>("cvt.rn.ftz.f32.f64", [=](f64 x) { return flush(static_cast<f32>(x)); });
}

// --- formats of 8 bits, integers in wider registers, bmsk ---

/// What a code of 8 bits stands for; infinite or NaN where the format says so.
f64 value_of(int code, int mantissa_bits, int bias, int largest) {
  const int exponent = (code & 127) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
  if ((code & 127) > largest) return mantissa_bits == 2 && mantissa == 0 ? (code & 128 ? -INFINITY : INFINITY) : NAN;
  const f64 size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                 : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return code & 128 ? -size : size;
}

/// The nearest code, by a search among all; of two the even one.
u8 nearest(f32 x, int mantissa_bits, int bias, int largest) {
  if (x != x) return 127;
  int best = 0;
  for (int code = 0; code <= largest; ++code) {
    const f64 away = std::fabs(value_of(code, mantissa_bits, bias, largest) - std::fabs(x));
    const f64 of_best = std::fabs(value_of(best, mantissa_bits, bias, largest) - std::fabs(x));
    if (away < of_best || (away == of_best && code % 2 == 0 && std::isfinite(x))) best = code;
  }
  if (std::isinf(x)) best = largest;
  return static_cast<u8>(best | (std::signbit(x) ? 128 : 0));
}

TEST(Convert, FormatsOfEightBits) {
  for (const auto& [name, mantissa_bits, bias, largest] :
       {std::tuple{"e4m3x2", 3, 7, 126}, std::tuple{"e5m2x2", 2, 15, 123}}) {
    const std::string type = name;
    std::vector<f32> singles;
    std::vector<u32> halves;
    std::vector<u16> codes;
    for (u32 code = 0; code < 256; ++code) {
      const auto value = static_cast<f32>(value_of(static_cast<int>(code), mantissa_bits, bias, largest));
      for (const f32 factor : {1.0f, 1.03f, 1.0625f, 1.125f}) singles.push_back(value * factor);
      codes.push_back(static_cast<u16>(code << 8 | (255 - code)));
    }
    std::vector<f32> others(singles.rbegin(), singles.rend());
    const auto two = evaluate_all<u16>("cvt.rn.satfinite." + type + ".f32", singles, others);
    const auto positive = evaluate_all<u16>("cvt.rn.satfinite.relu." + type + ".f32", singles, others);
    for (size_t i = 0; i < singles.size(); ++i) {
      const u8 high = nearest(singles[i], mantissa_bits, bias, largest);
      ASSERT_EQ(two[i] >> 8, high) << type << " " << singles[i];
      ASSERT_EQ(positive[i] >> 8, singles[i] > 0 || singles[i] != singles[i] ? high : 0) << singles[i];
      ASSERT_EQ(two[i] & 255, two[singles.size() - 1 - i] >> 8);
    }
    const auto wide = evaluate_all<u32>("cvt.rn.f16x2." + type, codes);
    const auto wide_positive = evaluate_all<u32>("cvt.rn.relu.f16x2." + type, codes);
    const auto back = evaluate_all<u16>("cvt.rn.satfinite." + type + ".f16x2", wide);
    const auto back_positive = evaluate_all<u16>("cvt.rn.satfinite.relu." + type + ".f16x2", wide);
    for (size_t i = 0; i < codes.size(); ++i) {
      const int code = codes[i] >> 8;
      const f64 value = value_of(code, mantissa_bits, bias, largest);
      ASSERT_EQ(back[i] >> 8, std::isfinite(value) ? code : std::isinf(value) ? (code & 128) | largest : 127) << code;
      ASSERT_EQ(back_positive[i] >> 8, value > 0 || value != value ? back[i] >> 8 : 0) << code;
      ASSERT_EQ(wide_positive[i] >> 16, value > 0 || value != value ? wide[i] >> 16 : 0) << code;
    }
  }
}

TEST(Convert, IntegersInWiderRegisters) {
  for (const std::string sign : {"u", "s"}) {
    expect_like<u64, u64>("cvt." + sign + "64.u32", [](u64 x) { return x & 0xffffffff; }, 3);
    expect_like<u64, u64>("cvt." + sign + "64.s32", [](u64 x) { return static_cast<u64>(static_cast<s32>(x)); }, 3);
    expect_like<u32, u64>("cvt." + sign + "32.s32", [](u64 x) { return static_cast<u32>(x); }, 3);
    expect_like<u32, u64>("cvt." + sign + "32.u32", [](u64 x) { return static_cast<u32>(x); }, 3);
    expect_like<u32, u32>("cvt." + sign + "32.s16", [](u32 x) { return static_cast<u32>(static_cast<s16>(x)); }, 3);
    expect_like<u64, u32>("cvt." + sign + "64.u16", [](u32 x) { return x & 0xffff; }, 3);
  }
  const auto mask = [](u32 first, u32 bits) {
    u64 made = 0;
    for (u32 bit = first; bit < 32 && bit - first < bits; ++bit) made |= u64{1} << bit;
    return static_cast<u32>(made);
  };
  expect_like<u32, u32, u32>("bmsk.clamp.b32", mask);
  expect_like<u32, u32, u32>("bmsk.wrap.b32", [&](u32 first, u32 bits) { return mask(first % 32, bits % 32); });
}

}  // namespace
}  // namespace sim::testing::test_convert
