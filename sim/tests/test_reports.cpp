// What was found, as people read it: each mistake once, with how often, causes before consequences; and what programs
// as they are written need: modifiers in any order, clocks, texts that were compiled apart.
#include "core/base/readable.h"
#include "core/checks/rules.h"
#include "core/ptx/link.h"
#include "evaluate.h"

namespace sim::testing::test_reports {
namespace {

Report report(Finding kind, const std::string& here, const std::string& there, uint64_t order, uint64_t times = 1) {
  return {
      .kind = kind, .kernel = "k", .message = "", .lines = {here, there, here, there}, .times = times, .order = order};
}

TEST(Reports, OneMistakeIsOneReport) {
  const auto mistakes = gathered({report(Finding::race, "a:3", "a:1", 0, 5), report(Finding::race, "a:4", "a:1", 1),
                                  report(Finding::race, "a:4", "a:1", 2), report(Finding::race, "a:9", "a:8", 3),
                                  report(Finding::misaligned, "a:3", "", 4)});
  ASSERT_EQ(mistakes.size(), 3u);
  EXPECT_EQ(mistakes[0].first.kind, Finding::misaligned);
  EXPECT_EQ(mistakes[1].times, 7u);
  EXPECT_EQ(mistakes[1].also, std::vector<std::string>{"a:4 and a:1"});
  EXPECT_EQ(mistakes[2].first.lines.here, "a:9");
}

TEST(Reports, EveryKindOfErrorNamesTheRuleThatItBreaks) {
  for (int i = 0; std::string(name(static_cast<Finding>(i))) != "?"; ++i) {
    const auto kind = static_cast<Finding>(i);
    const std::string text = rule(kind);
    if (kind == Finding::clock) {
      EXPECT_EQ(text, "") << "only ever a warning";
      continue;
    }
    const bool quotes = text.starts_with("PTX ISA, “") || text.starts_with("CUDA ");
    EXPECT_TRUE(quotes ? text.find("”") != std::string::npos : text.starts_with("the simulator's own")) << name(kind);
    EXPECT_NE(text.find(": "), std::string::npos) << name(kind) << ": what the section says";
    EXPECT_EQ(text.find('\n'), std::string::npos) << name(kind);
  }
}

// A sum that needs a barrier in each round races within a warp and between warps: the text is that of the barrier.
TEST(Reports, ABarrierIsAskedForBeforeASyncwarp) {
  std::vector<uint32_t> out(64);
  const Ran ran =
      run(kernel("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n.shared .align 16 .b8 tile[512];\n"
                 "st.shared.u32 [%r2], %r1;\nst.shared.u32 [%r2+256], %r1;\nbar.sync 0;\nmov.u32 %r3, 64;\nmore:\n"
                 "add.u32 %r4, %r2, %r3;\nld.shared.u32 %r5, [%r4];\nst.shared.u32 [%r2], %r5;\n"
                 "add.u32 %r3, %r3, 64;\nsetp.le.u32 %p1, %r3, 128;\n@%p1 bra more;\n"),
          {.block = {64, 1, 1}}, out);
  ASSERT_FALSE(ran.reports.empty());
  EXPECT_NE(gathered(ran.reports)[0].first.message.find("with no barrier between"), std::string::npos) << ran.text();
  EXPECT_NE(ran.reports.front().message.find("with no barrier between"), std::string::npos) << ran.text();
}

// A missing barrier: the value is read before it is written, which is the consequence.
TEST(Reports, CausesComeBeforeConsequences) {
  std::vector<uint32_t> out(64);
  const Ran ran =
      run(kernel("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nxor.b32 %r3, %r2, 128;\n"
                 ".shared .align 16 .b8 tile[256];\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r4, [%r3];\n"),
          {.block = {64, 1, 1}}, out);
  ASSERT_EQ(ran.reports.size(), 2u) << ran.text();
  EXPECT_EQ(ran.reports[0].kind, Finding::race);
  EXPECT_EQ(ran.reports[1].kind, Finding::uninitialised);
  EXPECT_EQ(ran.reports[0].times, 64u) << "by the writes of one warp and the reads of the other";
}

TEST(Reports, LongTemplateNamesAreShortened) {
  EXPECT_EQ(readable("f"), "f") << "which is a kernel, not float";
  EXPECT_EQ(shortened("gemm<128, 128>"), "gemm<128, 128>");
  const std::string cute =
      "gemm_device<cute::tuple<cute::C<128>, cute::C<128>>, cute::Layout<cute::tuple<int, cute::C<1>>>, " +
      std::string(200, 'x') + "<int>, float>";
  EXPECT_EQ(shortened("k<A<" + std::string(120, 'b') + ">, B>"), "k<A<\u2026>, B>");
  EXPECT_LE(shortened(cute).size(), 104u);
}

// A cp.async whose wait leaves it under way: the barrier is there, and does not help.
TEST(Reports, AMissingCopyWaitIsSaidToBeOne) {
  std::vector<uint32_t> out(64, 7);
  const std::string body =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\nshl.b32 %r2, %r1, 2;\n"
      "xor.b32 %r3, %r2, 128;\n.shared .align 16 .b8 tile[256];\ncp.async.ca.shared.global [%r2], [%d2], 4;\n"
      "cp.async.commit_group;\n";
  const auto with = [&](const std::string& rest) { return run(kernel(body + rest), {.block = {64, 1, 1}}, out); };
  const std::string reads = "ld.shared.u32 %r4, [%r3];\n", wait = "cp.async.wait_group 0;\n", barrier = "bar.sync 0;\n";
  EXPECT_TRUE(with(wait + barrier + reads).reports.empty());
  for (const std::string& wrong : {barrier + wait + reads, barrier + reads + wait}) {
    const Ran ran = with(wrong);
    ASSERT_GE(ran.reports.size(), 1u);
    EXPECT_NE(ran.reports[0].message.find("cp.async wait"), std::string::npos) << ran.text();
  }
}

// An mbarrier of which TMA tells: without a fence after its initialisation a warning, whoever fences.
TEST(Reports, AnUnfencedInitialisationIsAWarning) {
  std::vector<uint32_t> out(64, 7);
  const auto with = [&](const std::string& after_init, const std::string& before_copy) {
    return run(kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n"
                      ".shared .align 8 .b64 full;\n.shared .align 16 .b8 tile[256];\n@%p1 bra ready;\n"
                      "mbarrier.init.shared::cta.b64 [full], 1;\n" +
                      after_init + "ready:\nbar.sync 0;\n@%p1 bra wait;\n" + before_copy +
                      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;\n"
                      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1], 64, [full];\n"
                      "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;\n@!%p2 bra wait;\n"),
               {.block = {64, 1, 1}}, out);
  };
  const Ran without = clean(with("", ""));
  ASSERT_EQ(without.warnings.size(), 1u);
  EXPECT_EQ(without.warnings[0].kind, Finding::unfenced);
  EXPECT_TRUE(with("fence.mbarrier_init.release.cluster;\n", "").warnings.empty());
  EXPECT_TRUE(with("fence.proxy.async;\n", "").warnings.empty());
  EXPECT_TRUE(with("", "fence.proxy.async;\n").warnings.empty());
}

