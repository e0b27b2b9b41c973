// What people do wrong with wgmma, each with the report that names it.
#include "wgmma_kernel.h"

namespace sim::testing::test_wgmma_mistakes {
namespace {

constexpr uint32_t sums = 4;  // registers of m64n8, of f32
const std::string opcode = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";

// A K-major at 0, B at 2048, without a swizzle.
std::string multiply(uint64_t a = descriptor(0, 128, 256, 0), uint64_t b = descriptor(2048, 128, 256, 0)) {
  return opcode + " " + q_list(0, sums) + ", " + std::to_string(a) + ", " + std::to_string(b) + ", %p9, 1, 1, 0, 0;\n";
}
std::string multiply_registers() {
  return opcode + " " + q_list(0, sums) + ", " + q_list(4, 4) + ", " + std::to_string(descriptor(2048, 128, 256, 0)) +
         ", %p9, 1, 1, 0;\n";
}

// As it should be: a fence before them, a commit and a wait behind.
std::string waited(const std::string& products) { return fence_line + products + commit_line + wait_line(0); }

Ran run_lines(const std::string& lines, uint64_t seed = 0, const std::string& before = "fence.proxy.async;\n",
              uint32_t threads = 128) {
  Bytes shared(4096);
  std::vector<uint32_t> in(8 * 128), out(8 * 128);
  WgmmaKernel kernel{.shared_bytes = 4096, .in = 8, .out = 8, .lines = lines, .before = before};
  return run(kernel.text(), {.block = {threads, 1, 1}, .dynamic_shared_bytes = 4096, .seed = seed}, shared, in, out);
}

// The report of this kind, under the order of every seed; it has to hold `text`.
void expect_report(Finding kind, const std::string& text, const std::string& lines,
                   const std::string& before = "fence.proxy.async;\n", uint32_t threads = 128) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Ran ran = run_lines(lines, seed, before, threads);
    ASSERT_GE(ran.count(kind), 1) << "seed " << seed << "\n" << ran.text();
    EXPECT_NE(ran.text().find(text), std::string::npos) << ran.text();
  }
}

TEST(WgmmaMistakes, NoneInWhatIsRight) {
  const std::string chain = fence_line + multiply() + multiply() + commit_line + multiply() + commit_line;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(
        run_lines(chain + wait_line(1) + wait_line(0) + "add.f32 %q0, %q0, %q1;\n" + waited(multiply()), seed).text(),
        "");
    EXPECT_EQ(
        run_lines(fence_line + multiply_registers() + commit_line + "mov.b32 %q8, %q4;\n" + wait_line(0), seed).text(),
        "");
  }
}

TEST(WgmmaMistakes, SumsReadBeforeTheWait) {
  expect_report(Finding::unwaited_product, "reads a register of the sums of the wgmma at kernel.cu",
                fence_line + multiply() + commit_line + "add.f32 %q9, %q0, %q1;\n" + wait_line(0));
  // Of two groups only the first is waited for.
  expect_report(Finding::unwaited_product, "reads a register of the sums",
                fence_line + multiply() + commit_line + multiply() + commit_line + wait_line(1) +
                    "mov.b32 %q9, %q3;\n" + wait_line(0));
  // Without a commit a wait covers nothing.
  expect_report(Finding::unwaited_product, "reads a register of the sums", fence_line + multiply() + wait_line(0));
}

TEST(WgmmaMistakes, SumsHoldNothingBeforeTheWait) {
  Bytes shared(4096);
  std::vector<uint32_t> in(8 * 128), out(8 * 128);
  WgmmaKernel kernel{.shared_bytes = 4096, .in = 8, .out = 8, .lines = fence_line + multiply() + commit_line};
  const Ran ran = run(kernel.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 4096}, shared, in, out);
  EXPECT_GE(ran.count(Finding::unwaited_product), 1);
  EXPECT_GE(ran.count(Finding::exited_block), 1) << ran.text();
  EXPECT_EQ(out[0], 0xffffffffu);
}

TEST(WgmmaMistakes, RegistersWrittenBeforeTheWait) {
  expect_report(Finding::unwaited_product, "writes a register of the sums",
                fence_line + multiply() + commit_line + "mov.b32 %q2, 0;\n" + wait_line(0));
  expect_report(Finding::unwaited_product, "writes a register of A",
                fence_line + multiply_registers() + commit_line + "mov.b32 %q5, 0;\n" + wait_line(0));
}

TEST(WgmmaMistakes, NoFence) {
  expect_report(Finding::wgmma_fence, "no wgmma.fence orders it", multiply() + commit_line + wait_line(0));
  expect_report(Finding::wgmma_fence,
                "its registers were written by other instructions after the warp's last wgmma.fence",
                waited("mov.b32 %q1, 0;\n" + multiply()));
  expect_report(Finding::wgmma_fence, "its registers were written", waited("mov.b32 %q7, 0;\n" + multiply_registers()));
}

TEST(WgmmaMistakes, SumsOfAnotherShapeUnderWay) {
  const std::string wider = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + q_list(0, 8) + ", " +
                            std::to_string(descriptor(0, 128, 256, 0)) + ", " +
                            std::to_string(descriptor(2048, 128, 256, 0)) + ", %p9, 1, 1, 0, 0;\n";
  expect_report(Finding::unwaited_product, "uses in another way", waited(multiply() + wider));
}

