// Integer instructions against results computed on the host in wider types.
#include <algorithm>
#include <bitset>
#include <cmath>

#include "evaluate.h"

namespace sim::testing::test_integer {
namespace {

using wide = __int128;
using bits = unsigned __int128;  // products of 64 bits wrap around, as they do on the GPU

template <class T>
T cut(wide value) {
  return static_cast<T>(value);
}

template <class T>
void expect_arithmetic(const std::string& type) {
  expect_like<T, T, T>("add." + type, [](T a, T b) { return cut<T>(wide(a) + wide(b)); });
  expect_like<T, T, T>("sub." + type, [](T a, T b) { return cut<T>(wide(a) - wide(b)); });
  expect_like<T, T, T>("mul.lo." + type, [](T a, T b) { return static_cast<T>(bits(a) * bits(b)); });
  expect_like<T, T, T, T>("mad.lo." + type, [](T a, T b, T c) { return static_cast<T>(bits(a) * bits(b) + bits(c)); });
  expect_like<T, T, T>("min." + type, [](T a, T b) { return std::min(a, b); });
  expect_like<T, T, T>("max." + type, [](T a, T b) { return std::max(a, b); });
  expect_like<T, T, T>("div." + type, [](T a, T b) { return b == 0 ? T(-1) : cut<T>(wide(a) / wide(b)); });
  expect_like<T, T, T>("rem." + type, [](T a, T b) { return b == 0 ? a : cut<T>(wide(a) % wide(b)); });
  expect_like<T, T, u32>("shr." + type, [](T a, u32 n) {
    const wide divisor = wide(1) << std::min<u32>(n, 100);
    const wide quotient = wide(a) / divisor, rest = wide(a) % divisor;
    return cut<T>(quotient - (rest < 0));  // rounded down
  });
  // The high half of a 128-bit product, limb by limb so that nothing overflows.
  const auto high = [](T a, T b) -> T {
    if constexpr (sizeof(T) < 8) {
      const wide product = wide(a) * wide(b), unit = wide(1) << (8 * sizeof(T));
      return cut<T>(product / unit - (product % unit < 0));
    } else {
      const u64 x = static_cast<u64>(a), y = static_cast<u64>(b), low = 0xffffffffu;
      const u64 ll = (x & low) * (y & low), lh = (x & low) * (y >> 32), hl = (x >> 32) * (y & low),
                hh = (x >> 32) * (y >> 32);
      u64 result = hh + (lh >> 32) + (hl >> 32) + (((ll >> 32) + (lh & low) + (hl & low)) >> 32);
      if (std::is_signed_v<T> && a < T(0)) result -= y;
      if (std::is_signed_v<T> && b < T(0)) result -= x;
      return static_cast<T>(result);
    }
  };
  expect_like<T, T, T>("mul.hi." + type, high);
  expect_like<T, T, T, T>("mad.hi." + type, [high](T a, T b, T c) { return cut<T>(wide(high(a, b)) + wide(c)); });
}

template <class T>
void expect_signed(const std::string& type) {
  expect_like<T, T>("abs." + type, [](T a) { return cut<T>(a < 0 ? -wide(a) : wide(a)); });
  expect_like<T, T>("neg." + type, [](T a) { return cut<T>(-wide(a)); });
}

template <class T, class W>
void expect_wide(const std::string& type) {
  expect_like<W, T, T>("mul.wide." + type, [](T a, T b) { return cut<W>(wide(a) * wide(b)); });
  expect_like<W, T, T, W>("mad.wide." + type, [](T a, T b, W c) { return cut<W>(wide(a) * wide(b) + wide(c)); });
}

template <class T>
void expect_bitwise(const std::string& width) {
  constexpr size_t n = 8 * sizeof(T);
  using Bits = std::bitset<n>;
  const auto of = [](Bits b) { return static_cast<T>(b.to_ullong()); };
  expect_like<T, T, T>("and.b" + width, [of](T a, T b) { return of(Bits(a) & Bits(b)); });
  expect_like<T, T, T>("or.b" + width, [of](T a, T b) { return of(Bits(a) | Bits(b)); });
  expect_like<T, T, T>("xor.b" + width, [of](T a, T b) { return of(Bits(a) ^ Bits(b)); });
  expect_like<T, T>("not.b" + width, [of](T a) { return of(~Bits(a)); });
  expect_like<T, T>("cnot.b" + width, [](T a) { return T(a == 0 ? 1 : 0); });
  expect_like<T, T, u32>("shl.b" + width, [of](T a, u32 by) { return of(Bits(a) << by); });
  expect_like<T, T, u32>("shr.b" + width, [of](T a, u32 by) { return of(Bits(a) >> by); });
  for (const char* sign : {"b", "s", "u"}) {
    expect_like<T, T, T, bool>(std::string("selp.") + sign + width, [](T a, T b, bool p) { return p ? a : b; }, 3);
    expect_like<T, T>(std::string("mov.") + sign + width, [](T a) { return a; }, 2);
  }
}

TEST(Integer, ArithmeticIsExactModuloTheWidth) {
  for_integers([](auto x, const char* type) { expect_arithmetic<decltype(x)>(type); });
  expect_signed<s16>("s16");
  expect_signed<s32>("s32");
  expect_signed<s64>("s64");
  expect_wide<u16, u32>("u16");
  expect_wide<s16, s32>("s16");
  expect_wide<u32, u64>("u32");
  expect_wide<s32, s64>("s32");
}

TEST(Integer, BitwiseOperationsAndShiftsPastTheWidth) {
  expect_bitwise<u16>("16");
  expect_bitwise<u32>("32");
  expect_bitwise<u64>("64");
}

template <class T>
void expect_comparison(const std::string& name, const std::string& type, bool (*compare)(T, T)) {
  expect_like<bool, T, T>("setp." + name + "." + type, compare, 6);
  expect_combined<T>(name, "." + type, compare);
}

template <class T>
void expect_comparisons(const std::string& type) {
  expect_comparison<T>("eq", type, [](T a, T b) { return a == b; });
  expect_comparison<T>("ne", type, [](T a, T b) { return a != b; });
  if (type[0] == 'b') return;
  expect_comparison<T>("lt", type, [](T a, T b) { return a < b; });
  expect_comparison<T>("le", type, [](T a, T b) { return a <= b; });
  expect_comparison<T>("gt", type, [](T a, T b) { return a > b; });
  expect_comparison<T>("ge", type, [](T a, T b) { return a >= b; });
  if (type[0] == 's') return;
  expect_comparison<T>("lo", type, [](T a, T b) { return a < b; });
  expect_comparison<T>("ls", type, [](T a, T b) { return a <= b; });
  expect_comparison<T>("hi", type, [](T a, T b) { return a > b; });
  expect_comparison<T>("hs", type, [](T a, T b) { return a >= b; });
}

TEST(Integer, Comparisons) {
  for (const char* type : {"u16", "b16"}) expect_comparisons<u16>(type);
  for (const char* type : {"u32", "b32"}) expect_comparisons<u32>(type);
  for (const char* type : {"u64", "b64"}) expect_comparisons<u64>(type);
  expect_comparisons<s16>("s16");
  expect_comparisons<s32>("s32");
  expect_comparisons<s64>("s64");
}

TEST(Integer, Predicates) {
  expect_like<bool, bool, bool>("and.pred", [](bool a, bool b) { return a && b; }, 2);
  expect_like<bool, bool, bool>("or.pred", [](bool a, bool b) { return a || b; }, 2);
  expect_like<bool, bool, bool>("xor.pred", [](bool a, bool b) { return a != b; }, 2);
  expect_like<bool, bool>("not.pred", [](bool a) { return !a; }, 2);
  expect_like<bool, bool>("mov.pred", [](bool a) { return a; }, 2);
}

// The bits of a number as a string, most significant first: another way to say what the bit instructions do.
template <class T>
std::string digits(T a) {
  return std::bitset<8 * sizeof(T)>(static_cast<std::make_unsigned_t<T>>(a)).to_string();
}

TEST(Integer, CountingBits) {
  const auto ones = [](auto a) {
    const std::string d = digits(a);
    return u32(std::count(d.begin(), d.end(), '1'));
  };
  const auto leading = [](auto a) {
    const std::string d = digits(a);
    return u32(std::min(d.find('1'), d.size()));
  };
  const auto turned = [](auto a) {
    std::string d = digits(a);
    std::reverse(d.begin(), d.end());
    return static_cast<decltype(a)>(std::bitset<64>(d).to_ullong());
  };
  expect_like<u32, u32>("popc.b32", ones);
  expect_like<u32, u64>("popc.b64", ones);
  expect_like<u32, u32>("clz.b32", leading);
  expect_like<u32, u64>("clz.b64", leading);
  expect_like<u32, u32>("brev.b32", turned);
  expect_like<u64, u64>("brev.b64", turned);
  // bfind: the first digit unlike the sign, counted from the right; with shiftamt from the left.
  const auto find = [](auto a, bool shift) -> u32 {
    const std::string d = digits(a);
    const char other = std::is_signed_v<decltype(a)> && a < decltype(a)(0) ? '0' : '1';
    const size_t at = d.find(other);
    return at == std::string::npos ? ~0u : static_cast<u32>(shift ? at : d.size() - 1 - at);
  };
  expect_like<u32, u32>("bfind.u32", [=](u32 a) { return find(a, false); });
  expect_like<u32, s32>("bfind.s32", [=](s32 a) { return find(a, false); });
  expect_like<u32, u64>("bfind.u64", [=](u64 a) { return find(a, false); });
  expect_like<u32, s64>("bfind.s64", [=](s64 a) { return find(a, false); });
  expect_like<u32, u32>("bfind.shiftamt.u32", [=](u32 a) { return find(a, true); });
  expect_like<u32, s32>("bfind.shiftamt.s32", [=](s32 a) { return find(a, true); });
}

TEST(Integer, BitFields) {
  // A field is what remains when the number is shifted left to drop what is above and right to drop what is below.
  const auto field = [](auto a, u32 position, u32 length) -> decltype(a) {
    using T = decltype(a);
    position &= 255, length &= 255;
    wide value = a;
    if (length == 0) return 0;
    if (position >= 8 * sizeof(T)) return std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
    if (length + position < 8 * sizeof(T)) {
      value = static_cast<wide>(static_cast<unsigned __int128>(value) << (128 - position - length));
      value = std::is_signed_v<T> ? value >> (128 - length)
                                  : static_cast<wide>(static_cast<unsigned __int128>(value) >> (128 - length));
      return static_cast<T>(value);
    }
    return static_cast<T>(value >> position);
  };
  expect_like<u32, u32, u32, u32>("bfe.u32", field, 60);
  expect_like<s32, s32, u32, u32>("bfe.s32", field, 60);
  expect_like<u64, u64, u32, u32>("bfe.u64", field, 60);
  expect_like<s64, s64, u32, u32>("bfe.s64", field, 60);
  const auto insert = [](auto a, auto b, u32 position, u32 length) -> decltype(a) {
    using T = decltype(a);
    position &= 255, length &= 255;
    if (position >= 8 * sizeof(T) || length == 0) return b;
    const auto ones = length >= 8 * sizeof(T) ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << length) - 1);
    const T mask = static_cast<T>(ones << position);
    return (b & ~mask) | (static_cast<T>(a << position) & mask);
  };
  expect_like<u32, u32, u32, u32, u32>("bfi.b32", insert, 60);
  expect_like<u64, u64, u64, u32, u32>("bfi.b64", insert, 60);
}

