// What the front end accepts and refuses: scopes, strictness, and text that is damaged.
#include <sstream>

#include "machine.h"

namespace sim::testing::test_parse {
namespace {

// A kernel with most of what nvcc writes: inline assembly's scopes, vectors, calls, variables, source lines.
const std::string sample = R"(
.version 9.0
.target sm_80
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1) ;
.global .align 4 .b8 table[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
.const .align 4 .f32 pi = 0f40490FDB;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry _Z1kPf(
 .param .u64 _Z1kPf_param_0,
 .param .align 8 .b8 _Z1kPf_param_1[24]
)
.maxntid 256, 1, 1
.minnctapersm 2
{
 .local .align 16 .b8  __local_depot0[64];
 .reg .b64  %SP;
 .reg .b64  %SPL;
 .reg .pred  %p<4>;
 .reg .f32  %f<9>;
 .reg .b32  %r<9>;
 .reg .b64  %rd<9>;
 .shared .align 4 .b8 tile[512];
 .loc 1 10 1
 mov.u64  %SPL, __local_depot0;
 cvta.local.u64  %SP, %SPL;
 ld.param.u64  %rd1, [_Z1kPf_param_0];
 ld.param.v2.u32  {%r1, %r2}, [_Z1kPf_param_1+8];
 .loc 1 11 3, function_name $L__info_string0, inlined_at 1 20 5
 mov.u32  %r3, tile;
 {
 .reg .pred p;
 setp.ne.b32 p, %r1, 0;
 @p bra again;
 again:
 }
 {
 .reg .pred p;
 setp.ne.b32 p, %r2, 0;
 @!p bra again;
 again:
 }
$L__BB0_1:
 st.shared.f32  [%r3+-0], 0f3F800000;
 bar.sync  0;
 ld.shared.v4.f32  {%f1, %f2, %f3, %f4}, [tile+16];
 @%p1 bra  $L__BB0_1;
 { // callseq 0, 0
 .param .b64 param0;
 st.param.b64  [param0+0], %rd1;
 .param .b64 param1;
 st.param.b64  [param1+0], %SP;
 .param .b32 retval0;
 call.uni (retval0),
 vprintf,
 (
 param0,
 param1
 );
 ld.param.b32  %r4, [retval0+0];
 } // callseq 0
 ret;
}
 .file 1 "kernel.cu"
 .section .debug_str
 {
$L__info_string0:
.b8 95,90,0
 }
)";

TEST(Parse, TakesWhatNvccWrites) {
  EXPECT_EQ(refusal(sample), "");
  const ptx::Module module = ptx::parse(sample);
  ASSERT_EQ(module.kernels.size(), 1u);
  const ptx::Function& k = module.kernels[0];
  EXPECT_EQ(module.version, 90u);
  EXPECT_EQ(k.max_threads, 256u);
  EXPECT_EQ(k.parameter_count, 2u);
  EXPECT_EQ(module.variables[0].initial.size(), 12u);
  EXPECT_EQ(static_cast<int>(module.variables[0].initial[8]), 3);
  EXPECT_EQ(k.instructions[4].location.line, 11u);
  EXPECT_EQ(k.instructions[4].location.caller_line, 20u);
}

TEST(Parse, TellsLineAndColumn) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n";
  EXPECT_EQ(refusal(head + "  bra nowhere;\n}\n"), "PTX line 6, column 3: no label 'nowhere' here");
  EXPECT_EQ(refusal(head + "ret;"), "PTX line 6, column 5: expected a statement, found the end");
}

// Line 28 of wmma.h is called from lines 87 and 90 of the kernel, and calls what stands in mma.hpp.
TEST(Parse, AHelperCalledFromTwoLinesIsToldApart) {
  const std::string text =
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n.loc 1 80 1\n"
      ".loc 5 28 3, function_name $L__info_string0, inlined_at 1 87 9\n"
      ".loc 6 91 5, function_name $L__info_string1, inlined_at 5 28 3\nmov.u32 %r1, 1;\n"
      ".loc 5 28 3, function_name $L__info_string2, inlined_at 1 90 9\n"
      ".loc 6 91 5, function_name $L__info_string3, inlined_at 5 28 3\nmov.u32 %r2, 2;\nret;\n}\n"
      ".file 1 \"kernel.cu\"\n.file 5 \"wmma.h\"\n.file 6 \"mma.hpp\"\n";
  const ptx::Module module = ptx::parse(text);
  const auto& instructions = module.kernels.at(0).instructions;
  EXPECT_EQ(instructions.at(0).location.caller_file, 1u);
  EXPECT_EQ(instructions.at(0).location.caller_line, 87u);
  EXPECT_EQ(instructions.at(1).location.caller_line, 90u);
}

TEST(Parse, OneKernelOfSeveralIsParsedAndTheOthersBodiesArePassedOver) {
  const std::string others =
      ".version 9.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 g = 7;\n"
      ".visible .entry first()\n{\n{ } // }\n/* } */ this is no PTX \"}\" ;\n}\n"
      ".visible .entry second()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, 5;\nret;\n}\n"
      ".visible .entry third()\n{ neither is this }\n.file 1 \"a.cu\"\n";
  const ptx::Module module = ptx::parse(others, "second");
  ASSERT_EQ(module.kernels.size(), 1u);
  EXPECT_EQ(module.kernels[0].name, "second");
  EXPECT_EQ(module.kernels[0].instructions[0].text_line, 13u);
  EXPECT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.files.at(1), "a.cu");
  EXPECT_TRUE(ptx::parse(others, "").kernels.empty());
  EXPECT_THROW(ptx::parse(others, "first"), Refused);
  EXPECT_THROW(ptx::parse(others.substr(0, others.find("third") + 12), "second"), Refused) << "a body without an end";
}

