// Calls of device functions, branches by index, barriers that reduce, matches, and what is refused by name.
#include "machine.h"

namespace sim::testing::test_calls {
namespace {

const std::string prologue = "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d2, %r1, 4, %d1;\n";
const std::string epilogue = "st.global.u32 [%d2], %r2;\n";

std::vector<uint32_t> lanes_after(const std::string& body, const std::string& declarations, uint32_t threads = 32) {
  std::vector<uint32_t> out(threads);
  clean(run(kernel(prologue + body + epilogue, 1, declarations), {.block = {threads, 1, 1}}, out));
  return out;
}

// `%result = function(%argument)`, as nvcc writes it.
std::string call(const std::string& function, const std::string& argument, const std::string& result) {
  return "{ .param .b32 param0; st.param.b32 [param0+0], " + argument + "; .param .b32 retval0; call.uni (retval0), " +
         function + ", (param0); ld.param.b32 " + result + ", [retval0+0]; }\n";
}

std::string function(const std::string& name, const std::string& body) {
  return ".visible .func (.param .b32 func_retval0) " + name + "(.param .b32 " + name +
         "_param_0)\n{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>;\n ld.param.u32 %r1, [" + name +
         "_param_0];\n" + body + "st.param.b32 [func_retval0+0], %r2;\nret;\n}\n";
}

TEST(Calls, ResultsComeBackFromEveryPlaceOfTheCall) {
  const std::string twice = function("twice", "add.u32 %r2, %r1, %r1;\n");
  const auto out = lanes_after(call("twice", "%r1", "%r3") + call("twice", "%r3", "%r2"), twice);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 4 * i);
}

// The callee's registers, labels and local memory are its own; a function may call another.
TEST(Calls, NestedWithLoopsAndLocalMemory) {
  const std::string declared = ".visible .func (.param .b32 func_retval0) sum(.param .b32 sum_param_0);\n";
  const std::string outer = function(
      "outer", ".local .align 4 .b8 depot[8]; mov.u64 %d1, depot;\nst.local.u32 [%d1+4], %r1;\n" +
                   call("sum", "%r1", "%r3") + "ld.local.u32 %r4, [%d1+4];\nmad.lo.u32 %r2, %r4, 1000, %r3;\n");
  const std::string sum = function("sum",
                                   ".local .align 4 .b8 depot[8]; mov.u64 %d1, depot;\nst.local.u32 [%d1+4], 77;\n"
                                   "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nagain: setp.ge.u32 %p1, %r3, %r1;\n"
                                   "@%p1 bra done;\nadd.u32 %r3, %r3, 1;\nadd.u32 %r2, %r2, %r3;\nbra again;\ndone:\n");
  const auto out = lanes_after("again: " + call("outer", "%r1", "%r2") + "done:\n", declared + outer + sum);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 1000 * i + i * (i + 1) / 2);
}

TEST(Calls, EarlyReturnsAndGuards) {
  const std::string early = function("early",
                                     "mov.u32 %r2, 1;\nst.param.b32 [func_retval0+0], %r2;\nsetp.gt.u32 %p1, %r1, 7;\n"
                                     "@%p1 ret;\nmov.u32 %r2, 2;\n");
  const auto out = lanes_after(
      "mov.u32 %r2, 9;\nsetp.lt.u32 %p1, %r1, 20;\n{ .param .b32 param0;\nst.param.b32 [param0], %r1;\n"
      ".param .b32 retval0;\nst.param.b32 [retval0], 9;\n@%p1 call (retval0), early, (param0);\n"
      "ld.param.b32 %r2, [retval0];\n}\nactivemask.b32 %r3;\npopc.b32 %r3, %r3;\nmad.lo.u32 %r2, %r3, 100, %r2;\n",
      early);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 3200 + (i >= 20 ? 9u : i > 7 ? 1u : 2u));
}

// Shared memory is one, whoever names it.
TEST(Calls, FunctionsShareTheModulesVariables) {
  const std::string declarations = ".shared .align 4 .b8 cells[128];\n" +
                                   function("read",
                                            "mov.u64 %d1, cells;\nmul.lo.u32 %r3, %r1, 4;\ncvt.u64.u32 %d2, %r3;\n"
                                            "add.u64 %d1, %d1, %d2;\nld.shared.u32 %r2, [%d1];\n");
  const auto out = lanes_after(
      "mov.u64 %d3, cells;\nmad.wide.u32 %d4, %r1, 4, %d3;\nst.shared.u32 [%d4], %r1;\n"
      "bar.sync 0;\nxor.b32 %r3, %r1, 1;\n" +
          call("read", "%r3", "%r2"),
      declarations);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i ^ 1);
}

TEST(Calls, WhatCannotBeExpandedIsRefusedByName) {
  const std::string recursive = function("_Z3fibi", call("_Z3fibi", "%r1", "%r2"));
  const auto refused = [](const std::string& body, const std::string& declarations) {
    return refusal(kernel(body, 1, declarations));
  };
  const std::string recursion = refused(call("_Z3fibi", "%r1", "%r2"), recursive);
  EXPECT_NE(recursion.find("function 'fib' calls itself"), std::string::npos) << recursion;
  EXPECT_NE(recursion.find("kernel k"), std::string::npos) << recursion;
  const std::string unknown =
      refused(call("malloc", "%r1", "%r2"), ".extern .func (.param .b32 r) malloc(.param .b32 p);\n");
  EXPECT_NE(unknown.find("function 'malloc' is not in the PTX"), std::string::npos) << unknown;
  const std::string pointer = refused(
      "{ .param .b32 param0; .param .b32 retval0; prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (retval0), %d1, (param0), prototype_0; }\n",
      "");
  EXPECT_NE(pointer.find("through a function pointer"), std::string::npos) << pointer;
  EXPECT_NE(pointer.find("kernel.cu:2"), std::string::npos) << pointer;
}

