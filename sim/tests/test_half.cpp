// 16-bit floating point, bit for bit, against values found by search: every result is the nearest of all numbers of the
// format to the exact one, whatever way the simulator computes it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "evaluate.h"

namespace sim::testing {
namespace {

// A 16-bit format by its definition.
struct Format {
  std::string name;
  int digits, least_exponent;

  u16 infinity() const { return static_cast<u16>(0x8000 - (1 << (digits - 1))); }
  bool is_nan(u16 x) const { return (x & 0x7fff) > infinity(); }
  bool is_subnormal(u16 x) const { return (x & 0x7fff) < 1 << (digits - 1); }

  f64 value(u16 x) const {
    const int size = x & 0x7fff, exponent = size >> (digits - 1), fraction = size & ((1 << (digits - 1)) - 1);
    const f64 sign = x & 0x8000 ? -1 : 1;
    if (is_nan(x)) return std::numeric_limits<f64>::quiet_NaN();
    if (size == infinity()) return sign * std::numeric_limits<f64>::infinity();
    const int units = exponent == 0 ? fraction : fraction + (1 << (digits - 1));
    return sign * std::ldexp(units, std::max(exponent, 1) - 1 + least_exponent - (digits - 1));
  }
  // Infinity as the next number would be if there were one: what rounding takes it for.
  Exactly size_of(u16 x) const {
    const auto half_of_it = static_cast<u16>(infinity() - (1 << (digits - 1)));
    return x == infinity() ? 2 * Exactly(value(half_of_it)) : Exactly(value(x));
  }

  // The format's number for `high + low`, of which `high` is the nearest; `negative` is the sign, of a zero too.
  u16 rounded(Exactly high, Exactly low, bool negative, char mode = 'n') const {
    if (high < 0) high = -high, low = -low;
    const auto below_exact = [&](Exactly x) { return (high - x) + low; };  // the sign is exact
    u16 from = 0, to = infinity();
    while (to - from > 1) {
      const u16 middle = static_cast<u16>((from + to) / 2);
      (below_exact(size_of(middle)) >= 0 ? from : to) = middle;
    }
    const u16 sign = negative ? 0x8000 : 0;
    if (below_exact(size_of(from)) == 0) return from | sign;
    const Exactly half = below_exact((size_of(from) + size_of(to)) / 2);
    const bool up = mode == 'n' ? half > 0 || (half == 0 && from % 2 == 1) : mode == (negative ? 'm' : 'p');
    return (up ? to : from) | sign;
  }
  u16 rounded(Exactly exact, bool negative, char mode = 'n') const { return rounded(exact, 0, negative, mode); }

