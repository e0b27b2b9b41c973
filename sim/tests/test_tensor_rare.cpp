// Products of single bits, and the old m8n8k4 of f16, on tensor cores: against plain loops over the layouts that the
// PTX ISA describes. What a GPU makes of random numbers is in rare_products_h200.csv.gz.
#include <bit>
#include <random>

#include "wgmma_kernel.h"

namespace sim::testing::test_tensor_rare {
namespace {

using Words = std::vector<uint32_t>;

Words any_words(size_t count, std::mt19937& random) {
  Words words(count);
  for (uint32_t& each : words) each = static_cast<uint32_t>(random());
  return words;
}

uint32_t counted(uint32_t a, uint32_t b, bool differ) {
  return static_cast<uint32_t>(std::popcount(differ ? a ^ b : a & b));
}

// How many registers of an instruction's operands there are.
struct Counts {
  uint32_t d, a, b, c;
};

// Registers %q0 on hold A, B and C of `in`, then come D's, which are stored to `out`: 32 lanes each.
std::string mma_kernel(const std::string& opcode, const Counts& count) {
  const uint32_t inputs = count.a + count.b + count.c;
  std::string body =
      "{\n.reg .b32 %q<64>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %d1, %r1, 4, %d1;\nmad.wide.u32 %d2, %r1, 4, %d2;\n";
  for (uint32_t i = 0; i < inputs; ++i)
    body += "ld.global.b32 %q" + std::to_string(i) + ", [%d1+" + std::to_string(128 * i) + "];\n";
  body += opcode + " " + q_list(inputs, count.d) + ", " + q_list(0, count.a) + ", " + q_list(count.a, count.b) + ", " +
          q_list(count.a + count.b, count.c) + ";\n";
  for (uint32_t i = 0; i < count.d; ++i)
    body += "st.global.b32 [%d2+" + std::to_string(128 * i) + "], %q" + std::to_string(inputs + i) + ";\n";
  return kernel(body + "}\n", 2);
}

Words run_mma(const std::string& opcode, const Counts& count, Words& in) {
  Words out(count.d * 32);
  const Ran ran = run(mma_kernel(opcode, count), {}, in, out);
  EXPECT_TRUE(ran.reports.empty()) << opcode << "\n" << ran.text();
  return out;
}

// --- single bits by mma ---

// A register of A has 32 bits along k of row lane / 4, and those of rows below come before those further along k.
TEST(BitMma, CountsTheBitsOfEachRowAndColumn) {
  std::mt19937 random(31);
  for (const auto& [m, words] : {std::pair{8u, 4u}, {16u, 4u}, {16u, 8u}}) {
    const uint32_t groups = m / 8, steps = words / 4;
    const Counts count{2 * groups, groups * steps, steps, 2 * groups};
    for (const bool differ : {true, false}) {
      Words in = any_words((count.a + count.b + count.c) * 32, random);
      const std::string opcode = "mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(32 * words) +
                                 ".row.col.s32.b1.b1.s32" + (differ ? ".xor.popc" : ".and.popc");
      const Words out = run_mma(opcode, count, in);
      for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t col = 0; col < 8; ++col) {
          const uint32_t reg = row / 8 * 2 + col % 2, lane = row % 8 * 4 + col / 2;
          uint32_t sum = in[(count.a + count.b + reg) * 32 + lane];
          for (uint32_t word = 0; word < words; ++word) {
            const uint32_t of_a = word / 4 * groups + row / 8, of_b = count.a + word / 4;
            sum += counted(in[of_a * 32 + row % 8 * 4 + word % 4], in[of_b * 32 + col * 4 + word % 4], differ);
          }
          ASSERT_EQ(out[reg * 32 + lane], sum) << opcode << " row " << row << " column " << col;
        }
      }
    }
  }
}

TEST(BitMma, TakesAWholeWarp) {
  Words in(4 * 32), out(2 * 32);
  std::string text = mma_kernel("@%p1 mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", {2, 1, 1, 2});
  const std::string before = "mov.u32 %r1, %tid.x;\n";
  text.insert(text.find(before) + before.size(), "setp.ne.u32 %p1, %r1, 5;\n");
  const Ran ran = run(text, {}, in, out);
  EXPECT_EQ(ran.count(Finding::divergent_barrier), 1) << ran.text();
}

// --- single bits by wmma ---

struct BitTile {
  bool shared, differ, c_rows, d_rows;
};

