// Products of integers on tensor cores, through wmma's loads and stores, against plain loops. What a GPU makes of
// random integers and of f64 by every mma, wmma and wgmma is in tensor_products_h200.csv.gz and
// rare_products_h200.csv.gz.
#include <random>

#include "wgmma_kernel.h"

namespace sim::testing::test_tensor_exact {
namespace {

int32_t wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(sum)); }
int32_t cut_off(int64_t sum) {
  return static_cast<int32_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, sum)));
}

// The element that these bits are.
int64_t integer(uint32_t bits, uint32_t size, bool is_signed) {
  return is_signed && bits >> (size - 1) ? int64_t{bits} - (int64_t{1} << size) : int64_t{bits};
}

// C near both ends of its range: some sums pass them.
int32_t any_sum(std::mt19937& random) {
  const auto bits = static_cast<int32_t>(random());
  return bits % 3 == 0 ? bits : (bits < 0 ? INT32_MIN : INT32_MAX) - bits % 20000;
}

TEST(ExactMma, DMayBeC) {
  std::vector<uint32_t> out(64);
  const std::string body =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d1, %r1, 8, %d1;\nmov.u32 %r2, 1;\nmov.u32 %r3, "
      "0x01010101;\nmov.u32 %r4, 2;\nmma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r2, %r4}, {%r3}, {%r3}, {%r4, "
      "%r2};\nst.global.v2.u32 [%d1], {%r2, %r4};\n";
  run(kernel(body), {}, out);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 2 ? 17u : 18u);
}

// --- wmma ---

struct WmmaLayout {
  uint32_t m, n;
  bool a_rows, b_rows, c_rows, shared;
};

// p0: A, then B, then C, then D, as the kernel finds them in global memory; A and B may be taken through shared memory.
void expect_wmma(const WmmaLayout& layout, bool is_signed, bool saturates, std::mt19937& random) {
  const uint32_t m = layout.m, n = layout.n, k = 16, pitch = 48, tile = pitch * 32, of_a = m / 8, of_b = n / 8;
  std::vector<uint32_t> memory(2 * tile / 4 + 2 * tile);
  for (uint32_t& each : memory) each = static_cast<uint32_t>(random());
  int32_t* const c = reinterpret_cast<int32_t*>(memory.data() + 2 * tile / 4);
  for (uint32_t i = 0; i < tile; ++i) c[i] = any_sum(random);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(memory.data());
  const auto at = [](bool rows, uint32_t row, uint32_t col) { return rows ? row * pitch + col : col * pitch + row; };
  std::vector<int32_t> wanted(tile);
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t col = 0; col < n; ++col) {
      int64_t sum = c[at(layout.c_rows, row, col)];
      for (uint32_t i = 0; i < k; ++i)
        sum += integer(bytes[at(layout.a_rows, row, i)], 8, is_signed) *
               integer(bytes[tile + at(layout.b_rows, i, col)], 8, is_signed);
      wanted[at(layout.c_rows, row, col)] = saturates ? cut_off(sum) : wrapped(sum);
    }
  }
  const auto order = [](bool rows) { return std::string(rows ? "row" : "col"); };
  const std::string shape = "m" + std::to_string(m) + "n" + std::to_string(n) + "k16", type = is_signed ? "s8" : "u8";
  const std::string space = layout.shared ? ".shared" : ".global", sum_order = order(layout.c_rows);
  std::string body = "{\n.reg .b32 %q<32>;\nld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, " +
                     std::to_string(pitch) + ";\n";
  body +=
      "mul.lo.u32 %r3, %r1, 4;\nCOPY:\ncvt.u64.u32 %d2, %r3;\nadd.s64 %d2, %d1, %d2;\nld.global.b32 %r4, [%d2];\n"
      "st.shared.b32 [%r3], %r4;\nadd.u32 %r3, %r3, 128;\nsetp.lt.u32 %p1, %r3, " +
      std::to_string(2 * tile) + ";\n@%p1 bra COPY;\nbar.sync 0;\n";
  const auto load = [&](const char* operand, bool rows, uint32_t first, uint32_t count, uint32_t offset) {
    body += "wmma.load." + std::string(operand) + ".sync.aligned." + order(rows) + "." + shape + space + "." + type +
            " " + q_list(first, count) + ", [" + (layout.shared ? "%r10" : "%d1") + "+" + std::to_string(offset) +
            "], %r2;\n";
  };
  body += "mov.u32 %r10, 0;\n";
  load("a", layout.a_rows, 0, of_a, 0);
  load("b", layout.b_rows, 4, of_b, tile);
  body += "wmma.load.c.sync.aligned." + sum_order + "." + shape + ".global.s32 " + q_list(8, 8) + ", [%d1+" +
          std::to_string(2 * tile) + "], %r2;\nwmma.mma.sync.aligned." + order(layout.a_rows) + "." +
          order(layout.b_rows) + "." + shape + ".s32." + type + "." + type + ".s32" + (saturates ? ".satfinite" : "") +
          " " + q_list(16, 8) + ", " + q_list(0, of_a) + ", " + q_list(4, of_b) + ", " + q_list(8, 8) +
          ";\nwmma.store.d.sync.aligned." + sum_order + "." + shape + ".global.s32 [%d1+" + std::to_string(6 * tile) +
          "], " + q_list(16, 8) + ", %r2;\n}\n";
  clean(run(kernel(body), {.dynamic_shared_bytes = 2 * tile}, memory));
  const auto* const d = reinterpret_cast<const int32_t*>(memory.data() + 2 * tile / 4 + tile);
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t col = 0; col < n; ++col) {
      const uint32_t place = at(layout.c_rows, row, col);
      ASSERT_EQ(d[place], wanted[place]) << shape << " row " << row << " column " << col << "\n" << body;
    }
  }
}