  // `shadow` is the result in double precision: it tells NaN, infinity and the sign.
  u16 of(f64 shadow, Exactly high, Exactly low = 0) const {
    if (std::isnan(shadow)) return 0x7fff;
    if (std::isinf(shadow)) return static_cast<u16>(infinity() | (shadow < 0 ? 0x8000 : 0));
    return rounded(high, low, std::signbit(shadow));
  }
  u16 add(u16 a, u16 b) const { return of(value(a) + value(b), Exactly(value(a)) + value(b)); }
  u16 negated(u16 a) const { return static_cast<u16>(a ^ 0x8000); }
  u16 multiply(u16 a, u16 b) const { return of(value(a) * value(b), Exactly(value(a)) * value(b)); }
  u16 fma(u16 a, u16 b, u16 c) const {
    const Exactly product = Exactly(value(a)) * value(b), third = value(c);
    const Exactly sum = product + third, kept = sum - product;
    return of(std::fma(value(a), value(b), value(c)), sum, (product - (sum - kept)) + (third - kept));
  }
  u16 flushed(u16 x) const { return is_subnormal(x) ? x & 0x8000 : x; }
  u16 saturated(u16 x) const {
    if (is_nan(x) || value(x) <= 0) return 0;
    return value(x) < 1 ? x : rounded(1, false);
  }
  u16 relu(u16 x) const { return is_nan(x) || value(x) > 0 ? x : 0; }
  u16 least(u16 a, u16 b) const {
    if (is_nan(a) || is_nan(b)) return !is_nan(a) ? a : !is_nan(b) ? b : 0x7fff;
    if (value(a) == value(b)) return a | b;  // of zeros the negative one
    return value(a) < value(b) ? a : b;
  }
  u16 most(u16 a, u16 b) const {
    if (is_nan(a) || is_nan(b)) return least(a, b);
    return negated(least(negated(a), negated(b)));
  }
};

const Format half{"f16", 11, -14}, bfloat{"bf16", 8, -126};

// Numbers that repeat from run to run.
struct Random {
  uint64_t state = 7;
  uint32_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  }
};

// Operands of a three-operand instruction: every combination of awkward values, then random ones, half of them near
// each other so that sums cancel and ties occur.
std::array<std::vector<u16>, 3> operands_of(const Format& format, int random) {
  const auto one = static_cast<u16>(format.rounded(1, false));
  const u16 infinity = format.infinity(), normal = static_cast<u16>(1 << (format.digits - 1));
  std::vector<u16> awkward;
  for (const int x : {0, 1, 2, 3, normal - 1, int{normal}, normal + 1, one - 1, int{one}, one + 1, infinity - 1,
                      int{infinity}, infinity + 1, 0x7fff})
    awkward.insert(awkward.end(), {static_cast<u16>(x), static_cast<u16>(x | 0x8000)});
  std::array<std::vector<u16>, 3> lanes;
  for (const u16 a : awkward)
    for (const u16 b : awkward)
      for (const u16 c : awkward) lanes[0].push_back(a), lanes[1].push_back(b), lanes[2].push_back(c);
  Random next;
  for (int i = 0; i < random; ++i) {
    const auto a = static_cast<u16>(next()), b = static_cast<u16>(next());
    const u16 product = format.multiply(a, b);
    const auto near = static_cast<u16>(product ^ 0x8000 ^ (next() % 4 << (next() % 12)));
    lanes[0].push_back(a), lanes[1].push_back(b), lanes[2].push_back(i % 2 ? near : static_cast<u16>(next()));
  }
  for (auto& each : lanes) each.resize((each.size() + 31) / 32 * 32);
  return lanes;
}

// Every value of sixteen bits.
std::vector<u16> all_values() {
  std::vector<u16> values(1 << 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<u16>(i);
  return values;
}

// Compares an instruction of one to three 16-bit operands, alone and packed in pairs, where both exist.
template <class Expected, class... Lanes>
void expect_halves(const std::string& opcode, const std::string& type, Expected expected, const Lanes&... lanes) {
  const auto shown = [&](size_t i) {
    std::string text;
    ((text += std::to_string(lanes[i]) + " "), ...);
    return text;
  };
  const auto results = evaluate_all<u16>(opcode + "." + type, lanes...);
  for (size_t i = 0; i < results.size(); ++i)
    ASSERT_EQ(results[i], expected(lanes[i]...)) << opcode << "." << type << " of " << shown(i);

  // The lower halves are the values, the upper ones the same in another order.
  const auto packed = [](const std::vector<u16>& values) {
    std::vector<u32> pairs;
    for (size_t i = 0; i < values.size(); ++i) pairs.push_back(u32{values[values.size() - 1 - i]} << 16 | values[i]);
    return pairs;
  };
  const auto pairs = evaluate_all<u32>(opcode + "." + type + "x2", packed(lanes)...);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const size_t j = pairs.size() - 1 - i;
    ASSERT_EQ(pairs[i], u32{results[j]} << 16 | results[i]) << opcode << "." << type << "x2 of " << shown(i);
  }
}

TEST(Half, FmaRoundsOnce) {
  for (const Format& format : {half, bfloat}) {
    const auto [a, b, c] = operands_of(format, 100000);
    expect_halves("fma.rn", format.name, [&](u16 x, u16 y, u16 z) { return format.fma(x, y, z); }, a, b, c);
  }
}

TEST(Half, FmaFinishes) {
  const auto [a, b, c] = operands_of(half, 4000);
  const Format& h = half;
  const auto fma_of_flushed = [&](u16 x, u16 y, u16 z) {
    return h.flushed(h.fma(h.flushed(x), h.flushed(y), h.flushed(z)));
  };
  expect_halves("fma.rn.ftz", "f16", fma_of_flushed, a, b, c);
  expect_halves("fma.rn.sat", "f16", [&](u16 x, u16 y, u16 z) { return h.saturated(h.fma(x, y, z)); }, a, b, c);
  expect_halves("fma.rn.relu", "f16", [&](u16 x, u16 y, u16 z) { return h.relu(h.fma(x, y, z)); }, a, b, c);
  expect_halves(
      "fma.rn.ftz.sat", "f16", [&](u16 x, u16 y, u16 z) { return h.saturated(fma_of_flushed(x, y, z)); }, a, b, c);
  expect_halves(
      "fma.rn.ftz.relu", "f16", [&](u16 x, u16 y, u16 z) { return h.relu(fma_of_flushed(x, y, z)); }, a, b, c);
  const auto [d, e, f] = operands_of(bfloat, 4000);
  expect_halves("fma.rn.relu", "bf16", [](u16 x, u16 y, u16 z) { return bfloat.relu(bfloat.fma(x, y, z)); }, d, e, f);
}

TEST(Half, SumsAndProducts) {
  const auto operands = operands_of(half, 30000);
  const auto& [unused, a, b] = operands;
  const Format& h = half;
  const std::pair<std::string, std::function<u16(u16, u16)>> operations[] = {
      {"add", [&](u16 x, u16 y) { return h.add(x, y); }},
      {"sub", [&](u16 x, u16 y) { return h.add(x, h.negated(y)); }},
      {"mul", [&](u16 x, u16 y) { return h.multiply(x, y); }}};
  for (const auto& [name, exact] : operations) {
    for (const std::string rounding : {"", ".rn"}) {
      const auto flushed = [&, exact = exact](u16 x, u16 y) { return h.flushed(exact(h.flushed(x), h.flushed(y))); };
      expect_halves(name + rounding, "f16", exact, a, b);
      expect_halves(name + rounding + ".ftz", "f16", flushed, a, b);
      expect_halves(
          name + rounding + ".sat", "f16", [&, exact = exact](u16 x, u16 y) { return h.saturated(exact(x, y)); }, a, b);
      expect_halves(
          name + rounding + ".ftz.sat", "f16", [&](u16 x, u16 y) { return h.saturated(flushed(x, y)); }, a, b);
    }
  }
}

// bfloat16 has no `.ftz` and no `.sat`. Its products may be subnormal in single precision, too.
TEST(Half, SumsAndProductsOfBfloat) {
  const auto operands = operands_of(bfloat, 30000);
  const auto& [unused, a, b] = operands;
  for (const std::string rounding : {"", ".rn"}) {
    expect_halves("add" + rounding, "bf16", [](u16 x, u16 y) { return bfloat.add(x, y); }, a, b);
    expect_halves("sub" + rounding, "bf16", [](u16 x, u16 y) { return bfloat.add(x, bfloat.negated(y)); }, a, b);
    expect_halves("mul" + rounding, "bf16", [](u16 x, u16 y) { return bfloat.multiply(x, y); }, a, b);
  }
}

TEST(Half, SmallerLargerAndSigns) {
  const std::vector<u16> all = all_values();
  const std::pair<const Format*, std::string> cases[] = {{&half, ""}, {&half, ".ftz"}, {&bfloat, ""}};
  for (const auto& [which, finish] : cases) {
    const Format& f = *which;
    const auto operands = operands_of(f, 4000);
    const auto& [unused, a, b] = operands;
    const auto taken = [&f, flush = finish == ".ftz"](u16 x) { return flush ? f.flushed(x) : x; };
    const auto with_nan = [&](u16 x, u16 y, u16 result) { return f.is_nan(x) || f.is_nan(y) ? u16{0x7fff} : result; };
    expect_halves("min" + finish, f.name, [&](u16 x, u16 y) { return f.least(taken(x), taken(y)); }, a, b);
    expect_halves("max" + finish, f.name, [&](u16 x, u16 y) { return f.most(taken(x), taken(y)); }, a, b);
    expect_halves(
        "min" + finish + ".NaN", f.name, [&](u16 x, u16 y) { return with_nan(x, y, f.least(taken(x), taken(y))); }, a,
        b);
    expect_halves(
        "max" + finish + ".NaN", f.name, [&](u16 x, u16 y) { return with_nan(x, y, f.most(taken(x), taken(y))); }, a,
        b);
    expect_halves("neg" + finish, f.name, [&](u16 x) { return f.negated(taken(x)); }, all);
    expect_halves("abs" + finish, f.name, [&](u16 x) -> u16 { return taken(x) & 0x7fff; }, all);
  }
}

// setp and set of one format, alone, with another predicate, and of two at once; `.ftz` compares what is left.
void expect_comparisons(const Format& format, const std::string& ftz) {
  using Compare = bool (*)(f64, f64);
  const std::pair<std::string, Compare> relations[] = {
      {"eq", [](f64 a, f64 b) { return a == b; }}, {"ne", [](f64 a, f64 b) { return a != b; }},
      {"lt", [](f64 a, f64 b) { return a < b; }},  {"le", [](f64 a, f64 b) { return a <= b; }},
      {"gt", [](f64 a, f64 b) { return a > b; }},  {"ge", [](f64 a, f64 b) { return a >= b; }}};
  std::vector<std::tuple<std::string, Compare, bool>> cases{{"num", [](f64, f64) { return true; }, false},
                                                            {"nan", [](f64, f64) { return false; }, true}};
  for (const auto& [name, compare] : relations)
    cases.emplace_back(name, compare, false), cases.emplace_back(name + "u", compare, true);

  const auto operands = operands_of(format, 2000);
  const auto& [unused, a, b] = operands;
  const std::string tail = ftz + "." + format.name;
  const u32 unit = format.rounded(1, false);
  std::vector<bool> p;
  std::vector<u32> pairs_a, pairs_b;
  for (size_t i = 0; i < a.size(); ++i) {
    p.push_back(i % 3 == 0);
    pairs_a.push_back(u32{a[i]} << 16 | b[i]), pairs_b.push_back(u32{b[i]} << 16 | b[(i + 1) % b.size()]);
  }
  for (const auto& [name, compare, with_nan] : cases) {
    const auto is = [&, compare = compare, with_nan = with_nan](u32 x, u32 y) {
      const auto value = [&](u32 bits) {
        const auto of_lower = static_cast<u16>(bits);
        return format.value(ftz.empty() ? of_lower : format.flushed(of_lower));
      };
      const f64 left = value(x), right = value(y);
      return std::isnan(left) || std::isnan(right) ? with_nan : compare(left, right);
    };
    const auto expect = [&](const auto& results, auto wanted) {
      for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(results[i], wanted(i)) << name << " of " << a[i] << " " << b[i];
    };
    const std::string setp = "setp." + name, set = "set." + name + ftz + ".", twice = format.name + "x2";
    const auto truth = [&](size_t i) { return is(a[i], b[i]); };
    expect(evaluate_all<bool>(setp + tail, a, b), truth);
    expect(evaluate_all<bool>(setp + ".and" + tail, a, b, p), [&](size_t i) { return truth(i) && p[i]; });
    expect(evaluate_all<bool>(setp + ".or" + tail, a, b, p), [&](size_t i) { return truth(i) || p[i]; });
    expect(evaluate_all<bool>(setp + ".xor" + tail, a, b, p), [&](size_t i) { return truth(i) != p[i]; });
    expect(evaluate_all<u16>(set + format.name + "." + format.name, a, b),
           [&](size_t i) { return truth(i) ? unit : 0; });
    for (const std::string type : {"u", "s"}) {
      expect(evaluate_all<u16>(set + type + "16." + format.name, a, b),
             [&](size_t i) { return truth(i) ? 0xffff : 0; });
      expect(evaluate_all<u32>(set + type + "32." + format.name, a, b), [&](size_t i) { return truth(i) ? ~0u : 0u; });
    }
    const auto both = [&](size_t i, u32 yes) {
      const bool high = is(pairs_a[i] >> 16, pairs_b[i] >> 16), low = is(pairs_a[i], pairs_b[i]);
      return (high ? yes << 16 : 0u) | (low ? yes : 0u);
    };
    expect(evaluate_all<u32>(set + twice + "." + twice, pairs_a, pairs_b), [&](size_t i) { return both(i, unit); });
    for (const std::string type : {"u32.", "s32."})
      expect(evaluate_all<u32>(set + type + twice, pairs_a, pairs_b), [&](size_t i) { return both(i, 0xffff); });
  }
}

TEST(Half, Comparisons) {
  expect_comparisons(half, "");
  expect_comparisons(half, ".ftz");
  expect_comparisons(bfloat, "");
}

// Singles around every number of the format and around the middles between them, and random ones.
std::vector<f32> singles(const Format& format) {
  std::vector<f32> values;
  for (u32 bits = 0; bits < 1 << 16; bits += 1 + bits % 3) {
    const auto x = static_cast<u16>(bits);
    const auto exact = static_cast<f32>(format.value(x));
    const auto middle = static_cast<f32>((Exactly(exact) + Exactly(format.value(static_cast<u16>(x + 1)))) / 2);
    for (const f32 near : {exact, middle}) {
      if (std::isnan(near) || std::isinf(near)) continue;
      values.insert(values.end(), {near, std::nextafter(near, 1e38f), std::nextafter(near, -1e38f)});
    }
  }
  const f32 infinity = std::numeric_limits<f32>::infinity();
  values.insert(values.end(), {65519.9f, 65520.0f, 65536.0f, 3.3961776e38f, 3.4028235e38f, infinity, -infinity,
                               std::numeric_limits<f32>::quiet_NaN(), std::bit_cast<f32>(0xff812345u),
                               std::bit_cast<f32>(1u), std::bit_cast<f32>(0x80000001u)});
  Random next;
  for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<f32>(next()));
  values.resize((values.size() + 31) / 32 * 32);
  return values;
}

