// Loads, stores, atomics, address spaces.
#include <numeric>

#include "machine.h"

namespace sim::testing::test_memory {
namespace {

const std::string prologue = "ld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n";

// Every type is loaded into a register of its size (or wider) and stored again; what lies between is what the type
// says.
TEST(Memory, EveryTypeKeepsItsBytesAndItsSign) {
  const struct {
    std::string type, wide;
    uint32_t bytes;
  } types[] = {{"b8", "%h1", 1},  {"u8", "%h1", 1},  {"s8", "%h1", 1},  {"u8", "%r3", 1},  {"s8", "%r3", 1},
               {"u8", "%d5", 1},  {"s8", "%d5", 1},  {"b16", "%h1", 2}, {"u16", "%h1", 2}, {"s16", "%h1", 2},
               {"u16", "%r3", 2}, {"s16", "%r3", 2}, {"u16", "%d5", 2}, {"s16", "%d5", 2}, {"b32", "%r3", 4},
               {"u32", "%r3", 4}, {"s32", "%r3", 4}, {"f32", "%f1", 4}, {"u32", "%d5", 4}, {"s32", "%d5", 4},
               {"b64", "%d5", 8}, {"u64", "%d5", 8}, {"s64", "%d5", 8}, {"f64", "%g1", 8}};
  for (const auto& [type, reg, bytes] : types) {
    std::vector<uint8_t> in(256), out(256, 0);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 37 + 129);
    const std::string size = std::to_string(bytes);
    const uint32_t register_bytes = reg[1] == 'h' ? 2 : reg[1] == 'r' || reg[1] == 'f' ? 4 : 8;
    const Ran ran =
        run(kernel(prologue + "mad.wide.u32 %d3, %r1, " + size + ", %d1;\nmad.wide.u32 %d4, %r1, " +
                       std::to_string(register_bytes) + ", %d2;\nld.global." + type + " " + reg +
                       ", [%d3];\nst.global.b" + std::to_string(8 * register_bytes) + " [%d4], " + reg + ";\n",
                   2),
            {}, in, out);
    ASSERT_TRUE(ran.reports.empty()) << type << ran.text();
    for (size_t lane = 0; lane < 32; ++lane) {
      int64_t expected = 0;
      std::memcpy(&expected, &in[lane * bytes], bytes);
      if (type[0] == 's' && bytes < 8 && (expected >> (8 * bytes - 1) & 1)) expected -= int64_t{1} << (8 * bytes);
      EXPECT_EQ(std::memcmp(&expected, &out[lane * register_bytes], register_bytes), 0)
          << type << " " << reg << " lane " << lane;
    }
  }
}

TEST(Memory, VectorsInEverySpace) {
  std::vector<float> in(128), out(128);
  std::iota(in.begin(), in.end(), 1.0f);
  const std::string body = prologue +
                           "mad.wide.u32 %d3, %r1, 16, %d1;\nmad.wide.u32 %d4, %r1, 16, %d2;\nshl.b32 %r2, %r1, 4;\n"
                           "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%d3];\nst.shared.v2.f32 [%r2], {%f1, %f2};\n"
                           "st.shared.v2.f32 [%r2+8], {%f3, %f4};\nld.shared.v4.f32 {%f5, %f6, %f7, %f8}, [%r2];\n"
                           ".local .align 16 .b8 frame[32];\nst.local.v4.f32 [frame+16], {%f8, %f7, %f6, %f5};\n"
                           "ld.local.v4.f32 {%f1, %f2, %f3, %f4}, [frame+16];\n"
                           "st.global.v4.f32 [%d4], {%f1, %f2, %f3, %f4};\n";
  clean(run(kernel(body, 2), {.dynamic_shared_bytes = 512}, in, out));
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], in[i / 4 * 4 + 3 - i % 4]);
}

