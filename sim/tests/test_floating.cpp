// Floating-point instructions, bit for bit: rounding, subnormals, signed zeros, NaN.
#include <algorithm>
#include <bit>
#include <cmath>

#include "evaluate.h"

namespace sim::testing::test_floating {
namespace {

const f32 hardware_nan = std::bit_cast<f32>(0x7fffffffu);

// A format with more than twice the digits and two: a result computed in it and rounded once more is the right one.
f64 wider(f32 x) { return x; }
Exactly wider(f64 x) { return x; }

template <class T>
T least(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? one_nan(b) : a;
  if (a == T(0) && b == T(0)) return std::signbit(a) || std::signbit(b) ? -T(0) : T(0);
  return std::min(a, b);
}
template <class T>
T most(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? least(a, b) : -least(-a, -b);
}

template <class T>
void expect_arithmetic(const std::string& type) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string suffix = std::string(rounding) + "." + type;
    expect_like<T, T, T>("add" + suffix, [](T a, T b) { return one_nan(static_cast<T>(wider(a) + wider(b))); });
    expect_like<T, T, T>("sub" + suffix, [](T a, T b) { return one_nan(static_cast<T>(wider(a) - wider(b))); });
    expect_like<T, T, T>("mul" + suffix, [](T a, T b) { return one_nan(static_cast<T>(wider(a) * wider(b))); });
  }
  expect_like<T, T, T>("div.rn." + type, [](T a, T b) { return one_nan(static_cast<T>(wider(a) / wider(b))); });
  expect_like<T, T>("rcp.rn." + type, [](T a) { return one_nan(static_cast<T>(wider(T(1)) / wider(a))); });
  expect_like<T, T>("sqrt.rn." + type, [](T a) { return one_nan(std::sqrt(a)); });
  expect_like<T, T, T, T>("fma.rn." + type, [](T a, T b, T c) { return one_nan(std::fma(a, b, c)); }, 60);
  expect_like<T, T, T>("min." + type, least<T>);
  expect_like<T, T, T>("max." + type, most<T>);
  expect_like<T, T>("abs." + type, [](T a) { return std::fabs(a); });
  expect_like<T, T>("neg." + type, [](T a) { return -a; });
  expect_like<T, T, T>("copysign." + type, [](T a, T b) { return std::copysign(b, a); });
  expect_like<T, T>("mov." + type, [](T a) { return a; }, 2);
  expect_like<T, T, T, bool>("selp." + type, [](T a, T b, bool p) { return p ? a : b; }, 2);
  expect_like<bool, T>("testp.finite." + type, [](T a) { return std::isfinite(a); });
  expect_like<bool, T>("testp.infinite." + type, [](T a) { return std::isinf(a); });
  expect_like<bool, T>("testp.number." + type, [](T a) { return !std::isnan(a); });
  expect_like<bool, T>("testp.notanumber." + type, [](T a) { return std::isnan(a); });
}

TEST(Floating, SingleIsRoundedOnce) { expect_arithmetic<f32>("f32"); }
TEST(Floating, DoubleIsRoundedOnce) { expect_arithmetic<f64>("f64"); }

const std::pair<std::string, f64 (*)(f64, f64)> operations[] = {{"add", [](f64 a, f64 b) { return a + b; }},
                                                                {"sub", [](f64 a, f64 b) { return a - b; }},
                                                                {"mul", [](f64 a, f64 b) { return a * b; }}};

TEST(Floating, FlushesSubnormalsOnlyWhenTold) {
  for (const std::string rounding : {"", ".rn"}) {
    for (const auto& [name, exact] : operations) {
      expect_like<f32, f32, f32>(name + rounding + ".ftz.f32", [exact = exact](f32 a, f32 b) {
        return one_nan(flush(f32(exact(flush(a), flush(b)))));
      });
    }
  }
  expect_like<f32, f32, f32, f32>(
      "fma.rn.ftz.f32", [](f32 a, f32 b, f32 c) { return one_nan(flush(std::fma(flush(a), flush(b), flush(c)))); });
  expect_like<f32, f32, f32>("min.ftz.f32", [](f32 a, f32 b) { return least(flush(a), flush(b)); });
  expect_like<f32, f32, f32>("max.ftz.f32", [](f32 a, f32 b) { return most(flush(a), flush(b)); });
  expect_like<f32, f32>("abs.ftz.f32", [](f32 a) { return std::fabs(flush(a)); });
  expect_like<f32, f32>("neg.ftz.f32", [](f32 a) { return -flush(a); });
  expect_like<f32, f32, f32>("div.rn.ftz.f32", [](f32 a, f32 b) { return one_nan(flush(flush(a) / flush(b))); });
  expect_like<f32, f32>("rcp.rn.ftz.f32", [](f32 a) { return one_nan(flush(1 / flush(a))); });
  expect_like<f32, f32>("sqrt.rn.ftz.f32", [](f32 a) { return one_nan(std::sqrt(flush(a))); });
}