// p0: eight rows of A, eight columns of B with a pitch of 32 bytes, then C and D with one of 12 numbers.
std::string wmma_kernel(const BitTile& tile, uint32_t pitch_bits) {
  const std::string space = tile.shared ? ".shared" : ".global", base = tile.shared ? "%r10" : "%d1";
  const std::string shape = "m8n8k128", pitch = std::to_string(pitch_bits);
  const auto order = [](bool rows) { return std::string(rows ? "row" : "col"); };
  return kernel(
      "{\n.reg .b32 %q<8>;\nld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 16;\n"
      "add.s64 %d2, %d1, %d2;\nshl.b32 %r2, %r1, 4;\nld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%d2];\n"
      "st.shared.v4.b32 [%r2], {%r3, %r4, %r5, %r6};\nbar.sync 0;\nmov.u32 %r10, 0;\n"
      "wmma.load.a.sync.aligned.row." +
      shape + space + ".b1 {%q0}, [" + base + "], " + pitch + ";\nwmma.load.b.sync.aligned.col." + shape + space +
      ".b1 {%q1}, [" + base + "+256], " + pitch + ";\nwmma.load.c.sync.aligned." + order(tile.c_rows) + "." + shape +
      ".global.s32 {%q2, %q3}, [%d1+512], 12;\nwmma.mma." + (tile.differ ? "xor" : "and") +
      ".popc.sync.aligned.row.col." + shape + ".s32.b1.b1.s32 {%q4, %q5}, {%q0}, {%q1}, {%q2, %q3};\n" +
      "wmma.store.d.sync.aligned." + order(tile.d_rows) + "." + shape + ".global.s32 [%d1+896], {%q4, %q5}, 12;\n}\n");
}

constexpr uint32_t tile_words = 2 * 64 + 2 * 96;

TEST(BitWmma, LoadsMultipliesAndStores) {
  std::mt19937 random(32);
  for (uint32_t i = 0; i < 16; ++i) {
    const BitTile tile{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0};
    Words memory = any_words(tile_words, random);
    const Words before = memory;
    const Ran ran = run(wmma_kernel(tile, 256), {.dynamic_shared_bytes = 512}, memory);
    ASSERT_TRUE(ran.reports.empty()) << ran.text();
    for (uint32_t row = 0; row < 8; ++row) {
      for (uint32_t col = 0; col < 8; ++col) {
        const auto place = [&](bool rows) { return rows ? row * 12 + col : col * 12 + row; };
        uint32_t sum = before[128 + place(tile.c_rows)];
        for (uint32_t word = 0; word < 4; ++word)
          sum += counted(before[row * 8 + word], before[64 + col * 8 + word], tile.differ);
        ASSERT_EQ(memory[224 + place(tile.d_rows)], sum) << i << " row " << row << " column " << col;
      }
    }
  }
}

// As ptxas 13.0 makes it for sm_90: one ldmatrix from shared memory, one load of 4 bytes per lane from global memory.
TEST(BitWmma, HowOftenMemoryIsAsked) {
  Words memory(tile_words);
  const Ran global = run(wmma_kernel({false, true, true, true}, 128), {.dynamic_shared_bytes = 512}, memory),
            shared = run(wmma_kernel({true, true, true, true}, 128), {.dynamic_shared_bytes = 512}, memory);
  EXPECT_EQ(global.total().global_requests - shared.total().global_requests, 2u);
  EXPECT_EQ(shared.total().shared_wavefronts - global.total().shared_wavefronts, 2u);
}

TEST(BitWmma, LinesBeginAtMultiplesOf16Bytes) {
  Words memory(tile_words);
  const Ran ran = run(wmma_kernel({true, true, true, true}, 160), {.dynamic_shared_bytes = 512}, memory);
  EXPECT_EQ(ran.count(Finding::misaligned), 2) << ran.text();
}

// --- single bits by wgmma ---

struct BitWgmma {
  uint32_t n;
  bool a_in_registers, adds;
};

// Core matrices of 8 lines of 16 bytes, those along k first.
uint32_t in_shared(uint32_t line, uint32_t word) { return line / 8 * 64 + word / 4 * 32 + line % 8 * 4 + word % 4; }

std::string wgmma_line(const BitWgmma& what, uint32_t first_b) {
  const uint32_t sums = what.n / 2;
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(what.n) + "k256.s32.b1.b1.and.popc " + q_list(0, sums) +
         ", " + (what.a_in_registers ? q_list(sums, 4) : std::to_string(descriptor(0, 128, 256, 0))) + ", " +
         std::to_string(descriptor(first_b, 128, 256, 0)) + ", " + (what.adds ? "%p9" : "%p8") + ";\n";
}

