// mma.sp: what is refused or reported. What is multiplied with what, and the bits of sums: recordings/sparse_products.
#include <algorithm>

#include "core/tensor/fragments.h"
#include "wgmma_kernel.h"

namespace sim::testing::test_sparse {
namespace {

// --- one instruction ---

struct Instruction {
  std::string types;  // of D, A, B and C, with a dot before each
  uint32_t depth, bits, selector = 0;
  bool ordered = false;

  uint32_t registers() const { return depth * bits / 128; }  // of A, and of B
  uint32_t sum_registers() const { return types.starts_with(".f16") ? 2 : 4; }
  std::string text(const std::string& satfinite = "") const {
    return std::string("mma.sp") + (ordered ? "::ordered_metadata" : "") + ".sync.aligned.m16n8k" +
           std::to_string(depth) + ".row.col" + satfinite + types;
  }
  // D in %q0 …, A in %q4 …, B in %q8 …, the metadata in %q12.
  std::string line() const {
    return text() + " " + q_list(0, sum_registers()) + ", " + q_list(4, registers()) + ", " + q_list(8, registers()) +
           ", " + q_list(0, sum_registers()) + ", %q12, " + std::to_string(selector) + ";\n";
  }
};

constexpr uint32_t held = 13;  // registers

// Runs it on 13 registers of 32 lanes, and gives them back.
std::vector<uint32_t> run_on_registers(const std::string& line, std::vector<uint32_t> registers, std::string& reports) {
  std::string body =
      "{\n.reg .b32 %q<13>;\nld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d1, %r1, 4, %d1;\n";
  const auto all = [&](auto access) {
    for (uint32_t i = 0; i < held; ++i)
      body += access("%q" + std::to_string(i), "[%d1+" + std::to_string(128 * i) + "]");
  };
  all([](const std::string& q, const std::string& at) { return "ld.global.b32 " + q + ", " + at + ";\n"; });
  body += line;
  all([](const std::string& q, const std::string& at) { return "st.global.b32 " + at + ", " + q + ";\n"; });
  const Ran ran = run(kernel(body + "}\n", 1), {}, registers);
  reports = ran.text();
  return registers;
}

// D's registers may be those of C in another order, and those of A or B.
TEST(Sparse, SumsGoWhereDSays) {
  std::vector<uint32_t> registers(held * 32);
  for (uint32_t i = 0; i < 4 * 32; ++i) registers[i] = 1000 + i;
  std::fill(registers.end() - 32, registers.end(), 0x44444444u);
  std::string reports;
  const auto after = run_on_registers(
      "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%q1, %q0, %q4, %q8}, {%q4, %q5}, {%q8, %q9}, "
      "{%q0, %q1, %q2, %q3}, %q12, 0;\n",
      registers, reports);
  EXPECT_EQ(reports, "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(after[1 * 32 + lane], 1000 + lane);
    EXPECT_EQ(after[lane], 1032 + lane);
    EXPECT_EQ(after[4 * 32 + lane], 1064 + lane);
    EXPECT_EQ(after[8 * 32 + lane], 1096 + lane);
  }
}

// An element of B that no stored element of A meets is not multiplied: no 0·∞.
TEST(Sparse, WhatIsNotMetDoesNotCount) {
  const Instruction instruction{".f32.f16.f16.f32", 32, 16};
  std::vector<uint32_t> registers(held * 32);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      registers[(4 + i) * 32 + lane] = 0x3c003c00;                               // ones
      registers[(8 + i) * 32 + lane] = lane % 2 == 0 ? 0x40003c00 : 0x7c007e00;  // k % 4: 1, 2, NaN, ∞
    }
    registers[12 * 32 + lane] = 0x44444444;  // the first two of four
  }
  std::string reports;
  const auto after = run_on_registers(instruction.line(), registers, reports);
  EXPECT_EQ(reports, "");
  for (uint32_t i = 0; i < 4 * 32; ++i) EXPECT_EQ(after[i], 0x41c00000u) << i;  // 8·(1 + 2)
}

// --- what has no meaning ---

std::string reported(const Instruction& instruction, uint32_t lane, uint32_t metadata, uint32_t elsewhere) {
  std::vector<uint32_t> registers(held * 32);
  std::fill(registers.end() - 32, registers.end(), elsewhere);
  registers[12 * 32 + lane] = metadata;
  std::string reports;
  run_on_registers(instruction.line(), registers, reports);
  return reports;
}

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(SparseMistakes, AnIndexTwice) {
  const std::string text = reported({".f32.f16.f16.f32", 32, 16, 1}, 4 * 3 + 3, 0x4a444444, 0x44444444);
  expect_text(text, "sparsity metadata: ");
  expect_text(text, "bits 24 to 27 of its sparsity metadata, which place row 11, k 24 to 27, are 0b1010");
  expect_text(text, "they name index 2 twice");
  expect_text(text, "thread (15,0,0)");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  expect_text(reported({".s32.s4.s4.s32", 128, 4}, 1, 0x4444440f, 0x44444444), "bits 0 to 3");
  expect_text(reported({".s32.s4.s4.s32", 128, 4}, 1, 0x4444440f, 0x44444444),
              "which place row 8, k 0 to 7, are 0b1111");
}

