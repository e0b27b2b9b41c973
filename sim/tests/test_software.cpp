// Arithmetic in integers against the host's own in each rounding mode, on random numbers. PTXSIM_TEST_CASES=60000000
// asks for more of them than the usual run.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/rounding.h"
#include "core/base/random.h"

namespace sim::testing::test_software {
namespace {

uint64_t cases() {
  const char* const asked = std::getenv("PTXSIM_TEST_CASES");
  return asked ? std::strtoull(asked, nullptr, 10) : 30000;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;

// Any bits; or of like size to those drawn before, so that sums cancel; or of few digits, so that results are exact or
// ties; or among the least, so that results are subnormal.
template <class T>
T drawn(Random& random, T before) {
  const uint64_t bits = random.next();
  constexpr int digits = std::numeric_limits<T>::digits;
  const auto any = std::bit_cast<T>(static_cast<Bits<T>>(bits));
  const uint64_t kind = random.below(8);
  if (kind < 2 || !std::isfinite(before)) return any;
  if (kind == 2) return before;
  if (kind == 3) return std::nextafter(before, T(0));
  const auto mantissa = static_cast<T>(static_cast<s64>(bits) >> (64 - digits));
  if (kind == 4) return static_cast<T>(static_cast<s64>(bits) >> (64 - 1 - static_cast<int>(random.below(digits))));
  if (kind == 5) return std::ldexp(mantissa, static_cast<int>(random.below(2 * digits + 6)) - 3 * digits);
  if (kind == 6)
    return std::ldexp(mantissa, std::numeric_limits<T>::min_exponent - static_cast<int>(random.below(2 * digits)));
  return std::ldexp(mantissa, std::ilogb(before == 0 ? T(1) : before) - digits + static_cast<int>(random.below(7)) - 3);
}

template <class T>
bool same(T a, T b) {
  return std::bit_cast<Bits<T>>(canonical(a)) == std::bit_cast<Bits<T>>(canonical(b));
}

template <class T>
void compare(Round how) {
  Random random(static_cast<uint64_t>(how) + sizeof(T));
  T a = 1, b = 1, c = 1;
  for (uint64_t i = 0, wrong = 0; i < cases() && wrong < 5; ++i) {
    a = drawn(random, b), b = drawn(random, a), c = drawn(random, a * b);
    const auto expect = [&](const char* what, T made, T wanted) {
      if (same(made, wanted)) return;
      ADD_FAILURE() << what << " of " << std::hexfloat << a << ", " << b << ", " << c << ": " << made << ", not "
                    << wanted;
      ++wrong;
    };
    expect("sum", software::sum(how, a, b), hardware::sum(how, a, b));
    expect("difference", software::difference(how, a, b), hardware::difference(how, a, b));
    expect("product", software::product(how, a, b), hardware::product(how, a, b));
    expect("quotient", software::quotient(how, a, b), hardware::quotient(how, a, b));
    expect("root", software::root(how, std::fabs(a)), hardware::root(how, std::fabs(a)));
    expect("multiply_add", software::multiply_add(how, a, b, c), hardware::multiply_add(how, a, b, c));
    const uint64_t integer = random.next() >> random.below(64);
    const auto from = [&]<class From>(From x) {
      expect("converted", software::converted<T>(how, x), hardware::converted<T>(how, x));
    };
    from(static_cast<u64>(integer));
    from(static_cast<s64>(integer));
    from(static_cast<s64>(-integer));
    from(static_cast<u32>(integer));
    from(static_cast<s32>(integer));
    if constexpr (sizeof(T) == 4) from(drawn(random, f64{a}));
  }
}

class Software : public ::testing::TestWithParam<Round> {};

TEST_P(Software, SingleAsTheHost) { compare<f32>(GetParam()); }
TEST_P(Software, DoubleAsTheHost) { compare<f64>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Modes, Software, ::testing::Values(Round::nearest, Round::zero, Round::down, Round::up));

// What a target without a fused multiply-add computes for single precision.
TEST(SoftwareFused, InDoublePrecision) {
  Random random(7);
  f32 a = 1, b = 1, c = 1;
  for (uint64_t i = 0; i < cases(); ++i) {
    a = drawn(random, b), b = drawn(random, a), c = drawn(random, a * b);
    const auto made = static_cast<f32>(sum_to_odd<f64, u64>(f64{a} * f64{b}, f64{c}));
    ASSERT_TRUE(same(made, std::fma(a, b, c))) << std::hexfloat << a << ", " << b << ", " << c;
  }
}

}  // namespace
}  // namespace sim::testing::test_software
