// Products of integers and of f64 on tensor cores, against plain loops over the layouts that the PTX ISA describes.
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "core/arithmetic/rounding.h"
#include "wgmma_kernel.h"

namespace sim::testing::test_tensor_exact {
namespace {

// --- who holds what ---

// A shape, and how A and B lie in registers. PTX ISA, "Matrix Fragments for mma…" of integers and f64: each register of
// A and B has `per` neighbouring elements along k of its lane, and there are `depth` of them in four lanes.
struct Shape {
  uint32_t m, k, bits;

  uint32_t per() const { return bits == 64 ? 1 : 32 / bits; }
  uint32_t depth() const { return 4 * per(); }
  uint32_t of_a() const { return m / 8 * of_b(); }  // registers
  uint32_t of_b() const { return k / depth(); }
  uint32_t of_c() const { return m / 4; }
  std::string name() const { return "m" + std::to_string(m) + "n8k" + std::to_string(k); }
};

// Calls body(register, lane, element, row, k) for A; with m = 8 for B, its columns for rows.
template <class Body>
void for_factor(const Shape& shape, uint32_t m, Body body) {
  const uint32_t groups = m / 8;
  for (uint32_t reg = 0; reg < groups * shape.of_b(); ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t e = 0; e < shape.per(); ++e)
        body(reg, lane, e, lane / 4 + 8 * (reg % groups), reg / groups * shape.depth() + lane % 4 * shape.per() + e);
    }
  }
}

template <class Body>
void for_sums(const Shape& shape, Body body) {
  for (uint32_t reg = 0; reg < shape.of_c(); ++reg) {
    for (uint32_t lane = 0; lane < 32; ++lane) body(reg, lane, lane / 4 + 8 * (reg / 2), lane % 4 * 2 + reg % 2);
  }
}

// Runs the instruction on registers of A, B and C, 32 lanes each. What D is then.
template <class Word>
std::vector<Word> run_mma(const std::string& opcode, const Shape& shape, std::vector<Word> in) {
  const std::string type = sizeof(Word) == 8 ? "b64" : "b32", bytes = std::to_string(sizeof(Word));
  const uint32_t d = static_cast<uint32_t>(in.size() / 32), b = shape.of_a(), c = b + shape.of_b();
  std::vector<Word> out(shape.of_c() * 32);
  std::string body = "{\n.reg ." + type +
                     " %q<64>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 "
                     "%d1, %r1, " +
                     bytes + ", %d1;\nmad.wide.u32 %d2, %r1, " + bytes + ", %d2;\n";
  const auto access = [&](uint32_t i) { return std::to_string(32 * sizeof(Word) * i); };
  for (uint32_t i = 0; i < d; ++i)
    body += "ld.global." + type + " %q" + std::to_string(i) + ", [%d1+" + access(i) + "];\n";
  body += opcode + " " + q_list(d, shape.of_c()) + ", " + q_list(0, shape.of_a()) + ", " + q_list(b, shape.of_b()) +
          ", " + q_list(c, shape.of_c()) + ";\n";
  for (uint32_t i = 0; i < shape.of_c(); ++i)
    body += "st.global." + type + " [%d2+" + access(i) + "], %q" + std::to_string(d + i) + ";\n";
  const Ran ran = run(kernel(body + "}\n", 2), {}, in, out);
  EXPECT_TRUE(ran.reports.empty()) << opcode << "\n" << ran.text();
  return out;
}

int32_t wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(sum)); }
int32_t cut_off(int64_t sum) {
  return static_cast<int32_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, sum)));
}

// The element that these bits are.
int64_t integer(uint32_t bits, uint32_t size, bool is_signed) {
  return is_signed && bits >> (size - 1) ? int64_t{bits} - (int64_t{1} << size) : int64_t{bits};
}

// --- mma ---

// C near both ends of its range: some sums pass them.
int32_t any_sum(std::mt19937& random) {
  const auto bits = static_cast<int32_t>(random());
  return bits % 3 == 0 ? bits : (bits < 0 ? INT32_MIN : INT32_MAX) - bits % 20000;
}