TEST(SparseMistakes, TheHigherIndexFirst) {
  const Instruction plain{".f32.bf16.bf16.f32", 16, 16, 0}, ordered{".f32.bf16.bf16.f32", 16, 16, 0, true};
  EXPECT_EQ(reported(plain, 0, 0x44444441, 0x44444444), "");
  const std::string text = reported(ordered, 0, 0x44444441, 0x44444444);
  expect_text(text, "which place row 0, k 0 to 3, are 0b0001: they name index 1 before 0");
  expect_text(text, "the instruction wants ordered metadata");
}

TEST(SparseMistakes, OfTf32OnlyTwoValuesHaveAMeaning) {
  const Instruction instruction{".f32.tf32.tf32.f32", 8, 32, 2};
  EXPECT_EQ(reported(instruction, 2, 0xe4e4e4e4, 0x4e4e4e4e), "");
  expect_text(reported(instruction, 2, 0xe4e4e494, 0x44444444),
              "which place row 0, k 2 to 3, are 0b1001: of tf32 only 0b0100 and 0b1110 have a meaning");
  EXPECT_EQ(reported(instruction, 3, 0, 0x44444444), "") << "a lane that is not asked for";
}

TEST(SparseMistakes, ByWgmma) {
  Bytes shared(4096);
  std::vector<uint32_t> in(9 * 128), out(4 * 128);
  std::fill(in.end() - 128, in.end(), 0x44444444u);
  in[8 * 128 + 64 + 5] = 0x44440444;
  WgmmaKernel kernel{.shared_bytes = 4096, .in = 9, .out = 4};
  kernel.lines = fence_line + "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 " + q_list(0, 4) + ", " +
                 q_list(4, 4) + ", " + std::to_string(descriptor(0, 128, 512, 0)) + ", %q8, 0, %p9;\n" + commit_line +
                 wait_line(0);
  const Ran ran = run(kernel.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 4096}, shared, in, out);
  EXPECT_EQ(ran.count(Finding::metadata), 1) << ran.text();
  expect_text(ran.text(), "which place row 9, k 12 to 15, are 0b0000: they name index 0 twice");
  expect_text(ran.text(), "thread (69,0,0)");
}

// --- what is refused ---

std::string refused(const std::string& line) { return refusal(kernel("{\n.reg .b32 %q<64>;\n" + line + "\n}\n")); }

TEST(SparseMistakes, SelectorsThatNameNoLanes) {
  const auto with = [](Instruction instruction, uint32_t selector) {
    instruction.selector = selector;
    return refused(instruction.line());
  };
  EXPECT_EQ(with({".f32.f16.f16.f32", 16, 16}, 3), "");
  expect_text(with({".f32.f16.f16.f32", 16, 16}, 4), "operand 6, the sparsity selector, has to be 0 to 3");
  expect_text(with({".f32.f16.f16.f32", 32, 16}, 2), "operand 6, the sparsity selector, has to be 0 or 1");
  expect_text(with({".s32.s8.s8.s32", 64, 8}, 1), "operand 6, the sparsity selector, has to be 0: all lanes");
  const std::string wgmma = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " + q_list(0, 4) + ", 0, 0, %q8, ";
  EXPECT_EQ(refused(wgmma + "1, %p1, 1, 1, 0, 0;"), "");
  expect_text(refused(wgmma + "2, %p1, 1, 1, 0, 0;"), "operand 5, the sparsity selector, has to be 0 or 1");
  expect_text(refused(wgmma + "%r1, %p1, 1, 1, 0, 0;"), "a constant is needed here");
}

TEST(SparseMistakes, FormsThatDoNotExist) {
  for (const Instruction& each : {Instruction{".f16.e4m3.e4m3.f16", 64, 8},
                                  {".f32.e4m3.e4m3.f32", 32, 8},
                                  {".s32.s4.s4.s32", 32, 4},
                                  {".s32.s8.s8.s32", 128, 8},
                                  {".f32.f16.f16.f16", 16, 16}})
    expect_text(refused(each.line()), "does not know");
  expect_text(refused("wgmma.mma_async.sp::ordered_metadata.sync.aligned.m64n8k64.s32.s8.s8 " + q_list(0, 4) +
                      ", 0, 0, %q8, 0, %p1;"),
              "does not know");
  expect_text(refused("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + q_list(0, 4) + ", " + q_list(4, 2) +
                      ", " + q_list(8, 2) + ", " + q_list(0, 4) + ";"),
              "6 operands are needed");
  expect_text(refused("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + q_list(0, 4) + ", " + q_list(4, 4) +
                      ", " + q_list(8, 4) + ", " + q_list(0, 4) + ", %q12, 0;"),
              "a list of 2 registers");
  expect_text(refused("wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 " + q_list(0, 4) +
                      ", 0, 0, %q8, 0, %p1, 1, 1, 0;"),
              "8 operands are needed");
}

TEST(Sparse, SatfiniteOfWgmmaMayStandInTwoPlaces) {
  for (const std::string types : {".satfinite.s32.s8.u8 ", ".s32.s8.u8.satfinite "}) {
    const std::string sums = types + q_list(0, 4) + ", 0, 0, ";
    EXPECT_EQ(refused("wgmma.mma_async.sp.sync.aligned.m64n8k64" + sums + "%q8, 0, %p1;"), "");
    EXPECT_EQ(refused("wgmma.mma_async.sync.aligned.m64n8k32" + sums + "%p1;"), "");
  }
}

}  // namespace
}  // namespace sim::testing::test_sparse