TEST(WgmmaMistakes, SharedMemoryOverwrittenBeforeTheWait) {
  const std::string store = "shl.b32 %r4, %r1, 2;\nst.shared.b32 [%r4], %r1;\n";
  expect_report(Finding::unwaited, "may still be reading",
                fence_line + multiply() + commit_line + store + wait_line(0));
  // A wait is for the whole warpgroup: who has waited may overwrite what other warps of it have read.
  const std::string others = "xor.b32 %r4, %r1, 64;\nshl.b32 %r4, %r4, 2;\nst.shared.b32 [%r4], %r1;\n";
  for (uint64_t seed = 0; seed < 6; ++seed) EXPECT_EQ(run_lines(waited(multiply()) + others, seed).text(), "");
  // Of two groups the second still reads.
  expect_report(Finding::unwaited, "may still be reading",
                fence_line + multiply() + commit_line + multiply() + commit_line + wait_line(1) + store + wait_line(0));
}

TEST(WgmmaMistakes, NoProxyFence) {
  expect_report(Finding::unfenced, "fence.proxy.async", waited(multiply()), "");
  // After the barrier it is too late: it orders the writes of its own thread only.
  expect_report(Finding::unfenced, "fence.proxy.async",
                "setp.lt.u32 %p2, %r1, 32;\n@%p2 fence.proxy.async;\n" + waited(multiply()), "");
}

TEST(WgmmaMistakes, ADescriptorThatLeavesSharedMemory) {
  expect_report(Finding::out_of_bounds, "its descriptor of B leads to shared address",
                waited(multiply(descriptor(0, 128, 256, 0), descriptor(4096 - 128, 128, 256, 0))));
  expect_report(Finding::out_of_bounds, "its descriptor of A leads to shared address",
                waited(multiply(descriptor(0, 128, 4096, 0))));
}

TEST(WgmmaMistakes, WhatNobodyWrote) {
  Bytes shared(2048);
  std::vector<uint32_t> in(8 * 128), out(8 * 128);
  WgmmaKernel kernel{.shared_bytes = 2048, .in = 8, .out = 8, .lines = waited(multiply())};
  const Ran ran = run(kernel.text(), {.block = {128, 1, 1}, .dynamic_shared_bytes = 4096}, shared, in, out);
  EXPECT_EQ(ran.count(Finding::uninitialised), 1) << ran.text();
}

TEST(WgmmaMistakes, WarpsThatDoNotAgree) {
  // The last warp gives another descriptor, ends before, or takes another instruction.
  const std::string last = "setp.ge.u32 %p2, %r1, 96;\n";
  const std::string by_register =
      opcode + " " + q_list(0, sums) + ", " + std::to_string(descriptor(0, 128, 256, 0)) + ", %d9, %p9, 1, 1, 0, 0;\n";
  expect_report(Finding::divergent_barrier, "with another descriptor of B",
                last + "mov.u64 %d9, " + std::to_string(descriptor(2048, 128, 256, 0)) + ";\n@%p2 mov.u64 %d9, " +
                    std::to_string(descriptor(1024, 128, 256, 0)) + ";\n" + waited(by_register));
  expect_report(Finding::divergent_barrier, "the four warps of a warpgroup have to execute the same",
                last + waited("@%p2 bra OTHER;\n" + multiply() + "bra DONE;\nOTHER:\n" + multiply() + "DONE:\n"));
  expect_report(Finding::divergent_barrier, "is executed by part of a warpgroup only: warp 3",
                last + "@%p2 ret;\n" + waited(multiply()));
  expect_report(Finding::divergent_barrier, "the lanes of the warp give different descriptors",
                "mov.u64 %d9, " + std::to_string(descriptor(2048, 128, 256, 0)) +
                    ";\nand.b32 %r7, %r1, 1;\ncvt.u64.u32 %d10, %r7;\nadd.s64 %d9, %d9, %d10;\n" + waited(by_register));
  expect_report(Finding::divergent_barrier, "is executed by part of a warp only",
                "setp.ge.u32 %p2, %r1, 120;\n" + waited("@%p2 bra DONE;\n" + multiply() + "DONE:\n"));
}

TEST(WgmmaMistakes, NoWarpgroup) {
  expect_report(Finding::divergent_barrier, "wgmma needs a warpgroup", waited(multiply()), "fence.proxy.async;\n", 96);
}

TEST(WgmmaMistakes, OperandsThatDoNotExist) {
  const auto refused = [](const std::string& line) {
    return refusal(kernel("{\n.reg .b32 %q<64>;\n" + line + "\n}\n"));
  };
  EXPECT_NE(refused("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " + q_list(0, 4) + ", 0, 0, %p1, 1, 1, 0, 0;")
                .find("does not know"),
            std::string::npos);
  EXPECT_NE(refused(opcode + " " + q_list(0, 8) + ", 0, 0, %p1, 1, 1, 0, 0;").find("a list of 4 registers"),
            std::string::npos);
  EXPECT_NE(refused(opcode + " " + q_list(0, 4) + ", 0, 0, %p1, 1, 2, 0, 0;").find("operand 6 has to be -1 or 1"),
            std::string::npos);
  EXPECT_NE(refused(opcode + " " + q_list(0, 4) + ", 0, 0, %p1, 1, 1, 0;").find("8 operands are needed"),
            std::string::npos);
}

}  // namespace
}  // namespace sim::testing::test_wgmma_mistakes