TEST(Integer, PermutesAndLooksUp) {
  expect_like<u32, u32, u32, u32>("prmt.b32", [](u32 a, u32 b, u32 selectors) {
    std::array<s8, 8> bytes;
    std::memcpy(bytes.data(), &a, 4);
    std::memcpy(bytes.data() + 4, &b, 4);
    u32 result = 0;
    for (int i = 3; i >= 0; --i) {
      const u32 pick = selectors / (1u << 4 * i) % 16;
      const u8 byte = pick >= 8 ? static_cast<u8>(bytes[pick - 8] < 0 ? 255 : 0) : static_cast<u8>(bytes[pick]);
      result = result * 256 + byte;
    }
    return result;
  });
  // The table of a & b, a ^ b ^ c, and a ? b : c are 0xc0, 0x96 and 0xca.
  const auto lop3 = [](u32 table) {
    return [table](const Warpful<u32>& a, const Warpful<u32>& b, const Warpful<u32>& c) {
      Warpful<u32> t;
      t.fill(table);
      return evaluate<u32>("lop3.b32", a, b, c, t);
    };
  };
  Warpful<u32> a, b, c;
  for (u32 i = 0; i < 32; ++i) a[i] = i * 0x9e3779b9u, b[i] = ~i * 0x85ebca6bu, c[i] = i * 0xc2b2ae35u + 7;
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(lop3(0xc0)(a, b, c)[i], a[i] & b[i]);
    EXPECT_EQ(lop3(0x96)(a, b, c)[i], a[i] ^ b[i] ^ c[i]);
    EXPECT_EQ(lop3(0xca)(a, b, c)[i], (a[i] & b[i]) | (~a[i] & c[i]));
  }
}