void expect_integers(const Shape& shape, bool a_signed, bool b_signed, bool saturates, std::mt19937& random) {
  std::vector<std::vector<int64_t>> a(shape.m, std::vector<int64_t>(shape.k)), b(8, std::vector<int64_t>(shape.k));
  std::vector<std::vector<int64_t>> c(shape.m, std::vector<int64_t>(8));
  std::vector<uint32_t> in((shape.of_a() + shape.of_b() + shape.of_c()) * 32);
  for (uint32_t& each : in) each = static_cast<uint32_t>(random());
  const uint32_t mask = (1u << shape.bits) - 1, first_b = shape.of_a() * 32, first_c = first_b + shape.of_b() * 32;
  for_factor(shape, shape.m, [&](uint32_t reg, uint32_t lane, uint32_t e, uint32_t row, uint32_t k) {
    a[row][k] = integer(in[reg * 32 + lane] >> e * shape.bits & mask, shape.bits, a_signed);
  });
  for_factor(shape, 8, [&](uint32_t reg, uint32_t lane, uint32_t e, uint32_t col, uint32_t k) {
    b[col][k] = integer(in[first_b + reg * 32 + lane] >> e * shape.bits & mask, shape.bits, b_signed);
  });
  for_sums(shape, [&](uint32_t reg, uint32_t lane, uint32_t row, uint32_t col) {
    c[row][col] = any_sum(random);
    in[first_c + reg * 32 + lane] = static_cast<uint32_t>(c[row][col]);
  });
  const std::string size = std::to_string(shape.bits);
  const std::string opcode = "mma.sync.aligned." + shape.name() + ".row.col" + (saturates ? ".satfinite" : "") +
                             ".s32." + (a_signed ? "s" : "u") + size + "." + (b_signed ? "s" : "u") + size + ".s32";
  const std::vector<uint32_t> out = run_mma(opcode, shape, in);
  for_sums(shape, [&](uint32_t reg, uint32_t lane, uint32_t row, uint32_t col) {
    int64_t sum = c[row][col];
    for (uint32_t k = 0; k < shape.k; ++k) sum += a[row][k] * b[col][k];
    ASSERT_EQ(static_cast<int32_t>(out[reg * 32 + lane]), saturates ? cut_off(sum) : wrapped(sum))
        << opcode << " row " << row << " column " << col;
  });
}

TEST(ExactMma, Integers) {
  std::mt19937 random(21);
  for (const Shape shape : {Shape{8, 16, 8}, {16, 16, 8}, {16, 32, 8}, {8, 32, 4}, {16, 32, 4}, {16, 64, 4}}) {
    for (int round = 0; round < 8; ++round) expect_integers(shape, round & 1, round & 2, round & 4, random);
  }
}

// Numbers of many sizes, so that each product rounds.
void expect_doubles(const Shape& shape, const std::string& suffix, Round rounding, std::mt19937_64& random) {
  const auto any = [&] {
    return std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 40) - 80);
  };
  std::vector<double> in((shape.of_a() + shape.of_b() + shape.of_c()) * 32);
  for (double& each : in) each = any();
  in[0] = std::numeric_limits<double>::infinity();
  const uint32_t first_b = shape.of_a() * 32, first_c = first_b + shape.of_b() * 32;
  std::vector<std::vector<double>> a(shape.m, std::vector<double>(shape.k)), b(8, std::vector<double>(shape.k));
  for_factor(shape, shape.m,
             [&](uint32_t reg, uint32_t lane, uint32_t, uint32_t row, uint32_t k) { a[row][k] = in[reg * 32 + lane]; });
  for_factor(shape, 8, [&](uint32_t reg, uint32_t lane, uint32_t, uint32_t col, uint32_t k) {
    b[col][k] = in[first_b + reg * 32 + lane];
  });
  const std::string opcode = "mma.sync.aligned." + shape.name() + ".row.col" + suffix + ".f64.f64.f64.f64";
  const std::vector<double> out = run_mma(opcode, shape, in);
  for_sums(shape, [&](uint32_t reg, uint32_t lane, uint32_t row, uint32_t col) {
    double sum = in[first_c + reg * 32 + lane];
    for (uint32_t k = 0; k < shape.k; ++k) sum = hardware::multiply_add(rounding, a[row][k], b[col][k], sum);
    ASSERT_EQ(out[reg * 32 + lane], sum) << opcode << " row " << row << " column " << col;
  });
}

