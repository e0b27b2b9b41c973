// Arithmetic that rounds towards zero, down or up: the neighbour of the exact value on the side that it should be.
#include <bit>
#include <cmath>
#include <limits>

#include "evaluate.h"

namespace sim::testing::test_rounding {
namespace {

// The sign of a + b − c for finite a and b: Knuth's exact error of the sum decides where the rounded sum is c itself.
int sign_of_difference(Exactly a, Exactly b, Exactly c) {
  const Exactly sum = a + b, kept = sum - a, error = (a - (sum - kept)) + (b - kept), rest = (sum - c) + error;
  return (rest > 0) - (rest < 0);
}

// `near` is rounded to nearest; side(c) is the sign of the exact value less c.
template <class T, class Side>
T directed(T near, char mode, bool exact_is_finite, Side side) {
  const T infinity = std::numeric_limits<T>::infinity();
  if (std::isnan(near) || !exact_is_finite) return one_nan(near);
  const int beyond = std::isinf(near) ? (near > 0 ? -1 : 1) : side(near);
  const bool negative = std::signbit(near);
  const bool down = mode == 'm' || (mode == 'z' && !negative), up = mode == 'p' || (mode == 'z' && negative);
  if (beyond < 0 && down) return std::nextafter(near, -infinity);
  if (beyond > 0 && up) return std::nextafter(near, infinity);
  return near;
}

template <class T>
struct Directed {
  char mode;
  static bool finite(T a, T b = 0, T c = 0) { return std::isfinite(a) && std::isfinite(b) && std::isfinite(c); }

  T sum(T a, T b) const {
    if (a + b == 0 && (a != 0 || std::signbit(a) != std::signbit(b))) return mode == 'm' ? -T(0) : T(0);
    return directed(a + b, mode, finite(a, b), [&](T c) { return sign_of_difference(a, b, c); });
  }
  T product(T a, T b) const {
    return directed(a * b, mode, finite(a, b), [&](T c) { return sign_of_difference(Exactly(a) * b, 0, c); });
  }
  T multiply_add(T a, T b, T c) const {
    const Exactly exact = Exactly(a) * b;
    if (finite(a, b, c) && exact + Exactly(c) == 0 && (c != 0 || std::signbit(a * b) != std::signbit(c)))
      return mode == 'm' ? -T(0) : T(0);
    return directed(std::fma(a, b, c), mode, finite(a, b, c), [&](T d) { return sign_of_difference(exact, c, d); });
  }
  T quotient(T a, T b) const {
    const auto side = [&](T c) { return sign_of_difference(a, -Exactly(c) * b, 0) * (b < 0 ? -1 : 1); };
    return directed(a / b, mode, finite(a, b) && b != 0, side);
  }
  T root(T a) const {
    return directed(std::sqrt(a), mode, finite(a), [&](T c) { return sign_of_difference(a, -Exactly(c) * c, 0); });
  }
};

template <class T>
void expect_directed(const std::string& type) {
  for (const char mode : {'z', 'm', 'p'}) {
    const Directed<T> in{mode};
    const std::string tail = std::string(".r") + mode + "." + type;
    expect_like<T, T, T>("add" + tail, [=](T a, T b) { return in.sum(a, b); });
    expect_like<T, T, T>("sub" + tail, [=](T a, T b) { return in.sum(a, -b); });
    expect_like<T, T, T>("mul" + tail, [=](T a, T b) { return in.product(a, b); });
    expect_like<T, T, T, T>("fma" + tail, [=](T a, T b, T c) { return in.multiply_add(a, b, c); });
    expect_like<T, T, T>("div" + tail, [=](T a, T b) { return in.quotient(a, b); });
    expect_like<T, T>("rcp" + tail, [=](T a) { return in.quotient(1, a); });
    expect_like<T, T>("sqrt" + tail, [=](T a) { return in.root(a); });
  }
}

TEST(Rounding, SingleInEveryDirection) { expect_directed<f32>("f32"); }
TEST(Rounding, DoubleInEveryDirection) { expect_directed<f64>("f64"); }

TEST(Rounding, SubnormalsAreFlushedWhereAskedFor) {
  for (const char mode : {'z', 'm', 'p'}) {
    const Directed<f32> in{mode};
    const std::string tail = std::string(".r") + mode + ".ftz.f32";
    expect_like<f32, f32, f32>("add" + tail, [=](f32 a, f32 b) { return flush(in.sum(flush(a), flush(b))); });
    expect_like<f32, f32, f32>("sub" + tail, [=](f32 a, f32 b) { return flush(in.sum(flush(a), -flush(b))); });
    expect_like<f32, f32, f32>("mul" + tail, [=](f32 a, f32 b) { return flush(in.product(flush(a), flush(b))); });
    expect_like<f32, f32, f32, f32>(
        "fma" + tail, [=](f32 a, f32 b, f32 c) { return flush(in.multiply_add(flush(a), flush(b), flush(c))); });
    expect_like<f32, f32, f32>("div" + tail, [=](f32 a, f32 b) { return flush(in.quotient(flush(a), flush(b))); });
    expect_like<f32, f32>("rcp" + tail, [=](f32 a) { return flush(in.quotient(1, flush(a))); });
    expect_like<f32, f32>("sqrt" + tail, [=](f32 a) { return in.root(flush(a)); });
  }
}

TEST(Rounding, ByHand) {
  const f32 third = 0x1.555556p-2f, below = 0x1.555554p-2f;  // 1/3 lies between, nearer to the first
  EXPECT_EQ(evaluate<f32>("rcp.rz.f32", Warpful<f32>{3})[0], below);
  EXPECT_EQ(evaluate<f32>("rcp.rm.f32", Warpful<f32>{3})[0], below);
  EXPECT_EQ(evaluate<f32>("rcp.rp.f32", Warpful<f32>{3})[0], third);
  EXPECT_EQ(evaluate<f32>("rcp.rz.f32", Warpful<f32>{-3})[0], -below);
  EXPECT_EQ(evaluate<f32>("rcp.rm.f32", Warpful<f32>{-3})[0], -third);
}

}  // namespace
}  // namespace sim::testing::test_rounding