// One instruction whose lanes read one address, neighbouring ones and ones further apart, in turns: each is served in
// another way.
TEST(Memory, EqualNeighbouringAndScatteredAddresses) {
  const struct {
    std::string type, registers;
    uint32_t bytes, register_bytes;  // of a lane
  } loads[] = {{"u32", "%r4", 4, 4},
               {"s16", "%r4", 2, 4},
               {"v2.u32", "{%r4, %r5}", 8, 8},
               {"u64", "%d6", 8, 8},
               {"v4.u32", "{%r4, %r5, %r7, %r8}", 16, 16}};
  constexpr uint32_t rounds = 4;  // strides of 0, 1, 2 and 3 values
  for (const auto& [type, registers, bytes, register_bytes] : loads) {
    std::vector<uint8_t> in(32 * rounds * bytes), out(32 * rounds * register_bytes);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 37 + 129);
    const std::string to = type == "s16" ? "u32" : type;
    const Ran ran =
        run(kernel(prologue + "mov.u32 %r2, 0;\nAGAIN:\nmad.lo.u32 %r3, %r1, %r2, 0;\nmad.wide.u32 %d3, %r3, " +
                       std::to_string(bytes) +
                       ", %d1;\nshl.b32 %r6, %r2, 5;\nadd.u32 %r6, %r6, %r1;\nmad.wide.u32 %d4, %r6, " +
                       std::to_string(register_bytes) + ", %d2;\nld.global." + type + " " + registers +
                       ", [%d3];\nst.global." + to + " [%d4], " + registers +
                       ";\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 4;\n@%p1 bra AGAIN;\n",
                   2),
            {}, in, out);
    ASSERT_TRUE(ran.reports.empty()) << type << ran.text();
    for (uint32_t i = 0; i < 32 * rounds; ++i) {
      const uint8_t* const from = &in[i % 32 * (i / 32) * bytes];
      std::vector<uint8_t> expected(from, from + bytes);
      expected.resize(register_bytes, from[bytes - 1] & 0x80 ? 0xff : 0);  // s16 alone is widened
      EXPECT_EQ(std::memcmp(expected.data(), &out[i * register_bytes], register_bytes), 0)
          << type << ", lane " << i % 32 << ", stride " << i / 32;
    }
  }
}

// Lanes that take no part keep their registers, also where the others load four at once.
TEST(Memory, VectorsOfSomeLanesOnly) {
  std::vector<uint32_t> in(128), out(128);
  std::iota(in.begin(), in.end(), 1u);
  clean(run(kernel(prologue + "mad.wide.u32 %d3, %r1, 16, %d1;\nmad.wide.u32 %d4, %r1, 16, %d2;\nmov.u32 %r4, 0;\n"
                              "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;\nsetp.ge.u32 %p1, %r1, 5;\n"
                              "@%p1 ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d3];\n"
                              "st.global.v4.u32 [%d4], {%r4, %r5, %r6, %r7};\n",
                   2),
            {}, in, out));
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i / 4 < 5 ? 0 : in[i]);
}

TEST(Memory, GenericAddressesGoWhereTheyBelong) {
  std::vector<uint32_t> in(32), out(96);
  std::iota(in.begin(), in.end(), 100u);
  const std::string body = prologue +
                           ".shared .align 4 .b8 tile[128];\n.local .align 4 .b8 frame[4];\n"
                           "mad.wide.u32 %d3, %r1, 4, %d1;\nmad.wide.u32 %d4, %r1, 4, %d2;\nmul.wide.u32 %d5, %r1, 4;\n"
                           "mov.u64 %d6, tile;\ncvta.shared.u64 %d6, %d6;\nadd.u64 %d6, %d6, %d5;\n"
                           "mov.u64 %d7, frame;\ncvta.local.u64 %d7, %d7;\ncvta.global.u64 %d3, %d3;\n"
                           "ld.u32 %r3, [%d3];\nst.u32 [%d6], %r3;\nst.u32 [%d7], %r3;\nld.u32 %r4, [%d6];\n"
                           "ld.u32 %r5, [%d7];\ncvta.to.shared.u64 %d8, %d6;\nld.shared.u32 %r6, [%d8];\n"
                           "st.u32 [%d4], %r4;\nst.u32 [%d4+128], %r5;\nst.global.u32 [%d4+256], %r6;\n";
  clean(run(kernel(body, 2), {}, in, out));
  for (size_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 100 + i % 32);
}

TEST(Memory, StructParameters) {
  const std::string text =
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .align 8 .b8 p0[24]) {\n.reg .b64 "
      "%d<4>; .reg .b32 %r<4>; .reg .f32 %f<2>;\n"
      "ld.param.u64 %d1, [p0];\nld.param.v2.u32 {%r1, %r2}, [p0+8];\nld.param.f32 %f1, [p0+16];\nst.global.v2.u32 "
      "[%d1], {%r1, %r2};\nst.global.f32 [%d1+8], %f1;\nret;\n}\n";
  alignas(8) std::array<uint32_t, 3> out{};
  const Ran ran = clean(run_on(text, {},
                               {{reinterpret_cast<uint64_t>(out.data()), sizeof out},
                                {11 | uint64_t{22} << 32, 0},
                                {std::bit_cast<uint32_t>(0.5f), 0}}));
  ASSERT_EQ(ran.program.parameter_bytes, 24u);
  EXPECT_EQ(out[0], 11u);
  EXPECT_EQ(out[1], 22u);
  EXPECT_EQ(out[2], std::bit_cast<uint32_t>(0.5f));
}