u16 converted(const Format& format, f64 x, char mode) {
  if (std::isnan(x)) return 0x7fff;
  if (std::isinf(x)) return static_cast<u16>(format.infinity() | (x < 0 ? 0x8000 : 0));
  return format.rounded(x, std::signbit(x), mode);
}

TEST(Half, FromSingleInEveryRounding) {
  const std::vector<f32> values = singles(half);
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    const auto results = evaluate_all<u16>(std::string("cvt.r") + mode + ".f16.f32", values);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(results[i], converted(half, values[i], mode)) << values[i] << " by " << mode;
  }
  const auto saturated = evaluate_all<u16>("cvt.rn.sat.f16.f32", values);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(saturated[i], half.saturated(converted(half, values[i], 'n'))) << values[i];
}

TEST(Half, FromSingleToEitherFormatAloneOrTwoAtOnce) {
  for (const Format& format : {half, bfloat}) {
    const std::vector<f32> values = singles(format);
    const std::vector<f32> others(values.rbegin(), values.rend());
    for (const char mode : {'n', 'z'}) {
      const std::string round = std::string("cvt.r") + mode;
      const auto one = evaluate_all<u16>(round + "." + format.name + ".f32", values);
      const auto relu = evaluate_all<u16>(round + ".relu." + format.name + ".f32", values);
      const auto two = evaluate_all<u32>(round + "." + format.name + "x2.f32", others, values);
      const auto two_relu = evaluate_all<u32>(round + ".relu." + format.name + "x2.f32", others, values);
      for (size_t i = 0; i < values.size(); ++i) {
        const u16 low = converted(format, values[i], mode), high = converted(format, others[i], mode);
        ASSERT_EQ(one[i], low) << values[i];
        ASSERT_EQ(relu[i], format.relu(low)) << values[i];
        ASSERT_EQ(two[i], u32{high} << 16 | low) << others[i] << " " << values[i];
        ASSERT_EQ(two_relu[i], u32{format.relu(high)} << 16 | format.relu(low)) << others[i] << " " << values[i];
      }
    }
  }
}

