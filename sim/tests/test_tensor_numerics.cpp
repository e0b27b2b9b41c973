// Sums of products: the way that most numbers take and the one that serves all. What an H200's tensor cores were seen
// to compute: recordings/dot_products and recordings/tensor_products.
#include <cmath>
#include <random>

#include "core/tensor/tensor.h"
#include "machine.h"

namespace sim::testing::test_tensor_numerics {
namespace {

// The two ways to the same sum, on numbers of every size at which both may be taken.
TEST(TensorNumerics, TheFastWayIsTheGeneralWay) {
  std::mt19937 random(1);
  const auto any_f16 = [&] { return static_cast<uint16_t>(random() & 0xfbff); };                  // finite
  const auto any_bf16 = [&] { return static_cast<uint16_t>((random() & 0x8fff) + (90u << 7)); };  // 2^-37 to 2^-6
  for (int round = 0; round < 400; ++round) {
    const Factor factor = round % 2 ? Factor::f16 : Factor::bf16;
    const bool large = round % 16 < 2;  // sums at the end of 32 bits
    Matrix matrices[12];
    for (Matrix& matrix : matrices) {
      for (auto& line : matrix.at) {
        for (uint16_t& each : line)
          each = large                   ? 0x3ff0 + random() % 16
                 : random() % 8 == 0     ? 0
                 : factor == Factor::f16 ? any_f16()
                                         : any_bf16();
      }
    }
    TileC c;
    for (auto& row : c.at) {
      for (auto& col : row) {
        for (f32& each : col)
          each = random() % 4 == 0 ? 0 : std::ldexp(f32(int(random())), large ? -29 : int(random() % 80) - 90);
      }
    }
    TileA a;
    TileB b;
    for (uint32_t i = 0; i < 4; ++i) {
      widen(factor, matrices[2 * i], matrices[2 * i + 1], a, 8 * i);
      widen_columns(factor, matrices[8 + i], b, 8 * i);
    }
    ASSERT_FALSE(a.wild || b.wild);
    for (const uint32_t k : {4u, 8u, 16u, 32u}) {
      for (const Sum sum : {Sum::f32, Sum::f16}) {
        TileC fast = c, general = c;
        a.wild = false;
        multiply(a, b, {.k = k, .sum = sum}, fast);
        a.wild = true;
        multiply(a, b, {.k = k, .sum = sum}, general);
        ASSERT_EQ(std::memcmp(&fast, &general, sizeof fast), 0) << round << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace sim::testing::test_tensor_numerics