TEST(Memory, AtomicsAddUpOverLanesAndBlocks) {
  const struct {
    const char* operation;
    uint32_t start, operand_is_lane, expected;
  } cases[] = {{"add.u32", 5, 0, 5 + 256 * 3}, {"min.u32", 100, 1, 0}, {"max.u32", 3, 1, 31},   {"min.s32", 100, 1, 0},
               {"max.s32", 0xffffffff, 1, 31}, {"or.b32", 0, 1, 31},   {"and.b32", 0xff, 0, 3}, {"xor.b32", 1, 0, 1},
               {"exch.b32", 1, 0, 3},          {"inc.u32", 0, 0, 0},   {"dec.u32", 3, 0, 3}};
  for (const auto& [operation, start, by_lane, expected] : cases) {
    for (const char* kind : {"atom.global.", "red.global.", "atom.", "red.relaxed.gpu.global."}) {
      std::vector<uint32_t> cell{start};
      const std::string destination = kind[0] == 'a' ? "%r3, " : "";
      clean(run(kernel("ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 3;\n" +
                       std::string(by_lane ? "mov.u32 %r2, %r1;\n" : "") + kind + operation + " " + destination +
                       "[%d1], %r2;\n"),
                {.grid = {8, 1, 1}}, cell));
      EXPECT_EQ(cell[0], expected) << kind << operation;
    }
  }
  std::vector<float> sum{0.5f};
  run(kernel("ld.param.u64 %d1, [p0];\nred.global.add.f32 [%d1], 0f40000000;\n"), {.grid = {4, 1, 1}}, sum);
  EXPECT_EQ(sum[0], 0.5f + 2 * 128);
  std::vector<uint64_t> wide{1};
  run(kernel("ld.param.u64 %d1, [p0];\nmov.u64 %d2, 4294967296;\natom.global.add.u64 %d3, [%d1], %d2;\n"), {}, wide);
  EXPECT_EQ(wide[0], 1 + (uint64_t{32} << 32));
  std::vector<uint32_t> swapped{7};
  run(kernel(
          "ld.param.u64 %d1, [p0];\natom.global.cas.b32 %r1, [%d1], 7, 9;\natom.global.cas.b32 %r1, [%d1], 7, 11;\n"),
      {}, swapped);
  EXPECT_EQ(swapped[0], 9u);
}

// --- cp.async ---

const std::string copy_prologue =
    prologue + "mad.wide.u32 %d3, %r1, 16, %d1;\nmad.wide.u32 %d4, %r1, 16, %d2;\nshl.b32 %r2, %r1, 4;\n";
const std::string copy_epilogue =
    "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];\nst.global.v4.u32 [%d4], {%r5, %r6, %r7, %r8};\n";

TEST(Copies, ArriveAtTheirWaitZeroFilled) {
  const struct {
    const char* copy;
    uint32_t words;  // of four that carry data
  } cases[] = {{"cp.async.cg.shared.global [%r2], [%d3], 16;\n", 4},
               {"cp.async.ca.shared.global.L2::128B [%r2], [%d3], 16;\n", 4},
               {"cp.async.cg.shared.global [%r2], [%d3], 16, 8;\n", 2},
               {"mov.u32 %r9, 0;\ncp.async.cg.shared.global [%r2], [%d3], 16, %r9;\n", 0},
               {"setp.eq.u32 %p1, %r1, %r1;\ncp.async.cg.shared.global [%r2], [%d3], 16, %p1;\n", 0},
               {"setp.ne.u32 %p1, %r1, %r1;\ncp.async.ca.shared.global [%r2], [%d3], 16, %p1;\n", 4}};
  for (const char* wait : {"cp.async.wait_all;\n", "cp.async.commit_group;\ncp.async.wait_group 0;\n"}) {
    for (const auto& [copy, words] : cases) {
      std::vector<uint32_t> in(128), out(128, 7);
      std::iota(in.begin(), in.end(), 1u);
      clean(run(kernel(copy_prologue + copy + wait + copy_epilogue, 2), {.dynamic_shared_bytes = 512}, in, out));
      for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i % 4 < words ? in[i] : 0) << copy;
    }
  }
}

TEST(Copies, OfFourAndEightBytes) {
  std::vector<uint32_t> in(128), out(128, 7);
  std::iota(in.begin(), in.end(), 1u);
  clean(run(kernel(copy_prologue +
                       "cp.async.ca.shared.global [%r2], [%d3+4], 4;\ncp.async.ca.shared.global [%r2+4], [%d3], 4;\n"
                       "cp.async.ca.shared.global [%r2+8], [%d3+8], 8;\ncp.async.wait_all;\n" +
                       copy_epilogue,
                   2),
            {.dynamic_shared_bytes = 512}, in, out));
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], in[i % 4 < 2 ? i ^ 1 : i]);
}

