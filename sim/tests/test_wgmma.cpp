// wgmma: what the products are, for every way to hold the operands, against plain sums. Where an H200 reads operands,
// and the bits of its sums: recordings/wgmma_layouts and recordings/dot_products.
#include <numeric>
#include <random>
#include <tuple>

#include "core/wgmma/descriptor.h"
#include "machine.h"
#include "sparse_row.h"
#include "wgmma_kernel.h"

namespace sim::testing::test_wgmma {
namespace {

// --- every way to hold the operands ---

// Small whole numbers as f16, bf16, tf32, e4m3 or e5m2.
uint32_t encoded(const std::string& type, int value) {
  const uint32_t sign = value < 0, size = static_cast<uint32_t>(std::abs(value));
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(size));
  const uint32_t exponent = size == 0 ? 0 : (bits >> 23) - 127;
  if (type == "tf32") return bits | sign << 31;
  if (type == "bf16") return bits >> 16 | sign << 15;
  if (type == "f16") return (size == 0 ? 0 : (exponent + 15) << 10 | (bits >> 13 & 0x3ff)) | sign << 15;
  if (type == "e5m2") return (size == 0 ? 0 : (exponent + 15) << 2 | (bits >> 21 & 3)) | sign << 7;
  return (size == 0 ? 0 : (exponent + 7) << 3 | (bits >> 20 & 7)) | sign << 7;
}

uint32_t element_bytes(const std::string& type) { return type == "tf32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1; }

struct Case {
  std::string factors, sum;
  uint32_t n;
  bool a_in_registers, a_transposed, b_transposed;
  uint32_t swizzle;
  bool adds = true, negates = false;
  bool sparse = false;  // A: two of four elements are stored, of tf32 one of two
};

// D = A·B + C of one instruction, A and B laid out by formulas of this test. `seed`: of the schedule.
void expect_product(const Case& c, uint64_t seed, std::mt19937& random) {
  const uint32_t bytes = element_bytes(c.factors), stored = 32 / bytes, k_count = c.sparse ? 2 * stored : stored,
                 per_chunk = 16 / bytes;
  const uint32_t chunks = c.swizzle / 16;
  Bytes shared;
  // An operand: so many lines (rows of A, columns of B), so much of k, from `base` on.
  struct Layout {
    bool transposed;
    uint32_t base, lines, depth;
  };
  // Where element (line, k) of it lies.
  const auto place = [&](const Layout& layout, uint32_t line, uint32_t k) {
    uint32_t at = layout.base;
    if (c.swizzle == 0) {  // core matrices one after the other, those along k first
      const uint32_t across = layout.transposed ? k : line, along = layout.transposed ? line : k;
      const uint32_t group = across / 8, chunk = along / per_chunk;
      const uint32_t number =
          layout.transposed ? chunk * (layout.depth / 8) + group : group * (layout.depth / per_chunk) + chunk;
      return at + number * 128 + across % 8 * 16 + along % per_chunk * bytes;
    }
    const uint32_t span = c.swizzle / bytes;
    if (!layout.transposed)  // spans of c.swizzle bytes of k, each with all lines
      at += k / span * (layout.lines * c.swizzle) + line * c.swizzle + k % span * bytes;
    else  // spans of c.swizzle bytes of lines, each with all k
      at += line / span * (layout.depth * c.swizzle) + k * c.swizzle + line % span * bytes;
    return at ^ ((at / 128) % chunks) * 16;
  };
  const auto describe = [&](const Layout& layout) {
    if (c.swizzle == 0)
      return descriptor(layout.base, 128, 128 * layout.depth / (layout.transposed ? 8 : per_chunk), 0);
    return descriptor(layout.base, c.swizzle * (layout.transposed ? layout.depth : layout.lines), 8 * c.swizzle,
                      c.swizzle);
  };
  const uint32_t base_a = 1024, base_b = 1024 + 64 * std::max(c.swizzle, 32u);
  const uint32_t lines_b =
      c.b_transposed && c.swizzle != 0 ? (c.n + c.swizzle / 2 - 1) / (c.swizzle / 2) * (c.swizzle / 2) : c.n;
  shared.resize(base_b + lines_b * std::max(c.swizzle, k_count * bytes));
  const Layout layout_a{c.a_transposed, base_a, 64, stored}, layout_b{c.b_transposed, base_b, c.n, k_count};
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<std::vector<int>> a(64, std::vector<int>(k_count)), b(c.n, std::vector<int>(k_count)),
      d(64, std::vector<int>(c.n));
  const auto put = [&](uint32_t at, int value) {
    const uint32_t bits = encoded(c.factors, value);
    std::memcpy(&shared[at], &bits, bytes);
  };
  const uint32_t sum_registers = c.n / 8 * (c.sum == "f32" ? 4 : 2), in_count = sum_registers + 5;
  std::vector<uint32_t> in(size_t{in_count} * 128), out(size_t{sum_registers} * 128);
  const auto slot = [&](uint32_t row, uint32_t col) {  // register, thread, half: PTX ISA, "wgmma D fragment"
    const uint32_t lane = row % 8 * 4 + col % 8 / 2, upper = row % 16 / 8, thread = row / 16 * 32 + lane;
    if (c.sum == "f32") return std::tuple(col / 8 * 4 + upper * 2 + col % 2, thread, 0u);
    return std::tuple(col / 8 * 2 + upper, thread, col % 2);
  };
  const auto hold = [&](uint32_t row, uint32_t i, int value) {  // PTX ISA, "wgmma A fragment", behind the sums
    const uint32_t per = 4 / bytes, reg = sum_registers + row % 16 / 8 + i / (4 * per) * 2;
    const uint32_t thread = row / 16 * 32 + row % 8 * 4 + i / per % 4;
    in[reg * 128 + thread] |= encoded(c.factors, value) << i % per * 8 * bytes;
  };
  std::vector<uint32_t> metadata(128);
  for (uint32_t row = 0; row < 64; ++row) {
    std::vector<uint32_t> k_of(stored);
    std::iota(k_of.begin(), k_of.end(), 0);
    if (c.sparse) k_of = SparseRow{8 * bytes, k_count, 0}.draw(row % 16, false, &metadata[row / 16 * 32], random);
    for (uint32_t i = 0; i < stored; ++i) {
      const int value = a[row][k_of[i]] = small(random);
      hold(row, i, value);
      if (!c.a_in_registers) put(place(layout_a, row, i), value);
    }
  }
  std::copy(metadata.begin(), metadata.end(), in.end() - 128);
  for (uint32_t col = 0; col < c.n; ++col) {
    for (uint32_t k = 0; k < k_count; ++k) put(place(layout_b, col, k), b[col][k] = small(random));
  }
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t col = 0; col < c.n; ++col) {
      const int old = small(random);
      const auto [reg, thread, half] = slot(row, col);
      in[reg * 128 + thread] |= encoded(c.sum == "f32" ? "tf32" : "f16", old) << 16 * half;
      int sum = 0;
      for (uint32_t k = 0; k < k_count; ++k) sum += a[row][k] * b[col][k];
      d[row][col] = (c.adds ? old : 0) + (c.negates ? -sum : sum);
    }
  }
  const std::string opcode = std::string("wgmma.mma_async") + (c.sparse ? ".sp" : "") + ".sync.aligned.m64n" +
                             std::to_string(c.n) + "k" + std::to_string(k_count) + "." + c.sum + "." + c.factors + "." +
                             c.factors;
  WgmmaKernel kernel{.shared_bytes = static_cast<uint32_t>(shared.size()), .in = in_count, .out = sum_registers};
  std::string turns = bytes != 2 ? "" : (c.a_in_registers ? "" : c.a_transposed ? ", 1" : ", 0");
  if (bytes == 2) turns += c.b_transposed ? ", 1" : ", 0";
  kernel.lines = fence_line + opcode + " " + q_list(0, sum_registers) + ", " +
                 (c.a_in_registers ? q_list(sum_registers, 4) : std::to_string(describe(layout_a))) + ", " +
                 std::to_string(describe(layout_b)) + ", " +
                 (c.sparse ? "%q" + std::to_string(sum_registers + 4) + ", 0, " : "") + (c.adds ? "%p9" : "%p8") +
                 ", " + (c.negates ? "-1" : "1") + ", 1" + turns + ";\n" + commit_line + wait_line(0);
  const Ran ran = run(
      kernel.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = static_cast<uint32_t>(shared.size()), .seed = seed},
      shared, in, out);
  ASSERT_TRUE(ran.reports.empty()) << opcode << "\n" << ran.text();
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t col = 0; col < c.n; ++col) {
      const auto [reg, thread, half] = slot(row, col);
      const uint32_t got = c.sum == "f32" ? out[reg * 128 + thread] : out[reg * 128 + thread] >> 16 * half & 0xffff;
      ASSERT_EQ(got, encoded(c.sum == "f32" ? "tf32" : "f16", d[row][col]))
          << opcode << " swizzle " << c.swizzle << " row " << row << " column " << col;
    }
  }
}

