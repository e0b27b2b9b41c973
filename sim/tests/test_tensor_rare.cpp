// Products of single bits on tensor cores: their loads and stores, what they need, and which forms there are not. What
// a GPU makes of random numbers, by mma, wmma and wgmma, and by the old m8n8k4 of f16, is in rare_products_h200.csv.gz.
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

// --- single bits by mma ---

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
      "st.shared.v4.b32 [%r2], {%r3, %r4, %r5, %r6};\nbar.sync 0;\nmov.u32 %r10, 0;\nwmma.load.a.sync.aligned.row." +
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
    clean(run(wmma_kernel(tile, 256), {.dynamic_shared_bytes = 512}, memory));
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