// As measured on an H200 (step 11 in docs/validation-h200.csv): the copies of a slice beyond K are no requests.
TEST(Copies, OfZerosOnlyAskNothingOfGlobalMemory) {
  std::vector<uint32_t> in(128), out(128);
  for (const auto& [size, requests] : {std::pair{"0", 0u}, {"16", 1u}}) {
    const Ran ran = run(kernel(copy_prologue + "mov.u32 %r9, " + size +
                                   ";\ncp.async.cg.shared.global [%r2], [%d3], 16, %r9;\ncp.async.wait_all;\n",
                               2),
                        {.dynamic_shared_bytes = 512}, in, out);
    EXPECT_EQ(ran.total().global_requests, requests);
    EXPECT_EQ(ran.total().copied_sectors > 0, requests > 0);
  }
}

// As measured on an H200 (docs/validation-h200.csv, cp_async_l1_sectors): rows of 128 bytes at a pitch of 144 take 18
// sectors of 16 where the copy bypasses the L1, since every other row begins in the middle of one.
TEST(Copies, ThatBypassTheL1AreCountedBySectorsOfTheDestination) {
  const struct {
    const char *pitch, *level;
    uint64_t sectors;
  } cases[] = {{"128", "cg", 16}, {"144", "cg", 18}, {"160", "cg", 16}, {"144", "ca", 16}};
  for (const auto& [pitch, level, sectors] : cases) {
    alignas(128) std::array<uint32_t, 128> in{};
    std::vector<uint32_t> out(128);
    const Ran ran = run(kernel(copy_prologue + "shr.u32 %r3, %r1, 3;\nand.b32 %r4, %r1, 7;\nshl.b32 %r4, %r4, 4;\n" +
                                   "mad.lo.u32 %r3, %r3, " + pitch + ", %r4;\ncp.async." + level +
                                   ".shared.global [%r3], [%d3], 16;\ncp.async.wait_all;\n",
                               2),
                        {.dynamic_shared_bytes = 1024}, in, out);
    EXPECT_EQ(ran.total().copied_sectors, sectors) << level << " at a pitch of " << pitch;
    EXPECT_EQ(ran.total().global_sectors, 16u);
    EXPECT_EQ(ran.total().global_requests, 1u);
  }
}

// Waiting for all but the last group says nothing about the last: its data have not come.
TEST(Copies, AreDeferredUntilTheirGroupIsWaitedFor) {
  const std::string two =
      copy_prologue +
      "cp.async.cg.shared.global [%r2], [%d3], 16;\ncp.async.commit_group;\ncp.async.cg.shared.global [%r2+512], "
      "[%d3], 16;\ncp.async.commit_group;\n";
  std::vector<uint32_t> in(128, 5), out(128, 7);
  clean(run(kernel(two + "cp.async.wait_group 1;\n" + copy_epilogue, 2), {.dynamic_shared_bytes = 1024}, in, out));
  EXPECT_EQ(out[0], 5u);
  const Ran second = run(kernel(two + "cp.async.wait_group 1;\nadd.u32 %r2, %r2, 512;\n" + copy_epilogue, 2),
                         {.dynamic_shared_bytes = 1024}, in, out);
  EXPECT_EQ(second.count(Finding::unwaited), 1) << second.text();
  EXPECT_NE(out[0], 5u);
  EXPECT_NE(second.text().find("kernel.cu:9"), std::string::npos) << second.text();  // where the copy was started
}

TEST(Copies, ReadNothingOutsideTheirBytes) {
  std::vector<uint32_t> in(126), out(128);  // the last lane's last two words are missing
  const std::string whole = "cp.async.cg.shared.global [%r2], [%d3], 16;\ncp.async.wait_all;\n";
  const std::string cut =
      "setp.eq.u32 %p1, %r1, 31;\nselp.u32 %r3, 8, 16, %p1;\ncp.async.cg.shared.global [%r2], [%d3], 16, "
      "%r3;\ncp.async.wait_all;\n";
  EXPECT_EQ(run(kernel(copy_prologue + whole, 2), {.dynamic_shared_bytes = 512}, in, out).count(Finding::out_of_bounds),
            1);
  clean(run(kernel(copy_prologue + cut + copy_epilogue, 2), {.dynamic_shared_bytes = 512}, in, out));
}

}  // namespace
}  // namespace sim::testing::test_memory
