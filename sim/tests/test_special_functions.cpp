// The approximate instructions: within the bounds that PTX gives, and exact where it says so.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "evaluate.h"

namespace sim::testing::test_special_functions {
namespace {

constexpr f32 infinity = std::numeric_limits<f32>::infinity();

// Ordinary numbers of both signs over many powers of two.
std::vector<f32> ordinary(f32 least, f32 most) {
  std::vector<f32> values;
  for (int i = 0; i < 2048; ++i)
    values.push_back(static_cast<f32>(least * std::pow(f64{most} / least, i / 2047.0) * (1 + i % 7 * 0.01)));
  return values;
}

// An error of at most `bound` against the exact function, relative or absolute.
void expect_near(const std::string& opcode, f64 (*function)(f64), f64 bound, f32 least, f32 most, bool relative) {
  const std::vector<f32> x = ordinary(least, most);
  const auto y = evaluate_all<f32>(opcode, x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(std::fabs(f64{y[i]} - function(x[i])) / (relative ? std::fabs(function(x[i])) : 1), bound)
        << opcode << " of " << x[i];
}

TEST(SpecialFunctions, WithinTheirBounds) {
  for (const std::string ftz : {"", ".ftz"}) {
    const std::string tail = ".approx" + ftz + ".f32";
    expect_near("rcp" + tail, [](f64 x) { return 1 / x; }, 0x1p-23, 1e-30f, 1e30f, true);
    expect_near("sqrt" + tail, [](f64 x) { return std::sqrt(x); }, 0x1p-23, 1e-30f, 1e30f, true);
    expect_near("rsqrt" + tail, [](f64 x) { return 1 / std::sqrt(x); }, 0x1p-22, 1e-30f, 1e30f, true);
    expect_near("ex2" + tail, [](f64 x) { return std::exp2(x); }, 0x1p-22, 1e-6f, 100.0f, true);
    expect_near("lg2" + tail, [](f64 x) { return std::log2(x); }, 0x1p-22, 0.5f, 2.0f, false);
    expect_near("lg2" + tail, [](f64 x) { return std::log2(x); }, 0x1p-22, 3.0f, 1e30f, true);
    expect_near("sin" + tail, [](f64 x) { return std::sin(x); }, 0x1p-20, 1e-5f, 3.14f, false);
    expect_near("cos" + tail, [](f64 x) { return std::cos(x); }, 0x1p-20, 1e-5f, 3.14f, false);
  }
  expect_near("tanh.approx.f32", [](f64 x) { return std::tanh(x); }, 0x1p-11, 1e-5f, 20.0f, true);
}

void expect_value(const std::string& opcode, f32 x, f32 wanted) {
  const f32 got = evaluate<f32>(opcode, Warpful<f32>{x})[0];
  EXPECT_TRUE(same(got, wanted)) << opcode << " of " << x << " gave " << got;
}

TEST(SpecialFunctions, AtTheEndsOfTheirRange) {
  const f32 nan = std::bit_cast<f32>(0x7fffffffu), tiny = std::numeric_limits<f32>::denorm_min();
  expect_value("rcp.approx.f32", 0, infinity);
  expect_value("rcp.approx.f32", -0.0f, -infinity);
  expect_value("rcp.approx.f32", -infinity, -0.0f);
  expect_value("rcp.approx.ftz.f32", tiny, infinity);
  expect_value("rcp.approx.ftz.f32", 0x1.8p127f, 0);  // subnormal results are flushed, too
  expect_value("sqrt.approx.f32", -1, nan);
  expect_value("sqrt.approx.f32", -0.0f, -0.0f);
  expect_value("sqrt.approx.ftz.f32", tiny, 0);
  expect_value("rsqrt.approx.f32", 0, infinity);
  expect_value("rsqrt.approx.f32", infinity, 0);
  expect_value("rsqrt.approx.f32", -1, nan);
  expect_value("ex2.approx.f32", -infinity, 0);
  expect_value("ex2.approx.f32", 200, infinity);
  expect_value("ex2.approx.f32", -149, tiny);
  expect_value("ex2.approx.ftz.f32", -140, 0);
  expect_value("ex2.approx.f32", 0, 1);
  expect_value("lg2.approx.f32", 0, -infinity);
  expect_value("lg2.approx.f32", -1, nan);
  expect_value("lg2.approx.ftz.f32", tiny, -infinity);
  expect_value("lg2.approx.f32", 8, 3);
  expect_value("sin.approx.f32", infinity, nan);
  expect_value("cos.approx.f32", 0, 1);
  expect_value("tanh.approx.f32", infinity, 1);
}

// For divisors above 2^126 div.approx gives zero, or NaN; div.full the quotient.
TEST(SpecialFunctions, Quotients) {
  const std::vector<f32> a = ordinary(1e-10f, 1e10f), b = ordinary(1e15f, 1e-15f);
  for (const std::string opcode : {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"}) {
    const auto quotients = evaluate_all<f32>(opcode, a, b);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_LE(std::fabs(quotients[i] / (f64{a[i]} / b[i]) - 1), 0x1p-22) << opcode << " of " << a[i] << " " << b[i];
  }
  const Warpful<f32> x{0x1p127f, -0x1p127f, infinity, 1}, y{0x1p127f, 0x1p127f, 0x1p127f, infinity};
  const auto in_range = evaluate<f32>("div.approx.f32", x, y), full = evaluate<f32>("div.full.f32", x, y);
  EXPECT_TRUE(same(in_range[0], 0.0f) && same(in_range[1], -0.0f) && std::isnan(in_range[2]));
  EXPECT_TRUE(same(in_range[3], 0.0f));
  EXPECT_TRUE(same(full[0], 1.0f) && same(full[1], -1.0f) && same(full[2], infinity));
}

// What divisions and roots in double precision start from: the upper 32 bits.
TEST(SpecialFunctions, StartsForDoublePrecision) {
  std::vector<f64> x;
  for (const f32 each : ordinary(1e-30f, 1e30f)) x.push_back(f64{each} * 1.000000001);
  const auto reciprocals = evaluate_all<f64>("rcp.approx.ftz.f64", x);
  const auto roots = evaluate_all<f64>("rsqrt.approx.ftz.f64", x), full = evaluate_all<f64>("rsqrt.approx.f64", x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::fabs(reciprocals[i] * x[i] - 1), 0x1p-19);
    ASSERT_LE(std::fabs(roots[i] * roots[i] * x[i] - 1), 0x1p-18);
    ASSERT_LE(std::fabs(full[i] * std::sqrt(x[i]) - 1), 0x1p-22);
    ASSERT_EQ((std::bit_cast<u64>(reciprocals[i]) | std::bit_cast<u64>(roots[i])) & 0xffffffff, 0u);
  }
  const auto ends = evaluate<f64>("rcp.approx.ftz.f64", Warpful<f64>{0, -1e-310, INFINITY, NAN, 1e308});
  EXPECT_TRUE(same<f64>(ends[0], INFINITY) && same<f64>(ends[1], -INFINITY) && same(ends[2], 0.0));
  EXPECT_TRUE(std::isnan(ends[3]) && same(ends[4], 0.0));
}

// The value of a binary16 (11 digits) or bfloat16 (8).
f64 value_of(u16 bits, int digits) {
  if (digits == 8) return std::bit_cast<f32>(u32{bits} << 16);
  const int size = bits & 0x7fff, exponent = size >> 10, fraction = size & 1023;
  const f64 sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
}

// Every value of 16 bits: the neighbour of the exact result, or it itself; and two at once give what each gives.
void expect_narrow(const std::string& opcode, const std::string& type, int digits, f64 (*function)(f64)) {
  std::vector<u16> x(1 << 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<u16>(i);
  const auto y = evaluate_all<u16>(opcode + "." + type, x);
  const auto value = [&](u16 bits) { return value_of(bits, digits); };
  std::vector<u32> pairs;
  for (size_t i = 0; i < x.size(); ++i) pairs.push_back(u32{x[x.size() - 1 - i]} << 16 | x[i]);
  const auto both = evaluate_all<u32>(opcode + "." + type + "x2", pairs);
  for (size_t i = 0; i < x.size(); ++i) {
    const f64 exact = function(value(x[i])), got = value(y[i]);
    if (std::isnan(exact)) {
      ASSERT_EQ(y[i], 0x7fff);
    } else if (std::isfinite(got) && std::fabs(exact) > 1e-37 && got != 0) {
      ASSERT_LE(std::fabs(got - exact), std::fabs(exact) * std::ldexp(1.0, 1 - digits) + 0x1p-24) << opcode << x[i];
    }
    ASSERT_EQ(both[i], u32{y[x.size() - 1 - i]} << 16 | y[i]);
  }
}

TEST(SpecialFunctions, InSixteenBits) {
  expect_narrow("ex2.approx", "f16", 11, [](f64 x) { return std::exp2(x); });
  expect_narrow("ex2.approx.ftz", "bf16", 8, [](f64 x) { return std::exp2(x); });
  expect_narrow("tanh.approx", "f16", 11, [](f64 x) { return std::tanh(x); });
  expect_narrow("tanh.approx", "bf16", 8, [](f64 x) { return std::tanh(x); });
}

}  // namespace
}  // namespace sim::testing::test_special_functions
