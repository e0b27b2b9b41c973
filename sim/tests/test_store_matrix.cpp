// stmatrix against what an H200 stored, and what it may not do.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "machine.h"

namespace sim::testing::test_store_matrix {
namespace {

using Words = std::vector<uint32_t>;

// Stores `count` matrices whose half h of register r of lane l holds 8·l + 2·r + h, the lane's row at the address that
// `addresses` says, and gives shared memory back as words; what nothing wrote is zero.
Ran store_matrices(const std::string& opcode, uint32_t count, Words addresses, Words& out,
                   const std::string& before = "", uint32_t threads = 32) {
  std::string body =
      "ld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %laneid;\nmul.wide.u32 %d3, %r1, 4;\n"
      "add.u64 %d1, %d1, %d3;\nld.global.b32 %r2, [%d1];\nshl.b32 %r3, %r1, 4;\nmov.u32 %r14, %tid.x;\n"
      "setp.lt.u32 %p2, %r14, 32;\n@%p2 st.shared.v4.b32 [%r3], {0, 0, 0, 0};\nbar.sync 0;\n"
      "mul.lo.u32 %r10, %r1, 524296;\nadd.u32 %r10, %r10, 65536;\n"  // 8·l in both halves, 1 more in the upper
      "add.u32 %r11, %r10, 131074;\nadd.u32 %r12, %r11, 131074;\nadd.u32 %r13, %r12, 131074;\n" +
      before;
  const bool generic = opcode.find("shared") == std::string::npos;
  if (generic) body += "cvt.u64.u32 %d4, %r2;\ncvta.shared.u64 %d4, %d4;\n";
  body += opcode + " [" + (generic ? "%d4" : "%r2") + "], {%r10";
  for (uint32_t i = 1; i < count; ++i) body += ", %r" + std::to_string(10 + i);
  body +=
      "};\nbar.sync 0;\nld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];\nmul.wide.u32 %d3, %r1, 16;\n"
      "add.u64 %d2, %d2, %d3;\nst.global.v4.b32 [%d2], {%r4, %r5, %r6, %r7};\n";
  out.assign(128, 0);
  return run(kernel(body, 2), {.block = {threads, 1, 1}, .dynamic_shared_bytes = 512}, addresses, out);
}

Words rows_in_order() {
  Words addresses(32);
  for (uint32_t lane = 0; lane < 32; ++lane) addresses[lane] = 16 * lane;
  return addresses;
}

struct Recorded {
  uint32_t count;
  bool transposed, reversed;
  auto operator<=>(const Recorded&) const = default;
};

TEST(StoreMatrix, StoresWhatTheRecordingSays) {
  std::map<Recorded, std::map<uint32_t, std::vector<uint16_t>>> expected;  // by row of memory
  std::ifstream file(STMATRIX_RECORDING);
  std::string line;
  std::getline(file, line);
  uint32_t rows = 0;
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    const auto cell = [&] {
      std::string text;
      std::getline(cells, text, ',');
      return text;
    };
    ASSERT_EQ(cell(), "stmatrix");
    const Recorded which{static_cast<uint32_t>(std::stoul(cell().substr(1))), cell() == "1", cell() == "1"};
    auto& row = expected[which][static_cast<uint32_t>(std::stoul(cell()))];
    for (int i = 0; i < 8; ++i) {
      unsigned lane = 0, number = 0, half = 0;
      ASSERT_EQ(std::sscanf(cell().c_str(), "%u.%u.%u", &lane, &number, &half), 3);
      row.push_back(static_cast<uint16_t>(8 * lane + 2 * number + half));
    }
    ++rows;
  }
  EXPECT_EQ(rows, 224u);
  for (const auto& [which, by_row] : expected) {
    Words addresses = rows_in_order(), out;
    if (which.reversed) std::reverse(addresses.begin(), addresses.end());
    for (const char* space : {".shared", ".shared::cta", ""}) {
      const std::string opcode = "stmatrix.sync.aligned.m8n8.x" + std::to_string(which.count) +
                                 (which.transposed ? ".trans" : "") + space + ".b16";
      clean(store_matrices(opcode, which.count, addresses, out));
      for (uint32_t row = 0; row < 32; ++row) {
        const auto recorded = by_row.find(row);
        for (uint32_t i = 0; i < 8; ++i) {
          const uint32_t got = out[4 * row + i / 2] >> 16 * (i % 2) & 0xffff;
          EXPECT_EQ(got, recorded == by_row.end() ? 0u : recorded->second[i]) << opcode << " row " << row;
        }
      }
    }
  }
}

// A matrix is stored in one pass where its rows lie in different banks, in one for each row where they lie in the same.
TEST(StoreMatrix, CountsItsPasses) {
  const std::string opcode = "stmatrix.sync.aligned.m8n8.x2.shared.b16";
  Words out, apart = rows_in_order(), same(32);
  for (uint32_t lane = 0; lane < 4; ++lane) same[lane] = 128 * lane;  // four rows of the first matrix in the same banks
  for (uint32_t lane = 4; lane < 16; ++lane) same[lane] = 16 * (lane - 3);
  const auto wavefronts = [&](const Words& addresses) {
    const Ran ran = store_matrices(opcode, 2, addresses, out);
    for (size_t i = 0; i < ran.program.sites.size(); ++i) {
      if (ran.program.sites[i].text == opcode) return ran.tallies.of[i].shared_wavefronts;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(wavefronts(apart), 2u);
  EXPECT_EQ(wavefronts(same), 4u + 1u);
}

TEST(StoreMatrix, IsChecked) {
  const std::string opcode = "stmatrix.sync.aligned.m8n8.x4.shared.b16";
  Words out, addresses = rows_in_order();
  addresses[31] = 512;
  EXPECT_EQ(store_matrices(opcode, 4, addresses, out).count(Finding::out_of_bounds), 1);
  addresses[31] = 248;
  EXPECT_EQ(store_matrices(opcode, 4, addresses, out).count(Finding::misaligned), 1);
  // Two warps store at the same place.
  EXPECT_EQ(store_matrices(opcode, 4, rows_in_order(), out, "", 64).count(Finding::race), 1);
  // Part of the warp went another way.
  EXPECT_EQ(store_matrices(opcode, 4, rows_in_order(), out, "setp.lt.u32 %p1, %r1, 16;\n@%p1 exit;\n")
                .count(Finding::divergent_barrier),
            1);
  const std::string too_few = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2, %r3};\n";
  EXPECT_NE(refusal(kernel(too_few)).find("a list of 4 registers"), std::string::npos);
}

}  // namespace
}  // namespace sim::testing::test_store_matrix