template <class From>
void expect_half_from(const std::string& from) {
  for (const Format* const format : {&half, &bfloat}) {
    for (const char mode : {'n', 'z', 'm', 'p'}) {
      expect_like<u16, From>(
          std::string("cvt.r") + mode + "." + format->name + "." + from,
          [mode, format](From x) {
            if constexpr (std::is_floating_point_v<From>) return converted(*format, x, mode);
            return format->rounded(Exactly(x), x < From{0}, mode);
          },
          12);
    }
  }
}

TEST(Half, FromOtherTypesInEveryRounding) {
  expect_half_from<f64>("f64");
  for_integers([](auto x, const char* type) { expect_half_from<decltype(x)>(type); });
  // A tie but for a bit that a double cannot hold.
  const u64 tie = (u64{1} << 15) + (u64{1} << 4);
  EXPECT_EQ(evaluate<u16>("cvt.rn.f16.u64", Warpful<u64>{tie, tie + 1, tie - 1, 65519, 65520})[0], 0x7800);
  EXPECT_EQ(evaluate<u16>("cvt.rn.f16.u64", Warpful<u64>{tie, tie + 1, tie - 1, 65519, 65520})[1], 0x7801);
}

TEST(Half, ToWiderFormats) {
  const std::vector<u16> all = all_values();
  const auto single = evaluate_all<f32>("cvt.f32.f16", all);
  const auto twice = evaluate_all<f64>("cvt.f64.f16", all);
  const auto from_bfloat = evaluate_all<f32>("cvt.f32.bf16", all);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(std::bit_cast<u32>(from_bfloat[i]), u32{all[i]} << 16);
  for (size_t i = 0; i < all.size(); ++i) {
    if (half.is_nan(all[i])) {
      ASSERT_TRUE(std::isnan(single[i]) && std::isnan(twice[i])) << i;
      continue;
    }
    ASSERT_TRUE(same(twice[i], half.value(all[i]))) << i;
    ASSERT_TRUE(same(single[i], static_cast<f32>(half.value(all[i])))) << i;
  }
}

