// Integer instructions that intrinsics lead to, and sums and products of numbers longer than a register.
#include <cstdlib>

#include "evaluate.h"

namespace sim::testing::test_intrinsics {
namespace {

template <class T>
void expect_absolute_difference(const std::string& type) {
  using Wide = __int128;
  expect_like<T, T, T, T>("sad." + type, [](T a, T b, T c) {
    const Wide difference = Wide(a) - Wide(b);
    return static_cast<T>(static_cast<u64>((difference < 0 ? -difference : difference) + Wide(c)));
  });
}

TEST(Intrinsics, AbsoluteDifferences) {
  for_integers([](auto x, const char* type) { expect_absolute_difference<decltype(x)>(type); });
}

s64 low_24(u32 x) { return x & 0xffffff; }
s64 low_24(s32 x) {
  const s64 bits = static_cast<u32>(x) & 0xffffff;
  return bits >= 1 << 23 ? bits - (1 << 24) : bits;
}

template <class T>
void expect_24_bits(const std::string& type) {
  const auto low = [](T a, T b) { return static_cast<u32>(low_24(a) * low_24(b)); };
  const auto high = [](T a, T b) { return static_cast<u32>(low_24(a) * low_24(b) >> 16); };
  expect_like<T, T, T>("mul24.lo." + type, [=](T a, T b) { return static_cast<T>(low(a, b)); });
  expect_like<T, T, T>("mul24.hi." + type, [=](T a, T b) { return static_cast<T>(high(a, b)); });
  expect_like<T, T, T, T>("mad24.lo." + type, [=](T a, T b, T c) { return static_cast<T>(low(a, b) + u32(c)); });
  expect_like<T, T, T, T>("mad24.hi." + type, [=](T a, T b, T c) { return static_cast<T>(high(a, b) + u32(c)); });
}

TEST(Intrinsics, ProductsOf24Bits) {
  expect_24_bits<u32>("u32");
  expect_24_bits<s32>("s32");
}

TEST(Intrinsics, SaturatingSums) {
  const auto clamped = [](s64 x) { return static_cast<s32>(std::clamp<s64>(x, INT32_MIN, INT32_MAX)); };
  expect_like<s32, s32, s32>("add.sat.s32", [=](s32 a, s32 b) { return clamped(s64{a} + b); });
  expect_like<s32, s32, s32>("sub.sat.s32", [=](s32 a, s32 b) { return clamped(s64{a} - b); });
}

template <class Half, class Byte>
void expect_dot_halves(const std::string& types) {
  for (const int first : {0, 2}) {
    expect_like<u32, u32, u32, u32>(std::string("dp2a.") + (first ? "hi." : "lo.") + types, [=](u32 a, u32 b, u32 c) {
      const auto byte = [&](int i) { return s64{static_cast<Byte>(b >> 8 * (first + i))}; };
      return static_cast<u32>(c + static_cast<Half>(a) * byte(0) + static_cast<Half>(a >> 16) * byte(1));
    });
  }
}

TEST(Intrinsics, DotProductsOfTwoHalves) {
  expect_dot_halves<u16, u8>("u32.u32");
  expect_dot_halves<s16, s8>("s32.s32");
  expect_dot_halves<s16, u8>("s32.u32");
  expect_dot_halves<u16, s8>("u32.s32");
}

TEST(Intrinsics, DifferencesOfBytes) {
  const auto difference = [](u32 a, u32 b, int byte) {
    return static_cast<u32>(std::abs(static_cast<int>(a >> 8 * byte & 255) - static_cast<int>(b >> 8 * byte & 255)));
  };
  expect_like<u32, u32, u32, u32>("vabsdiff4.u32.u32.u32", [=](u32 a, u32 b, u32) {
    return difference(a, b, 3) << 24 | difference(a, b, 2) << 16 | difference(a, b, 1) << 8 | difference(a, b, 0);
  });
  expect_like<u32, u32, u32, u32>("vabsdiff4.u32.u32.u32.add", [=](u32 a, u32 b, u32 c) {
    return difference(a, b, 3) + difference(a, b, 2) + difference(a, b, 1) + difference(a, b, 0) + c;
  });
}

TEST(Intrinsics, NthSetBit) {
  const auto found = [](u32 mask, u32 base, s32 n) {
    return evaluate<u32>("fns.b32", Warpful<u32>{mask}, Warpful<u32>{base}, Warpful<s32>{n})[0];
  };
  EXPECT_EQ(found(0b10110, 0, 1), 1u);
  EXPECT_EQ(found(0b10110, 0, 3), 4u);
  EXPECT_EQ(found(0b10110, 0, 4), ~0u);
  EXPECT_EQ(found(0b10110, 2, 1), 2u);
  EXPECT_EQ(found(0b10110, 4, -2), 2u);
  EXPECT_EQ(found(0b10110, 0, -1), ~0u);
  EXPECT_EQ(found(0b10110, 2, 0), 2u);
  EXPECT_EQ(found(0b10110, 3, 0), ~0u);
}

// Sums, differences and products of 128 bits, as the compiler writes them: from 32-bit parts for the products.
TEST(Intrinsics, CarriesGoFromInstructionToInstruction) {
  std::vector<u64> a = telling_values<u64>(), b(a.rbegin(), a.rend()), out(32 * 6);
  a.resize(64, 0x0123456789abcdef), b.resize(64, ~u64{0});
  std::string body = "mov.u32 %r0, %tid.x;\n";
  const auto pointer = [&](int number, int parameter, int bytes) {
    const std::string d = "%d" + std::to_string(number);
    body += "ld.param.u64 " + d + ", [p" + std::to_string(parameter) + "];\nmad.wide.u32 " + d + ", %r0, " +
            std::to_string(bytes) + ", " + d + ";\n";
  };
  pointer(1, 0, 16), pointer(2, 1, 16), pointer(3, 2, 48);
  body +=
      "ld.global.v2.u64 {%d10, %d11}, [%d1];\nld.global.v2.u64 {%d12, %d13}, [%d2];\n"
      "add.cc.u64 %d14, %d10, %d12;\naddc.u64 %d15, %d11, %d13;\nst.global.v2.u64 [%d3], {%d14, %d15};\n"
      "sub.cc.u64 %d14, %d10, %d12;\nsubc.u64 %d15, %d11, %d13;\nst.global.v2.u64 [%d3+16], {%d14, %d15};\n"
      // The product of the two low words of 64 bits, by 32-bit parts.
      "mov.b64 {%r1, %r2}, %d10;\nmov.b64 {%r3, %r4}, %d12;\nmul.lo.u32 %r5, %r1, %r3;\nmul.hi.u32 %r6, %r1, %r3;\n"
      "mad.lo.cc.u32 %r6, %r1, %r4, %r6;\nmadc.hi.u32 %r7, %r1, %r4, 0;\nmad.lo.cc.u32 %r6, %r2, %r3, %r6;\n"
      "madc.hi.cc.u32 %r7, %r2, %r3, %r7;\naddc.u32 %r8, 0, 0;\nmad.lo.cc.u32 %r7, %r2, %r4, %r7;\n"
      "madc.hi.u32 %r8, %r2, %r4, %r8;\nmov.b64 %d14, {%r5, %r6};\nmov.b64 %d15, {%r7, %r8};\n"
      "st.global.v2.u64 [%d3+32], {%d14, %d15};\n";
  clean(run(kernel(body, 3), {}, a, b, out));
  using Long = unsigned __int128;
  for (size_t i = 0; i < 32; ++i) {
    const Long x = Long{a[2 * i + 1]} << 64 | a[2 * i], y = Long{b[2 * i + 1]} << 64 | b[2 * i];
    const auto at = [&](size_t word) { return Long{out[6 * i + word + 1]} << 64 | out[6 * i + word]; };
    ASSERT_TRUE(at(0) == x + y) << i;
    ASSERT_TRUE(at(2) == x - y) << i;
    ASSERT_TRUE(at(4) == Long{a[2 * i]} * b[2 * i]) << i;
  }
}

}  // namespace
}  // namespace sim::testing::test_intrinsics