TEST(ExactWmma, IntegersInEveryLayout) {
  std::mt19937 random(23);
  for (const auto& [m, n] : {std::pair{16u, 16u}, {32u, 8u}, {8u, 32u}}) {
    for (uint32_t i = 0; i < 32; ++i)
      expect_wmma({m, n, (i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0}, i & 16, i % 3 == 0, random);
  }
}

// As ptxas 13.0 makes it for sm_90: 16 bytes of up to 16 rows by one ldmatrix; across the lines byte by byte.
TEST(ExactWmma, HowOftenMemoryIsAsked) {
  const auto requests = [](const std::string& load, const std::string& shape, uint32_t registers) {
    std::vector<uint32_t> memory(1024);
    const std::string body = "{\n.reg .b32 %q<8>;\nld.param.u64 %d1, [p0];\nwmma.load." + load + "." + shape +
                             ".global.s8 " + q_list(0, registers) + ", [%d1], 32;\n}\n";
    return run(kernel(body), {}, memory).total().global_requests;
  };
  EXPECT_EQ(requests("a.sync.aligned.row", "m16n16k16", 2), 2u);
  EXPECT_EQ(requests("a.sync.aligned.col", "m16n16k16", 2), 8u);
  EXPECT_EQ(requests("b.sync.aligned.col", "m16n16k16", 2), 2u);
  EXPECT_EQ(requests("a.sync.aligned.col", "m32n8k16", 4), 16u);
  const auto wavefronts = [](const std::string& shape, uint32_t registers) {
    std::vector<uint32_t> memory(1);
    const std::string load =
        "{\n.reg .b32 %q<8>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nst.shared.v4.b32 [%r2], "
        "{%r1, %r1, %r1, %r1};\nbar.sync 0;\nmov.u32 %r3, 0;\nwmma.load.a.sync.aligned.row." +
        shape + ".shared.s8 " + q_list(0, registers) + ", [%r3], 16;\n}\n";
    const Ran ran = clean(run(kernel(load), {.dynamic_shared_bytes = 512}, memory));
    return ran.total().shared_wavefronts - 4;  // less the stores'
  };
  EXPECT_EQ(wavefronts("m8n32k16", 1), 1u);
  EXPECT_EQ(wavefronts("m16n16k16", 2), 2u);
  EXPECT_EQ(wavefronts("m32n8k16", 4), 4u);
}

// --- wgmma ---

TEST(ExactWgmma, HasNeitherSignsNorOtherWidths) {
  const std::string lists = " " + q_list(0, 4) + ", %d1, %d2, %p1", start = "{\n.reg .b32 %q<32>;\n";
  for (const std::string& line :
       {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8" + lists + ", 1, 1;",
        "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " + q_list(0, 20) + ", %d1, %d2, %p1;"})
    EXPECT_NE(refusal(kernel(start + line + "\n}\n")).find(line.substr(0, line.find(' '))), std::string::npos) << line;
}

}  // namespace
}  // namespace sim::testing::test_tensor_exact