f64 whole(f64 x, char mode) {
  return mode == 'n' ? std::rint(x) : mode == 'z' ? std::trunc(x) : mode == 'm' ? std::floor(x) : std::ceil(x);
}

template <class I, class Register>
void expect_integer_from(const Format& format, const std::string& to) {
  using limits = std::numeric_limits<I>;
  const std::vector<u16> all = all_values();
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    const auto results = evaluate_all<Register>(std::string("cvt.r") + mode + "i." + to + "." + format.name, all);
    for (size_t i = 0; i < all.size(); ++i) {
      const f64 x = format.value(all[i]);
      I wanted = sizeof(I) == 8 ? static_cast<I>(u64{1} << 63) : I{0};
      if (!std::isnan(x)) {
        const f64 rounded = whole(x, mode);
        wanted = rounded <= static_cast<f64>(limits::min())   ? limits::min()
                 : rounded >= static_cast<f64>(limits::max()) ? limits::max()
                                                              : static_cast<I>(rounded);
      }
      ASSERT_EQ(results[i], static_cast<Register>(wanted)) << to << " from " << x << " by " << mode;
    }
  }
}

TEST(Half, ToIntegersClampedInEveryRounding) {
  const std::vector<u16> all = all_values();
  for (const Format& format : {half, bfloat}) {
    expect_integer_from<u8, u16>(format, "u8");
    expect_integer_from<s8, u16>(format, "s8");
    for_integers([&](auto x, const char* type) {
      expect_integer_from<decltype(x), std::make_unsigned_t<decltype(x)>>(format, type);
    });
    for (const char mode : {'n', 'z', 'm', 'p'}) {
      const auto results = evaluate_all<u16>(std::string("cvt.r") + mode + "i." + format.name + "." + format.name, all);
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(results[i], converted(format, whole(format.value(all[i]), mode), 'n')) << all[i];
    }
  }
}