TEST(Calls, ABranchByIndexGoesWhereEachLaneSays) {
  const auto out = lanes_after(
      "and.b32 %r3, %r1, 3;\ntargets: .branchtargets zero, one, two, one;\nbrx.idx %r3, targets;\n"
      "zero: mov.u32 %r2, 10;\nbra meet;\none: mov.u32 %r2, 11;\nbra meet;\ntwo: mov.u32 %r2, 12;\n"
      "meet: activemask.b32 %r4;\npopc.b32 %r4, %r4;\nmad.lo.u32 %r2, %r4, 100, %r2;\n",
      "");
  const uint32_t wanted[] = {10, 11, 12, 11};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 3200 + wanted[i % 4]);
  std::vector<uint32_t> unused(32);
  const Ran beyond = run(kernel("mov.u32 %r3, 5;\nt: .branchtargets a, b;\nbrx.idx %r3, t;\na:\nb:\n"), {}, unused);
  EXPECT_NE(beyond.text().find("index 5 of 2 targets"), std::string::npos) << beyond.text();
}

// Threads 0, 5, 10, … say yes; warps come twice, so that the second result does not hold the first.
TEST(Calls, BarriersCountAndCombine) {
  const auto out = lanes_after(
      "rem.u32 %r3, %r1, 5;\nsetp.eq.u32 %p1, %r3, 0;\nbar.red.popc.u32 %r4, 0, %p1;\nbar.red.popc.u32 %r5, 0, !%p1;\n"
      "barrier.red.and.pred %p2, 0, %p1;\nbarrier.cta.red.or.aligned.pred %p3, 0, 128, %p1;\nselp.u32 %r6, 1, 0, %p2;\n"
      "selp.u32 %r7, 1, 0, %p3;\nmad.lo.u32 %r2, %r4, 1000, %r5;\nmad.lo.u32 %r2, %r2, 10, %r6;\n"
      "mad.lo.u32 %r2, %r2, 10, %r7;\n",
      "", 128);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], (26u * 1000 + 102) * 100 + 1) << i;
}

TEST(Calls, LanesThatHoldTheSameValueFindEachOther) {
  const auto any = lanes_after("and.b32 %r3, %r1, 3;\nmatch.any.sync.b32 %r2, %r3, -1;\n", "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(any[i], 0x11111111u << i % 4);
  const auto wide = lanes_after(
      "cvt.u64.u32 %d3, %r1;\nshr.u64 %d3, %d3, 4;\nshl.b64 %d3, %d3, 40;\nmatch.any.sync.b64 %r2, %d3, -1;\n", "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(wide[i], i < 16 ? 0xffffu : 0xffff0000u);
  const auto all = lanes_after(
      "mov.u32 %r3, 4;\nmatch.all.sync.b32 %r4|%p1, %r3, -1;\nmatch.all.sync.b32 %r5|%p2, %r1, "
      "-1;\nselp.u32 %r6, 1, 0, %p1;\nselp.u32 %r7, 1, 0, %p2;\nadd.u32 %r4, %r4, 1;\nadd.u32 "
      "%r2, %r4, %r5;\nmad.lo.u32 %r2, %r6, 10, %r2;\nadd.u32 %r2, %r2, %r7;\n",
      "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(all[i], 10u);
}

// The tiles of a warp come to one instruction with masks of their own, at once or one after the other.
TEST(Calls, TilesOfAWarpHaveTheirOwnMasks) {
  const std::string mask = "shr.u32 %r3, %r1, 3;\nshl.b32 %r3, %r3, 3;\nmov.u32 %r4, 255;\nshl.b32 %r4, %r4, %r3;\n";
  const auto together = lanes_after(mask + "shfl.sync.idx.b32 %r2, %r1, 3, 0x181f, %r4;\n", "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(together[i], i / 8 * 8 + 3);
  const auto apart = lanes_after(mask +
                                     "setp.ge.u32 %p2, %r1, 16;\n@%p2 bra far;\nadd.u32 %r5, %r1, 0;\nfar: setp.ne.u32 "
                                     "%p1, %r1, 99;\nvote.sync.ballot.b32 %r2, %p1, %r4;\n",
                                 "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(apart[i], 255u << i / 8 * 8);
}

TEST(Calls, PrefetchesAreNoAccesses) {
  std::vector<uint32_t> out(32);
  const Ran ran =
      clean(run(kernel(prologue + "prefetch.global.L2 [%d2+4096];\nmov.u32 %r2, WARP_SZ;\n" + epilogue), {}, out));
  EXPECT_EQ(out[7], 32u);
  EXPECT_EQ(ran.total().global_requests, 1u);
}

}  // namespace
}  // namespace sim::testing::test_calls