TEST(Parse, NestedScopesHaveTheirOwnRegistersAndLabels) {
  const std::string body =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, 1;\n"
      "{ .reg .b32 %r1; mov.u32 %r1, 7; { .reg .b32 x; mov.u32 x, %r1; add.u32 %r2, x, 0; } bra out; mov.u32 %r2, 99; "
      "out: }\n{ .reg .b32 x; mov.u32 x, 5; bra out; mov.u32 x, 98; out: add.u32 %r3, x, %r1; }\n"
      "st.global.v2.u32 [%d1], {%r2, %r3};\n";
  std::vector<uint32_t> out(2);
  const Ran ran = run(kernel(body), {{1, 1, 1}, {1, 1, 1}}, out);
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(out[1], 6u);
}

TEST(Parse, RefusesWhatIsUnknownByNameKernelAndPlace) {
  const std::string unknown = refusal(kernel("add.s32 %r1, %r2, %r3;\n  max.s16x2 %r1, %r2, %r3;\n"));
  EXPECT_NE(unknown.find("max.s16x2"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("kernel.cu:2"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("kernel k"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find(", column 3): "), std::string::npos) << unknown;
}

// Each differs from an instruction that is known by one modifier, one width or one operand.
TEST(Parse, TheTableIsStrict) {
  std::istringstream instructions(
      "add.ftz.bf16 %h1, %h2, %h3\nadd.rna.f32 %f1, %f2, %f3\nfma.f32 %f1, %f2, %f3, %f4\n"
      "ld.global.v8.f32 %f1, [%d1]\nmul.s32 %r1, %r2, %r3\nadd.s32 %r1, %r2, %d3\nadd.s32 %d1, %r2, %r3\n"
      "add.s32 %r1, %r2\nadd.s32 %r1, %r2, %r3, %r4\nadd.f32 %f1, %f2, 0d3FF0000000000000\n"
      "setp.lt.b32 %p1, %r1, %r2\nadd.u32 %r1, %r1, %clock\ncp.async.cg.shared.global [%r1], [%d1], 8\n"
      "cp.async.ca.shared.global [%r1], [%d1], 12\nld.global.f32 {%f1, %f2}, [%d1]\n"
      "ld.global.v2.f32 %f1, [%d1]\nst.global.v4.f64 [%d1], {%g1, %g2, %g3, %g4}\nbra nowhere\n"
      "call.uni other, ()\nselp.b32 %r1, %r2, %r3, %r4\n@%r1 mov.u32 %r1, 0\nshl.s32 %r1, %r2, 1\n"
      "mov.u32 %r99, 0\nmov.u32 5, %r1\nbar.sync\nld.global.f32 %f1, [%h1]\nld.global.u64 %r1, [%d1]\n"
      "atom.global.add.u32 %r1, [%d1]\nshfl.sync.bfly.b32 %r1, %r2, 1\nvote.sync.all.pred %p1, %p2\n");
  for (std::string instruction; std::getline(instructions, instruction);)
    EXPECT_NE(refusal(kernel(instruction + ";\n")), "") << instruction;
}

TEST(Parse, RefusesDamagedDeclarations) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n";
  for (const char* text :
       {".global .b32 x[99999999999999999999];", ".global .align 3 .b32 x;", ".global .b32 x[4000000000];",
        ".shared .b8 x[];", ".global .b32 x = {1, 2};", ".entry k() { .reg .b32 %r<4000000000>; ret; }",
        ".entry k() { { { }", ".entry k() { .reg .b32 x; mov.u32 x, 0f123; }", "nonsense", "\"open",
        ".entry k() { bra a; a: a: ret; }", ".global .b32", ".entry", ".file 99999999999 \"x\"", "@",
        ".address_size 32", ".entry k() .unknown 3 { }", ".entry k() { ret; } .entry k() { ret; }"}) {
    EXPECT_NE(refusal(head + text), "") << text;
  }
  EXPECT_NE(refusal(head + ".entry k() {" + std::string(100000, '{')), "");
  EXPECT_NE(refusal(head + ".entry k() { .reg .b32 x; mov.u32 x, " + std::string(100000, '[') + "; }"), "");
}

// Cut anywhere, or with any piece changed, the text is taken or refused: never a crash (run it under a sanitizer).
TEST(Parse, DamagedTextNeverCrashes) {
  for (size_t length = 0; length < sample.size(); ++length) refusal(sample.substr(0, length));
  const std::string alphabet = "%[]{}(),;:.@!|<>+-_09azAZ\"\n $/*";
  uint64_t state = 5;
  const auto random = [&](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = sample;
    for (size_t changes = 1 + random(3); changes > 0; --changes) {
      const size_t at = random(damaged.size());
      switch (random(4)) {
        case 0: damaged[at] = alphabet[random(alphabet.size())]; break;
        case 1: damaged.erase(at, 1 + random(20)); break;
        case 2: damaged.insert(at, 1 + random(3), alphabet[random(alphabet.size())]); break;
        default: damaged.insert(at, damaged.substr(random(damaged.size()), random(40))); break;
      }
    }
    refused += !refusal(damaged).empty();
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace sim::testing::test_parse