TEST(Half, ToTf32WithTiesAwayFromZero) {
  const auto bits = [](u32 x) {
    return std::bit_cast<u32>(evaluate<f32>("cvt.rna.tf32.f32", Warpful<f32>{std::bit_cast<f32>(x)})[0]);
  };
  EXPECT_EQ(bits(0x3f800000), 0x3f800000u);
  EXPECT_EQ(bits(0x3f800fff), 0x3f800000u);
  EXPECT_EQ(bits(0x3f801000), 0x3f802000u);  // a tie, away from zero
  EXPECT_EQ(bits(0xbf801000), 0xbf802000u);
  EXPECT_EQ(bits(0x3f803000), 0x3f804000u);
  EXPECT_EQ(bits(0x3ffff000), 0x40000000u);  // into the next power of two
  EXPECT_EQ(bits(0x7f7fffff), 0x7f800000u);
  EXPECT_EQ(bits(0xff800000), 0xff800000u);
  EXPECT_EQ(bits(0x00001000), 0x00002000u);
  EXPECT_EQ(bits(0x80000fff), 0x80000000u);
  EXPECT_EQ(bits(0x7fc00001), 0x7fffffffu);
}

TEST(Half, MovesPackAndUnpack) {
  std::vector<u32> out(3 * 32);
  std::vector<u64> wide(2 * 32);
  clean(run(kernel("mov.u32 %r0, %tid.x;\nld.param.u64 %d1, [p0];\nmad.wide.u32 %d1, %r0, 12, %d1;\n"
                   "ld.param.u64 %d2, [p1];\nmad.wide.u32 %d2, %r0, 16, %d2;\n"
                   "cvt.u16.u32 %h1, %r0;\nmov.b32 %r1, {%h1, 4660};\nmov.b32 {%h2, %h3}, %r1;\n"
                   "mov.b32 %r2, {%h3, %h2};\nmov.b32 {_, %h4}, %r2;\nmov.b64 %d3, {%h1, %h2, %h3, %h4};\n"
                   "mov.b64 %d4, {%r1, %r2};\nmov.b64 {%r3, %r4}, %d4;\nmov.b64 {%h5, _, _, %h6}, %d4;\n"
                   "mov.b32 %r4, {%h5, %h6};\nst.global.b32 [%d1], %r1;\nst.global.b32 [%d1+4], %r2;\n"
                   "st.global.b32 [%d1+8], %r4;\nst.global.b64 [%d2], %d3;\nst.global.b64 [%d2+8], %d4;\n",
                   2),
            {}, out, wide));
  for (u32 i = 0; i < 32; ++i) {
    const u32 there = 0x12340000u | i, back = i << 16 | 0x1234u;
    EXPECT_EQ(out[3 * i], there);
    EXPECT_EQ(out[3 * i + 1], back);
    EXPECT_EQ(out[3 * i + 2], i << 16 | i);  // the lowest and the highest of four
    EXPECT_EQ(wide[2 * i], u64{i} << 48 | u64{0x1234} << 32 | i << 16 | i);
    EXPECT_EQ(wide[2 * i + 1], u64{back} << 32 | there);
  }
}

