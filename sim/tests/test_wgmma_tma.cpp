// wgmma on tiles that TMA has written: the swizzle of both, each checked against the other.
#include <random>

#include "stored_map.h"
#include "wgmma_kernel.h"

namespace sim::testing::test_wgmma_tma {
namespace {

constexpr uint32_t rows = 64, columns = 8, depth = 64, pitch = 2 * depth, base_b = rows * pitch;

// The map of a row-major tensor of f16 with so many lines, all of them in one box.
Maps map_of(Tensor<uint16_t>& tensor, uint32_t lines, Swizzle swizzle) {
  return stored({.type = TensorType::f16,
                 .rank = 2,
                 .address = reinterpret_cast<uint64_t>(tensor.data()),
                 .size = {depth, lines},
                 .stride = {pitch},
                 .box = {swizzle == Swizzle::by_64 ? depth / 2 : depth, lines},
                 .element_stride = {1, 1},
                 .swizzle = swizzle});
}

uint16_t f16_of(int value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>(
      value == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
}

// Four products of k16, of tiles of 64 columns, whose box TMA writes as the maps say. A's and B's descriptors as given.
struct Setup {
  Swizzle written = Swizzle::by_128;
  uint32_t swizzle_a = 128, swizzle_b = 128;
  std::string wait = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra WAIT;\n";
};

Ran multiply(const Setup& setup, uint64_t seed, std::vector<uint32_t>& d, std::vector<uint32_t>& wanted) {
  std::mt19937 random(1);
  Tensor<uint16_t> a(rows * depth), b(columns * depth);
  std::vector<std::vector<int>> values(rows + columns, std::vector<int>(depth));
  for (uint32_t line = 0; line < rows + columns; ++line) {
    for (uint32_t k = 0; k < depth; ++k) {
      values[line][k] = static_cast<int>(random() % 9) - 4;
      (line < rows ? a.at(line * depth + k) : b.at((line - rows) * depth + k)) = f16_of(values[line][k]);
    }
  }
  auto map_a = map_of(a, rows, setup.written), map_b = map_of(b, columns, setup.written);
  wanted.assign(4 * 128, 0);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t col = 0; col < columns; ++col) {
      int sum = 0;
      for (uint32_t k = 0; k < depth; ++k) sum += values[row][k] * values[rows + col][k];
      wanted[(row % 16 / 8 * 2 + col % 2) * 128 + row / 16 * 32 + row % 8 * 4 + col / 2] =
          std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
  std::string body =
      "{\n.reg .b32 %q<4>;\n.shared .align 1024 .b8 tiles[9216];\n.shared .align 8 .b64 full;\n"
      "ld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nld.param.u64 %d3, [p2];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %d3, %r1, 4, %d3;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.ne.u32 %p8, %r1, %r1;\n"
      "setp.eq.u32 %p9, %r1, %r1;\nmov.u32 %r2, tiles;\nadd.u32 %r3, %r2, " +
      std::to_string(base_b) +
      ";\nmov.u32 %r5, 0;\n@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [full], 1;\n"
      "fence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n@%p1 bra ISSUED;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 9216;\n";
  for (const char* each : {"[%r2], [%d1", "[%r3], [%d2"})
    body += std::string("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes ") + each +
            ", {%r5, %r5}], [full];\n";
  body += "ISSUED:\n" + setup.wait + fence_line;
  for (uint32_t k = 0; k < depth; k += 16) {
    body += "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + q_list(0, 4) + ", " +
            std::to_string(descriptor(2 * k, 16, 1024, setup.swizzle_a)) + ", " +
            std::to_string(descriptor(base_b + 2 * k, 16, 1024, setup.swizzle_b)) + ", " + (k == 0 ? "%p8" : "%p9") +
            ", 1, 1, 0, 0;\n";
  }
  body += commit_line + wait_line(0);
  for (uint32_t i = 0; i < 4; ++i)
    body += "st.global.b32 [%d3+" + std::to_string(512 * i) + "], %q" + std::to_string(i) + ";\n";
  d.assign(4 * 128, 0);
  return run(kernel(body + "}\n", 3), {.block = {128, 1, 1}, .seed = seed}, map_a, map_b, d, a, b);
}

TEST(WgmmaOfTma, MultipliesWhatTmaHasWritten) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<uint32_t> d, wanted;
    const Ran ran = multiply({}, seed, d, wanted);
    EXPECT_EQ(ran.text(), "");
    EXPECT_EQ(d, wanted) << seed;
  }
}

TEST(WgmmaOfTma, AnotherSwizzleThanTheTilesIsReported) {
  for (const uint32_t seed : {0u, 1u, 2u}) {
    std::vector<uint32_t> d, wanted;
    Ran ran = multiply({.swizzle_a = 0}, seed, d, wanted);
    EXPECT_EQ(ran.count(Finding::swizzle), 4) << ran.text();
    EXPECT_NE(ran.text().find("its descriptor of A says no swizzle, but the copy started at"), std::string::npos)
        << ran.text();
    EXPECT_NE(
        ran.text().find("wrote the tile with 128-byte swizzle; the first core matrix that is read in a wrong order"),
        std::string::npos);
    EXPECT_NE(d, wanted);
    ran = multiply({.swizzle_b = 64}, seed, d, wanted);
    EXPECT_NE(ran.text().find("its descriptor of B says 64-byte swizzle"), std::string::npos) << ran.text();
  }
}

TEST(WgmmaOfTma, WithoutAWaitForTheTile) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<uint32_t> d, wanted;
    const Ran ran = multiply({.wait = ""}, seed, d, wanted);
    EXPECT_GE(ran.count(Finding::unwaited), 1) << ran.text();
  }
}

}  // namespace
}  // namespace sim::testing::test_wgmma_tma