Ran run_wgmma(const BitWgmma& what, const std::string& lines, Words& shared, Words& in, Words& out, uint64_t seed) {
  const auto bytes = static_cast<uint32_t>(shared.size() * 4);
  WgmmaKernel wgmma{.shared_bytes = bytes, .in = what.n / 2 + 4, .out = what.n / 2};
  wgmma.lines = lines;
  return run(wgmma.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = bytes, .seed = seed}, shared, in, out);
}

constexpr uint32_t words_of_a = 64 * 8;

TEST(BitWgmmaProducts, CountTheBitsOfEachRowAndColumn) {
  std::mt19937 random(33);
  uint64_t seed = 0;
  for (const uint32_t n : {8u, 24u, 32u, 256u}) {
    for (uint32_t i = 0; i < 4; ++i, ++seed) {
      const BitWgmma what{n, (i & 1) != 0, (i & 2) != 0};
      const uint32_t sums = n / 2;
      Words shared = any_words(words_of_a + n * 8, random), in = any_words((sums + 4) * 128, random), out(sums * 128);
      const Ran ran = run_wgmma(what, fence_line + wgmma_line(what, words_of_a * 4) + commit_line + wait_line(0),
                                shared, in, out, seed % 3);
      ASSERT_TRUE(ran.reports.empty()) << ran.text();
      const auto of_a = [&](uint32_t row, uint32_t word) {
        if (!what.a_in_registers) return shared[in_shared(row, word)];
        return in[(sums + word / 4 * 2 + row % 16 / 8) * 128 + row / 16 * 32 + row % 8 * 4 + word % 4];
      };
      for (uint32_t row = 0; row < 64; ++row) {
        for (uint32_t col = 0; col < n; ++col) {
          const uint32_t reg = col / 8 * 4 + row % 16 / 8 * 2 + col % 2;
          const uint32_t at = reg * 128 + row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
          uint32_t sum = what.adds ? in[at] : 0;
          for (uint32_t word = 0; word < 8; ++word)
            sum += counted(of_a(row, word), shared[words_of_a + in_shared(col, word)], false);
          ASSERT_EQ(out[at], sum) << n << " row " << row << " column " << col;
        }
      }
    }
  }
}

TEST(BitWgmmaProducts, AreHeldToTheOrderOfEveryWgmma) {
  const BitWgmma what{8, true, true};
  Words shared(words_of_a + 64), in(8 * 128), out(4 * 128);
  const auto findings = [&](Finding kind, const std::string& lines) {
    return run_wgmma(what, lines, shared, in, out, 0).count(kind);
  };
  const std::string product = wgmma_line(what, words_of_a * 4);
  EXPECT_GE(findings(Finding::wgmma_fence, product + commit_line + wait_line(0)), 1);
  EXPECT_GE(
      findings(Finding::unwaited_product, fence_line + product + commit_line + "mov.b32 %q0, 0;\n" + wait_line(0)), 1);
  EXPECT_GE(findings(Finding::out_of_bounds, fence_line + wgmma_line(what, 128 * 1024) + commit_line + wait_line(0)),
            1);
}

// --- f16 by m8n8k4 ---

const char* layout(bool rows) { return rows ? "row" : "col"; }