TEST(ExactMma, DoublesAreRoundedAfterEachProductInTheOrderOfK) {
  std::mt19937_64 random(22);
  for (const Shape shape : {Shape{8, 4, 64}, {16, 4, 64}, {16, 8, 64}, {16, 16, 64}}) {
    expect_doubles(shape, shape.m == 8 ? ".rn" : "", Round::nearest, random);
    expect_doubles(shape, ".rz", Round::zero, random);
    expect_doubles(shape, ".rm", Round::down, random);
    expect_doubles(shape, ".rp", Round::up, random);
  }
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
  const Ran ran = run(kernel(body), {.dynamic_shared_bytes = 2 * tile}, memory);
  ASSERT_TRUE(ran.reports.empty()) << ran.text();
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
    const Ran ran = run(kernel(load), {.dynamic_shared_bytes = 512}, memory);
    EXPECT_TRUE(ran.reports.empty()) << ran.text();
    return ran.total().shared_wavefronts - 4;  // less the stores'
  };
  EXPECT_EQ(wavefronts("m8n32k16", 1), 1u);
  EXPECT_EQ(wavefronts("m16n16k16", 2), 2u);
  EXPECT_EQ(wavefronts("m32n8k16", 4), 4u);
}

// --- wgmma ---

void expect_wgmma(uint32_t n, bool a_signed, bool b_signed, bool a_in_registers, bool adds, bool saturates,
                  uint64_t seed, std::mt19937& random) {
  const uint32_t base_b = 64 * 32, sums = n / 2, in_count = sums + 4;
  Bytes shared(base_b + n * 32);
  for (uint8_t& each : shared) each = static_cast<uint8_t>(random());
  std::vector<uint32_t> in(in_count * 128), out(sums * 128);
  for (uint32_t& each : in) each = static_cast<uint32_t>(any_sum(random));
  // Core matrices of 8 lines of 16 bytes, those along k first.
  const auto in_shared = [&](uint32_t base, uint32_t line, uint32_t k) {
    return shared[base + line / 8 * 256 + k / 16 * 128 + line % 8 * 16 + k % 16];
  };
  const auto of_a = [&](uint32_t row, uint32_t k) {
    if (!a_in_registers) return in_shared(0, row, k);
    const uint32_t reg = sums + k / 16 * 2 + row % 16 / 8, thread = row / 16 * 32 + row % 8 * 4 + k % 16 / 4;
    return static_cast<uint8_t>(in[reg * 128 + thread] >> k % 4 * 8);
  };
  const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k32.s32." +
                             (a_signed ? "s8" : "u8") + (b_signed ? ".s8" : ".u8") + (saturates ? ".satfinite" : "");
  WgmmaKernel wgmma{.shared_bytes = static_cast<uint32_t>(shared.size()), .in = in_count, .out = sums};
  wgmma.lines = fence_line + opcode + " " + q_list(0, sums) + ", " +
                (a_in_registers ? q_list(sums, 4) : std::to_string(descriptor(0, 128, 256, 0))) + ", " +
                std::to_string(descriptor(base_b, 128, 256, 0)) + ", " + (adds ? "%p9" : "%p8") + ";\n" + commit_line +
                wait_line(0);
  const Ran ran = run(
      wgmma.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = static_cast<uint32_t>(shared.size()), .seed = seed},
      shared, in, out);
  ASSERT_TRUE(ran.reports.empty()) << opcode << "\n" << ran.text();
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t col = 0; col < n; ++col) {
      const uint32_t reg = col / 8 * 4 + row % 16 / 8 * 2 + col % 2, thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
      int64_t sum = adds ? static_cast<int32_t>(in[reg * 128 + thread]) : 0;
      for (uint32_t k = 0; k < 32; ++k)
        sum += integer(of_a(row, k), 8, a_signed) * integer(in_shared(base_b, col, k), 8, b_signed);
      ASSERT_EQ(static_cast<int32_t>(out[reg * 128 + thread]), saturates ? cut_off(sum) : wrapped(sum))
          << opcode << " row " << row << " column " << col;
    }
  }
}

TEST(ExactWgmma, Integers) {
  std::mt19937 random(24);
  uint32_t i = 0;
  for (uint32_t n : {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224}) {
    for (uint32_t round = 0; round < 2; ++round, ++i)
      expect_wgmma(n, i & 1, i & 2, i & 4, i % 5 != 0, i & 8, i % 4, random);
  }
}

TEST(ExactWgmma, HasNeitherSignsNorOtherWidths) {
  const std::string lists = " " + q_list(0, 4) + ", %d1, %d2, %p1", start = "{\n.reg .b32 %q<32>;\n";
  for (const std::string& line :
       {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8" + lists + ", 1, 1;",
        "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " + q_list(0, 20) + ", %d1, %d2, %p1;"})
    EXPECT_NE(refusal(kernel(start + line + "\n}\n")).find(line.substr(0, line.find(' '))), std::string::npos) << line;
}

}  // namespace
}  // namespace sim::testing::test_tensor_exact