// What a ring of stages lacks is said before the state that it led to.
TEST(Reports, WaitsAndReleasesThatAreMissingAreNamed) {
  std::vector<uint32_t> out(1);
  const auto said = [&](const std::string& body) {
    return run(kernel(
                   ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\nmbarrier.init.shared::cta.b64 [full], "
                   "1;\nmbarrier.init.shared::cta.b64 [empty], 1;\n" +
                   body),
               {.block = {1, 1, 1}}, out)
        .text();
  };
  const std::string fill = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;\n";
  const auto wait = [](const std::string& where, int parity) {
    return where + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [" + where + "], " + std::to_string(parity) +
           ";\n@!%p1 bra " + where + ";\n";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string missing = said(fill + fill), early = said(fill + wait("empty", 1) + fill);
  EXPECT_TRUE(has(missing, "Its warp has waited for no mbarrier since")) << missing;
  EXPECT_TRUE(has(early, "has ended too early") && has(early, "for parity 1")) << early;
  const std::string never = said("mbarrier.arrive.shared::cta.b64 _, [full];\n" + wait("full", 0) + wait("empty", 0));
  EXPECT_TRUE(has(never, "nobody has ever arrived") || has(never, "takes the wrong parity")) << never;
}

// Block 0 copies to both; each waits for its own mbarrier, then ends.
TEST(Reports, AMulticastIsNoVisitOfTheReceiver) {
  std::vector<uint32_t> out(64, 7);
  const auto with = [&](const std::string& waits) {
    return run(
        kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r5, %cluster_ctarank;\n"
               "setp.ne.u32 %p1, %r1, 0;\nsetp.ne.or.u32 %p3, %r5, 0, %p1;\nmov.u16 %h1, 3;\n"
               ".shared .align 8 .b64 full;\n.shared .align 16 .b8 tile[256];\n@%p1 bra ready;\n"
               "mbarrier.init.shared::cta.b64 [full], 1;\nfence.mbarrier_init.release.cluster;\nready:\n"
               "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
               "@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;\n@%p3 bra wait;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%d1], "
               "64, [full], %h1;\nwait:\n" +
               waits),
        {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}}, out);
  };
  clean(with("mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;\n@!%p2 bra wait;\n"));
  EXPECT_GE(with("").count(Finding::exited_block), 1);
}