// The bits of a small whole number.
uint16_t half_of(int32_t number) {
  if (number == 0) return 0;
  const auto size = static_cast<uint32_t>(std::abs(number));
  const auto exponent = static_cast<uint32_t>(std::bit_width(size)) - 1;
  return static_cast<uint16_t>((number < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | (size << (10 - exponent) & 0x3ff));
}

struct OfFour {
  bool a_rows, b_rows, wide_c, wide_d;

  std::string opcode() const {
    return std::string("mma.sync.aligned.m8n8k4.") + layout(a_rows) + "." + layout(b_rows) +
           (wide_d ? ".f32" : ".f16") + ".f16.f16" + (wide_c ? ".f32" : ".f16");
  }
  Counts count() const { return {wide_d ? 8u : 4u, 2, 2, wide_c ? 8u : 4u}; }
};

// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16": row and column of element i of C or D.
std::pair<uint32_t, uint32_t> place_in_sums(uint32_t lane, uint32_t i, bool wide) {
  if (!wide) return {lane % 4 + (lane < 16 ? 0 : 4), i};
  return {(lane & 1) + (i & 2) + (lane < 16 ? 0 : 4), (i & 4) + (lane & 2) + (i & 1)};
}

void expect_four(const OfFour& what, std::mt19937& random) {
  const Counts count = what.count();
  Words in((count.a + count.b + count.c) * 32);
  // By quad pair.
  int32_t a[4][8][4], b[4][4][8], c[4][8][8];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t pair = lane % 16 / 4, half = lane < 16 ? 0 : 4;
    const auto put = [&](uint32_t reg, uint32_t i, int32_t number) {
      in[(reg + i / 2) * 32 + lane] |= uint32_t{half_of(number)} << i % 2 * 16;
    };
    for (uint32_t i = 0; i < 4; ++i) {
      const int32_t of_a = static_cast<int32_t>(random() % 15) - 7, of_b = static_cast<int32_t>(random() % 15) - 7;
      (what.a_rows ? a[pair][lane % 4 + half][i] : a[pair][i + half][lane % 4]) = of_a;
      (what.b_rows ? b[pair][lane % 4][i + half] : b[pair][i][lane % 4 + half]) = of_b;
      put(0, i, of_a);
      put(2, i, of_b);
    }
    for (uint32_t i = 0; i < 8; ++i) {
      const auto [row, col] = place_in_sums(lane, i, what.wide_c);
      c[pair][row][col] = static_cast<int32_t>(random() % 401) - 200;
      if (what.wide_c)
        in[(4 + i) * 32 + lane] = std::bit_cast<uint32_t>(static_cast<float>(c[pair][row][col]));
      else
        put(4, i, c[pair][row][col]);
    }
  }
  const Words out = run_mma(what.opcode(), count, in);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t pair = lane % 16 / 4;
      const auto [row, col] = place_in_sums(lane, i, what.wide_d);
      int32_t sum = c[pair][row][col];
      for (uint32_t k = 0; k < 4; ++k) sum += a[pair][row][k] * b[pair][k][col];
      if (what.wide_d)
        ASSERT_EQ(std::bit_cast<float>(out[i * 32 + lane]), static_cast<float>(sum)) << what.opcode();
      else
        ASSERT_EQ(static_cast<uint16_t>(out[i / 2 * 32 + lane] >> i % 2 * 16), half_of(sum)) << what.opcode();
    }
  }
}

TEST(MmaOfFour, QuadPairsMultiplyInEveryLayout) {
  std::mt19937 random(34);
  for (uint32_t i = 0; i < 12; ++i) expect_four({(i & 1) != 0, (i & 2) != 0, i / 4 == 2, i / 4 != 0}, random);
}

// --- what there is not ---

TEST(RareProducts, OtherFormsAreRefusedByName) {
  const std::string start = "{\n.reg .b32 %q<32>;\n.reg .b64 %e<8>;\n";
  const auto mma = [](const std::string& opcode, const Counts& count) {
    return opcode + " " + q_list(0, count.d) + ", " + q_list(8, count.a) + ", " + q_list(12, count.b) + ", " +
           q_list(16, count.c) + ";";
  };
  for (const std::string& line :
       {mma("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.or.popc", {2, 1, 1, 2}),
        mma("mma.sync.aligned.m8n8k128.row.col.satfinite.s32.b1.b1.s32.and.popc", {2, 1, 1, 2}),
        mma("mma.sync.aligned.m8n8k128.row.row.s32.b1.b1.s32.and.popc", {2, 1, 1, 2}),
        mma("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", {4, 2, 1, 4}),
        mma("wmma.mma.and.popc.sync.aligned.col.col.m8n8k128.s32.b1.b1.s32", {2, 1, 1, 2}),
        mma("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32", {4, 2, 2, 8}),
        mma("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", {4, 2, 2, 8}),
        std::string("wmma.load.a.sync.aligned.col.m8n8k128.global.b1 {%q0}, [%d1];"),
        std::string("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%q0, %q1, %q2, %q3}, %d1, %d2, %p1;"),
        std::string("wgmma.mma_async.sync.aligned.m64n40k256.s32.b1.b1.and.popc ") + q_list(0, 20) + ", %d1, %d2, %p1;",
        std::string("mma.sync.aligned.m8n8k4.row.col.rna.f64.f64.f64.f64 {%e0, %e1}, {%e2}, {%e3}, {%e4, %e5};")})
    EXPECT_NE(refusal(kernel(start + line + "\n}\n")).find(line.substr(0, line.find(' '))), std::string::npos) << line;
}

}  // namespace
}  // namespace sim::testing::test_tensor_rare