TEST(Floating, SaturatesToTheUnitInterval) {
  const auto unit = [](f64 x) { return std::isnan(x) ? 0.0f : static_cast<f32>(std::clamp(x, 0.0, 1.0) + 0.0); };
  for (const std::string rounding : {"", ".rn"}) {
    for (const auto& [name, exact] : operations) {
      expect_like<f32, f32, f32>(name + rounding + ".sat.f32",
                                 [=, exact = exact](f32 a, f32 b) { return unit(f32(exact(a, b))); });
      expect_like<f32, f32, f32>(name + rounding + ".ftz.sat.f32", [=, exact = exact](f32 a, f32 b) {
        return unit(flush(f32(exact(flush(a), flush(b)))));
      });
    }
  }
  expect_like<f32, f32, f32, f32>("fma.rn.sat.f32", [=](f32 a, f32 b, f32 c) { return unit(std::fma(a, b, c)); });
  expect_like<f32, f32>("cvt.sat.f32.f32", [=](f32 a) { return unit(a); });
  expect_like<f64, f64>("cvt.sat.f64.f64", [](f64 a) { return std::isnan(a) ? 0.0 : std::clamp(a, 0.0, 1.0) + 0.0; });
  expect_like<f32, f32, f32, f32>(
      "fma.rn.ftz.sat.f32", [=](f32 a, f32 b, f32 c) { return unit(flush(std::fma(flush(a), flush(b), flush(c)))); });
  expect_like<f32, f32>("cvt.ftz.sat.f32.f32", [=](f32 a) { return unit(flush(a)); });
}

TEST(Floating, MinAndMaxCanPassNaNOn) {
  expect_like<f32, f32, f32>("min.NaN.f32",
                             [](f32 a, f32 b) { return std::isnan(a) || std::isnan(b) ? hardware_nan : least(a, b); });
  expect_like<f32, f32, f32>("max.NaN.f32",
                             [](f32 a, f32 b) { return std::isnan(a) || std::isnan(b) ? hardware_nan : most(a, b); });
}

// What single precision alone has: comparisons that flush, and set with a number for a result.
void expect_flushing_comparison(const std::string& name, bool (*compare)(f32, f32), bool with_nan) {
  const auto result = [=](f32 a, f32 b) { return std::isnan(a) || std::isnan(b) ? with_nan : compare(a, b); };
  const auto flushed = [=](f32 a, f32 b) { return result(flush(a), flush(b)); };
  expect_like<bool, f32, f32>("setp." + name + ".ftz.f32", flushed, 8);
  expect_combined<f32>(name, ".ftz.f32", flushed);
  expect_like<f32, f32, f32>("set." + name + ".f32.f32", [=](f32 a, f32 b) { return result(a, b) ? 1.0f : 0.0f; }, 3);
  expect_like<f32, f32, f32>(
      "set." + name + ".ftz.f32.f32", [=](f32 a, f32 b) { return flushed(a, b) ? 1.0f : 0.0f; }, 3);
  for (const std::string type : {"u32", "s32"}) {
    expect_like<u32, f32, f32>(
        "set." + name + "." + type + ".f32", [=](f32 a, f32 b) { return result(a, b) ? ~0u : 0u; }, 3);
  }
}

template <class T>
void expect_comparison(const std::string& name, const std::string& type, bool (*compare)(T, T), bool with_nan) {
  const auto result = [=](T a, T b) { return std::isnan(a) || std::isnan(b) ? with_nan : compare(a, b); };
  if constexpr (std::is_same_v<T, f32>) expect_flushing_comparison(name, compare, with_nan);
  expect_like<bool, T, T>("setp." + name + "." + type, result, 8);
  expect_combined<T>(name, "." + type, result);
}

template <class T>
void expect_comparisons(const std::string& type) {
  using Compare = bool (*)(T, T);
  const std::pair<std::string, Compare> relations[] = {
      {"eq", [](T a, T b) { return a == b; }}, {"ne", [](T a, T b) { return a != b; }},
      {"lt", [](T a, T b) { return a < b; }},  {"le", [](T a, T b) { return a <= b; }},
      {"gt", [](T a, T b) { return a > b; }},  {"ge", [](T a, T b) { return a >= b; }}};
  for (const auto& [name, compare] : relations) {
    expect_comparison<T>(name, type, compare, false);
    expect_comparison<T>(name + "u", type, compare, true);
  }
  expect_comparison<T>("num", type, [](T, T) { return true; }, false);
  expect_comparison<T>("nan", type, [](T, T) { return false; }, true);
}

TEST(Floating, OrderedAndUnorderedComparisons) {
  expect_comparisons<f32>("f32");
  expect_comparisons<f64>("f64");
}

}  // namespace
}  // namespace sim::testing::test_floating