TEST(Integer, FunnelShifts) {
  const auto both = [](u32 low, u32 high) { return (unsigned __int128)(high) << 32 | low; };
  expect_like<u32, u32, u32, u32>("shf.l.wrap.b32",
                                  [=](u32 a, u32 b, u32 n) { return u32(both(a, b) << n % 32 >> 32); });
  expect_like<u32, u32, u32, u32>("shf.r.wrap.b32", [=](u32 a, u32 b, u32 n) { return u32(both(a, b) >> n % 32); });
  expect_like<u32, u32, u32, u32>("shf.l.clamp.b32",
                                  [=](u32 a, u32 b, u32 n) { return u32(both(a, b) << std::min(n, 32u) >> 32); });
  expect_like<u32, u32, u32, u32>("shf.r.clamp.b32",
                                  [=](u32 a, u32 b, u32 n) { return u32(both(a, b) >> std::min(n, 32u)); });
}

TEST(Integer, DotProductsOfBytes) {
  const auto dot = [](auto a, auto b, u32 x, u32 y, u32 c) {
    std::array<decltype(a), 4> xs;
    std::array<decltype(b), 4> ys;
    std::memcpy(xs.data(), &x, 4);
    std::memcpy(ys.data(), &y, 4);
    wide sum = c;
    for (int i = 0; i < 4; ++i) sum += wide(xs[i]) * wide(ys[i]);
    return static_cast<u32>(sum);
  };
  expect_like<u32, u32, u32, u32>("dp4a.u32.u32", [=](u32 x, u32 y, u32 c) { return dot(u8{}, u8{}, x, y, c); });
  expect_like<u32, u32, u32, u32>("dp4a.s32.s32", [=](u32 x, u32 y, u32 c) { return dot(s8{}, s8{}, x, y, c); });
  expect_like<u32, u32, u32, u32>("dp4a.u32.s32", [=](u32 x, u32 y, u32 c) { return dot(u8{}, s8{}, x, y, c); });
  expect_like<u32, u32, u32, u32>("dp4a.s32.u32", [=](u32 x, u32 y, u32 c) { return dot(s8{}, u8{}, x, y, c); });
}

}  // namespace
}  // namespace sim::testing::test_integer