// In every swizzle, type and layout of the operands. `change`: what else a case has, by the number of its layout.
template <class Change>
void expect_products_in_every_layout(uint32_t of_numbers, Change change) {
  std::mt19937 random(of_numbers);
  uint64_t seed = 0;
  for (const uint32_t swizzle : {0u, 32u, 64u, 128u}) {
    for (const std::string factors : {"f16", "bf16", "tf32", "e4m3", "e5m2"}) {
      const bool turns = element_bytes(factors) == 2;
      for (int layout = 0; layout < (turns ? 8 : 2); ++layout) {
        const bool in_registers = layout & 1, a_transposed = (layout & 2) && !in_registers, b_transposed = layout & 4;
        const std::string sum = (factors == "f16" || element_bytes(factors) == 1) && layout % 3 == 1 ? "f16" : "f32";
        Case made{factors, sum, 64, in_registers, a_transposed, b_transposed, swizzle};
        change(made, layout);
        expect_product(made, seed++ % 6, random);
      }
    }
  }
}

TEST(Wgmma, OfOperandsInEveryLayout) {
  expect_products_in_every_layout(11, [](Case&, int) {});
}

TEST(Wgmma, OfASparseMatrixInEveryLayout) {
  expect_products_in_every_layout(14, [](Case& made, int layout) {
    made.n = 32;
    made.adds = layout % 4 != 3;
    made.negates = layout % 4 == 2;
    made.sparse = true;
  });
}

TEST(Wgmma, OfEveryWidth) {
  std::mt19937 random(12);
  for (uint32_t n = 8; n <= 256; n += 8) {
    expect_product({"f16", n % 16 ? "f16" : "f32", n, false, false, false, 128}, n / 8, random);
    if (n <= 224) expect_product({"e4m3", "f32", n, false, false, false, 64}, n / 8, random);
  }
}

TEST(Wgmma, ScalesByMinusOneAndReplacesD) {
  std::mt19937 random(13);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    expect_product({"bf16", "f32", 16, false, false, true, 128, false, false}, seed, random);
    expect_product({"f16", "f16", 24, true, false, false, 0, true, true}, seed, random);
    expect_product({"tf32", "f32", 8, false, false, false, 32, false, true}, seed, random);
  }
}

}  // namespace
}  // namespace sim::testing::test_wgmma