TEST(Programs, ModifiersComeInAnyOrder) {
  for (const char* line : {"ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];",
                           "atom.add.relaxed.cta.u32 %r1, [%d1], 1;", "atom.exch.acquire.cta.b32 %r1, [%d1], 1;",
                           "vote.ballot.sync.b32 %r1, %p1, -1;", "ld.global.acquire.gpu.u32 %r1, [%d1];"})
    EXPECT_EQ(refusal(kernel(line)), "") << line;
  EXPECT_NE(refusal(kernel("atom.add.relaxed.cta.u3 %r1, [%d1], 1;")), "");
  EXPECT_NE(refusal(kernel("cvt.f32.rn.s32 %f1, %r1;")), "") << "whose types would change places";
}

TEST(Programs, ClocksOnlyGrow) {
  std::vector<uint64_t> out(32);
  const Ran ran = run(kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 8, %d1;\n"
                             "mov.u64 %d3, %clock64;\nmov.u32 %r2, %clock;\nmov.u64 %d4, %globaltimer;\n"
                             "sub.u64 %d5, %d4, %d3;\nst.global.u64 [%d2], %d5;\n"),
                      {}, out);
  EXPECT_EQ(out[0], 2u);
  EXPECT_TRUE(ran.program.reads_clock);
  EXPECT_NE(refusal(kernel("add.u64 %d1, %d1, %clock64;")), "");
}

TEST(Programs, TextsCompiledApartAreLinked) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n";
  const std::string first = head +
                            ".extern .func (.param .b32 r) twice (.param .b32 x);\n.extern .global .align 4 .b8 "
                            "table[];\n.global .align 4 .u32 own = 1;\n.visible .entry k(.param .u64 p0)\n{\n.reg .b32 "
                            "%r<4>;\nld.global.u32 %r1, [table];\nld.global.u32 %r2, [own];\n{\n.param .b32 a;\n.param "
                            ".b32 b;\nst.param.b32 [a], %r1;\ncall.uni (b), twice, (a);\nld.param.b32 %r3, "
                            "[b];\n}\nret;\n}\n";
  const std::string second = head +
                             ".visible .global .align 4 .b8 table[8] = {1};\n.global .align 4 .u32 own = 2;\n.visible "
                             ".func (.param .b32 r) twice (.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, "
                             "[x];\nld.global.u32 %r2, [own];\nst.param.b32 [r], %r1;\nret;\n}\n";
  const ptx::Module linked = ptx::link({ptx::parse(first), ptx::parse(second)});
  std::vector<std::string> asked;
  const Program program = decode(linked, linked.kernels.at(0), [&](const std::string& name) -> uint64_t {
    asked.push_back(name);
    return 4096;
  });
  EXPECT_EQ(asked, (std::vector<std::string>{"table", "own", "own$1"}));
  EXPECT_EQ(linked.variables.size(), 3u);
  EXPECT_NE(refusal(first), "") << "alone it calls what nobody defines";
}

}  // namespace
}  // namespace sim::testing::test_reports
