// Bits: what an H200's tensor cores were seen to compute, through the instructions.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/tensor/tensor.h"
#include "numerics.h"

namespace sim::testing::test_tensor_numerics {
namespace {

// Runs an m16n8 mma once for each block of `in` (registers of A, B and C), and gives D's registers.
std::vector<uint32_t> run_mma(const std::string& opcode, uint32_t a, uint32_t b, uint32_t c,
                              std::vector<uint32_t>& in) {
  const uint32_t all = a + b + c, blocks = static_cast<uint32_t>(in.size() / 32 / all);
  std::vector<uint32_t> out(size_t{blocks} * c * 32);
  std::string body =
      "{\n.reg .b32 %q<32>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, " +
      std::to_string(32 * all) + ", %r1;\nmad.lo.u32 %r4, %r2, " + std::to_string(32 * c) +
      ", %r1;\nmad.wide.u32 %d1, %r3, 4, %d1;\nmad.wide.u32 %d2, %r4, 4, %d2;\n";
  for (uint32_t i = 0; i < all; ++i)
    body += "ld.global.b32 %q" + std::to_string(i) + ", [%d1+" + std::to_string(128 * i) + "];\n";
  body += opcode + " " + q_list(20, c) + ", " + q_list(0, a) + ", " + q_list(a, b) + ", " + q_list(a + b, c) + ";\n";
  for (uint32_t i = 0; i < c; ++i)
    body += "st.global.b32 [%d2+" + std::to_string(128 * i) + "], %q" + std::to_string(20 + i) + ";\n";
  const Ran ran = run(kernel(body + "}\n", 2), {.grid = {blocks, 1, 1}}, in, out);
  EXPECT_TRUE(ran.reports.empty()) << ran.text();
  return out;
}

// Eight dot products in each instruction: product i is row (2·i + n) % 16 of A times column (i + n) % 8 of B, so that
// every lane has its turn. `foreign`: an infinity in a row that none of them uses makes the simulator take the way
// that serves all numbers.
void expect_as_recorded(bool foreign) {
  std::map<Types, std::vector<const DotProduct*>> of_types;
  for (const DotProduct& each : recorded_dot_products()) {
    if (!each.mma.empty()) of_types[{each.factors, each.sum}].push_back(&each);
  }
  EXPECT_EQ(of_types.size(), 5u);
  size_t compared = 0;
  for (const auto& [types, products] : of_types) {
    const uint32_t bytes = element_bytes(types.factors), sum_bytes = element_bytes(types.sum);
    const MmaShape shape{16, 8, static_cast<uint8_t>(32 / bytes)};
    const Fragment a = fragment(shape, Role::a, static_cast<uint8_t>(bytes)),
                   b = fragment(shape, Role::b, static_cast<uint8_t>(bytes)),
                   c = fragment(shape, Role::c, static_cast<uint8_t>(sum_bytes));
    const auto row_of = [](size_t i) { return static_cast<uint32_t>((2 * (i % 8) + i / 8) % 16); };
    const auto col_of = [](size_t i) { return static_cast<uint32_t>((i % 8 + i / 8) % 8); };
    std::vector<uint32_t> in;
    for (size_t first = 0; first < products.size(); first += 8) {
      Registers of_a(a), of_b(b), of_c(c);
      for (size_t i = first; i < std::min(first + 8, products.size()); ++i) {
        ASSERT_EQ(products[i]->a.size(), shape.k);
        for (uint32_t k = 0; k < shape.k; ++k) {
          of_a.set(row_of(i), k, products[i]->a[k]);
          of_b.set(k, col_of(i), products[i]->b[k]);
        }
        of_c.set(row_of(i), col_of(i), products[i]->c);
      }
      const std::map<std::string, uint32_t> infinity = {
          {"f16", 0x7c00}, {"bf16", 0x7f80}, {"tf32", 0x7f800000}, {"e4m3", 0x7f}};
      if (foreign) of_a.set((row_of(first) + 1) % 16, 0, infinity.at(types.factors));
      for (const Registers* each : {&of_a, &of_b, &of_c}) in.insert(in.end(), each->words.begin(), each->words.end());
    }
    const std::string factors = types.factors + "." + types.factors;
    const std::string opcode =
        "mma.sync.aligned.m16n8k" + std::to_string(shape.k) + ".row.col." + types.sum + "." + factors + "." + types.sum;
    const auto out = run_mma(opcode, a.registers(), b.registers(), c.registers(), in);
    for (size_t i = 0; i < products.size(); ++i) {
      const uint32_t got = Registers(c).get(&out[i / 8 * 32 * c.registers()], row_of(i), col_of(i));
      EXPECT_EQ(got, std::stoul(products[i]->mma, nullptr, 16)) << opcode << " " << products[i]->what << " " << i;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 5229u);
}

TEST(TensorNumerics, MmaAsRecordedOnTheH200) { expect_as_recorded(false); }
TEST(TensorNumerics, MmaAsRecordedOnTheH200AmongInfinities) { expect_as_recorded(true); }

// Runs one instruction on registers, of a single warp.
std::vector<uint32_t> run_one(const std::string& opcode, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                              const std::vector<uint32_t>& c, uint32_t results) {
  std::vector<uint32_t> in = a, out(32 * results);
  in.insert(in.end(), b.begin(), b.end());
  in.insert(in.end(), c.begin(), c.end());
  std::string body =
      "{\n.reg .b32 %q<64>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %d1, %r1, 4, %d1;\nmad.wide.u32 %d2, %r1, 4, %d2;\n";
  const auto count = [](const std::vector<uint32_t>& words) { return static_cast<uint32_t>(words.size() / 32); };
  for (uint32_t i = 0; i < count(in); ++i)
    body += "ld.global.b32 %q" + std::to_string(i) + ", [%d1+" + std::to_string(128 * i) + "];\n";
  body += opcode + " " + q_list(40, results) + ", " + q_list(0, count(a)) + ", " + q_list(count(a), count(b)) + ", " +
          q_list(count(a) + count(b), count(c)) + ";\n";
  for (uint32_t i = 0; i < results; ++i)
    body += "st.global.b32 [%d2+" + std::to_string(128 * i) + "], %q" + std::to_string(40 + i) + ";\n";
  const Ran ran = run(kernel(body + "}\n", 2), {}, in, out);
  EXPECT_TRUE(ran.reports.empty()) << ran.text();
  return out;
}

std::vector<uint32_t> part(const std::vector<uint32_t>& words, uint32_t first, uint32_t count) {
  return {words.begin() + 32 * first, words.begin() + 32 * (first + count)};
}

std::vector<uint32_t> joined(std::vector<uint32_t> a, const std::vector<uint32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Random numbers of a type, around 1, `count` registers.
std::vector<uint32_t> numbers(const std::string& type, uint32_t count, std::mt19937& random) {
  std::vector<uint32_t> words(32 * count);
  std::normal_distribution<float> normal;
  const auto half = [&] { return static_cast<uint32_t>((random() & 0x83ff) + ((12 + random() % 5) << 10)); };
  for (uint32_t& word : words) {
    const auto single = [&] { return std::bit_cast<uint32_t>(normal(random)); };
    if (type == "f16")
      word = half() | half() << 16;
    else if (type == "bf16")
      word = single() >> 16 | (single() & 0xffff0000);
    else if (type == "e4m3" || type == "e5m2")
      word = static_cast<uint32_t>(random()) & 0xbfbfbfbf;
    else
      word = single();
  }
  return words;
}

// As ptxas 13.0 for sm_90 has it (cuobjdump -sass): two HMMA.16816 side by side; with tf32 two pairs of HMMA.1684, the
// lower half of k first.
TEST(TensorNumerics, WmmaIsTheMmasOfItsMachineCode) {
  std::mt19937 random(5);
  const std::string mma = "mma.sync.aligned.", wmma = "wmma.mma.sync.aligned.row.col.";
  for (int round = 0; round < 20; ++round) {
    for (const std::string type : {"f16", "bf16"}) {
      const std::string product = mma + "m16n8k16.row.col.f32." + type + "." + type + ".f32";
      const auto a = numbers(type, 4, random), b = numbers(type, 4, random), c = numbers("f32", 8, random);
      const auto wanted = joined(run_one(product, a, part(b, 0, 2), part(c, 0, 4), 4),
                                 run_one(product, a, part(b, 2, 2), part(c, 4, 4), 4));
      const std::string suffix = type == "f16" ? "f32.f32" : "f32.bf16.bf16.f32";
      const bool copies = type == "f16";
      EXPECT_EQ(run_one(wmma + "m16n16k16." + suffix, copies ? joined(a, a) : a, copies ? joined(b, b) : b, c, 8),
                wanted);
    }
    const std::string product = mma + "m16n8k4.row.col.f32.tf32.tf32.f32";
    const auto a = numbers("f32", 4, random), b = numbers("f32", 4, random), c = numbers("f32", 8, random);
    std::vector<uint32_t> wanted;
    for (uint32_t n = 0; n < 2; ++n) {
      const auto first = run_one(product, part(a, 0, 2), part(b, 2 * n, 1), part(c, 4 * n, 4), 4);
      wanted = joined(wanted, run_one(product, part(a, 2, 2), part(b, 2 * n + 1, 1), first, 4));
    }
    EXPECT_EQ(run_one(wmma + "m16n16k8.f32.tf32.tf32.f32", a, b, c, 8), wanted);
  }
}

// C of f16 is converted first; D of f16 is rounded from f32, a second time.
TEST(TensorNumerics, WmmaOfTwoTypesOfSums) {
  std::mt19937 random(6);
  const std::string wmma = "wmma.mma.sync.aligned.row.col.m16n16k16.";
  for (int round = 0; round < 20; ++round) {
    const auto a = numbers("f16", 8, random), b = numbers("f16", 8, random), c16 = numbers("f16", 4, random);
    std::vector<uint32_t> c32(8 * 32);
    const auto widened = [](uint32_t bits) {
      const f32 size = std::ldexp(f32((bits & 0x3ff) + 0x400), int(bits >> 10 & 31) - 25);  // of a normal number
      return std::bit_cast<uint32_t>(bits >> 15 & 1 ? -size : size);
    };
    for (uint32_t i = 0; i < 4 * 32; ++i) {
      c32[i / 32 * 64 + i % 32] = widened(c16[i] & 0xffff);
      c32[i / 32 * 64 + 32 + i % 32] = widened(c16[i] >> 16);
    }
    const auto d32 = run_one(wmma + "f32.f32", a, b, c32, 8);
    EXPECT_EQ(run_one(wmma + "f32.f16", a, b, c16, 8), d32);
    const auto d16 = run_one(wmma + "f16.f32", a, b, c32, 4);
    for (uint32_t i = 0; i < 4 * 32; ++i) {
      for (uint32_t half = 0; half < 2; ++half) {
        const double got = std::bit_cast<f32>(widened(d16[i] >> 16 * half & 0xffff));
        const double exact = std::bit_cast<f32>(d32[i / 32 * 64 + 32 * half + i % 32]);
        if (std::fabs(exact) < 0x1p-10) continue;
        EXPECT_LE(std::fabs(got - exact), std::ldexp(1.0, std::ilogb(exact) - 11)) << "half a unit of the last place";
      }
    }
  }
}

// FP8 through mma.sync, as the machine code does it with the instructions for f16.
TEST(TensorNumerics, Fp8IsTwoProductsOfF16) {
  std::mt19937 random(7);
  const std::string mma = "mma.sync.aligned.m16n8k";
  for (const uint32_t k : {16u, 32u}) {
    for (const std::string a_type : {"e4m3", "e5m2"}) {
      for (const std::string b_type : {"e4m3", "e5m2"}) {
        for (int round = 0; round < 10; ++round) {
          const auto a = numbers(a_type, k / 8, random), b = numbers(b_type, k / 16, random),
                     c = numbers("f32", 4, random);
          const auto f16_of = [](const std::string& type, const std::vector<uint32_t>& words, uint32_t half) {
            std::vector<uint32_t> converted;
            for (const uint32_t word : words) {
              uint32_t both = 0;
              for (uint32_t i = 0; i < 2; ++i) {
                const uint32_t byte = word >> (16 * half + 8 * i) & 0xff;
                const auto value =
                    static_cast<float>(type == "e5m2" ? std::ldexp(byte >> 2 & 31 ? 4 + (byte & 3) : byte & 3,
                                                                   std::max(int(byte >> 2 & 31), 1) - 17)
                                                      : std::ldexp(byte >> 3 & 15 ? 8 + (byte & 7) : byte & 7,
                                                                   std::max(int(byte >> 3 & 15), 1) - 10));
                uint32_t bits = 0;
                for (uint32_t exponent = 1; value != 0 && exponent < 31; ++exponent) {
                  const double units = std::ldexp(value, 25 - int(exponent));
                  if (exponent == 1 && units < 1024) bits = static_cast<uint32_t>(units);
                  if (units >= 1024 && units < 2048) bits = exponent << 10 | (static_cast<uint32_t>(units) - 1024);
                }
                both |= (bits | (byte & 0x80) << 8) << 16 * i;
              }
              converted.push_back(both);
            }
            return converted;
          };
          const std::string product = mma + std::to_string(k / 2) + ".row.col.f32.f16.f16.f32";
          std::vector<uint32_t> sum(4 * 32);
          for (uint32_t half = 0; half < 2; ++half)
            sum = run_one(product, f16_of(a_type, a, half), f16_of(b_type, b, half), sum, 4);
          for (size_t i = 0; i < sum.size(); ++i)
            sum[i] = std::bit_cast<uint32_t>(std::bit_cast<f32>(sum[i]) + std::bit_cast<f32>(c[i]));
          EXPECT_EQ(run_one(mma + std::to_string(k) + ".row.col.f32." + a_type + "." + b_type + ".f32", a, b, c, 4),
                    sum);
        }
      }
    }
  }
}

// The two ways to the same sum, on numbers of every size at which both may be taken.
TEST(TensorNumerics, TheFastWayIsTheGeneralWay) {
  std::mt19937 random(1);
  const auto any_f16 = [&] { return static_cast<uint16_t>(random() & 0xfbff); };                  // finite
  const auto any_bf16 = [&] { return static_cast<uint16_t>((random() & 0x8fff) + (90u << 7)); };  // 2^-37 to 2^-6
  for (int round = 0; round < 400; ++round) {
    const Factor factor = round % 2 ? Factor::f16 : Factor::bf16;
    Matrix matrices[6];
    for (Matrix& matrix : matrices) {
      for (auto& line : matrix.at) {
        for (uint16_t& each : line) each = random() % 8 == 0 ? 0 : factor == Factor::f16 ? any_f16() : any_bf16();
      }
    }
    TileC c;
    for (auto& row : c.at) {
      for (auto& col : row) {
        for (f32& each : col) each = random() % 4 == 0 ? 0 : std::ldexp(f32(int(random())), int(random() % 80) - 90);
      }
    }
    TileA a;
    TileB b;
    for (uint32_t i = 0; i < 2; ++i) {
      widen(factor, matrices[2 * i], matrices[2 * i + 1], a, 8 * i);
      widen_columns(factor, matrices[4 + i], b, 8 * i);
    }
    ASSERT_FALSE(a.wild || b.wild);
    for (const uint32_t k : {4u, 8u, 16u}) {
      Sums fast, general;
      a.wild = false;
      multiply(a, b, c, {.k = k, .sum = Sum::f32}, fast);
      a.wild = true;
      multiply(a, b, c, {.k = k, .sum = Sum::f32}, general);
      ASSERT_EQ(std::memcmp(&fast, &general, sizeof fast), 0) << round << " " << k;
    }
  }
}

}  // namespace
}  // namespace sim::testing::test_tensor_numerics