TEST(Half, PartsThatDoNotFitAreRefused) {
  EXPECT_NE(refusal(kernel("mov.b32 %r1, {%r2, %r3};")), "");
  EXPECT_NE(refusal(kernel("mov.b32 %r1, {%h2};")), "");
  EXPECT_NE(refusal(kernel("mov.b32 %r1, {%h2, %h3, %h4};")), "");
  EXPECT_NE(refusal(kernel("mov.b32 {%h1, %h2}, {%h2, %h3};")), "");
  EXPECT_NE(refusal(kernel("mov.b64 %d1, {%h2, %h3};")), "");
  EXPECT_EQ(refusal(kernel("mov.b64 %d1, {%r2, %r3};")), "");
}

TEST(Half, WhatPtxDoesNotHaveIsRefused) {
  EXPECT_NE(refusal(kernel("add.rz.f16 %h1, %h2, %h3;")), "");
  EXPECT_NE(refusal(kernel("fma.rn.sat.bf16 %h1, %h2, %h3, %h4;")), "");
}

TEST(Half, VectorsOfSixteenBitsLoadAndStore) {
  std::vector<u16> from(32 * 4), to(32 * 4);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<u16>(40000 + i);
  clean(run(kernel("mov.u32 %r0, %tid.x;\nld.param.u64 %d1, [p0];\nmad.wide.u32 %d1, %r0, 8, %d1;\n"
                   "ld.param.u64 %d2, [p1];\nmad.wide.u32 %d2, %r0, 8, %d2;\n"
                   "ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%d1];\n"
                   "st.global.v2.b16 [%d2], {%h4, %h3};\nst.global.v2.u16 [%d2+4], {%h2, %h1};\n",
                   2),
            {}, from, to));
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], from[i / 4 * 4 + 3 - i % 4]);
}

}  // namespace
}  // namespace sim::testing
