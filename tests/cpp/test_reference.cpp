// The FP64 reference against the definition, three loops over numbers fetched one by one.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/harness/reference.h"
#include "tests/cpp/host_gemm.h"

namespace {

struct Case {
  bool tn;
  DType ab, out;
  Shape shape;
};

std::vector<int> all_of(int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

void expect_definition(const Case& c, const std::vector<int>& rows, const std::vector<int>& cols) {
  Variant variant = right_variant();
  variant.ab = variant.b = c.ab;
  variant.out = c.out;
  variant.b_transposed = c.tn;
  const Shape& s = c.shape;
  Matrices m(variant, s);
  m.draw(variant, s, InputKind::normal, 11);
  m.c.fill(Matrices::recipe(variant, s, InputKind::normal, 11, 2));
  const Reference reference({m.a, m.b, m.c, c.tn, s.alpha, s.beta, s.k}, rows, cols);

  ASSERT_EQ(reference.count(), rows.size() * cols.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < cols.size(); ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < s.k; ++k) {
        const double product = m.a.at(rows[i], k) * (c.tn ? m.b.at(cols[j], k) : m.b.at(k, cols[j]));
        sum += product;
        size += std::fabs(product);
      }
      const double old = s.beta == 0 ? 0.0 : s.beta * m.c.at(rows[i], cols[j]);
      const double value = reference.value()[i * cols.size() + j];
      EXPECT_NEAR(value, s.alpha * sum + old, 1e-12 * size) << rows[i] << ", " << cols[j];
      EXPECT_NEAR(reference.magnitude()[i * cols.size() + j], std::fabs(s.alpha) * size + std::fabs(old), 1e-12 * size);
    }
}

TEST(Reference, IsTheDefinition) {
  const DType f32 = DType::f32;
  for (const Case& c : {
           Case{false, f32, f32, narrow(7, 9, 33)},
           {false, f32, f32, narrow(1, 1, 1)},
           {true, f32, f32, narrow_tn(7, 9, 33)},
           {false, f32, f32, narrow(5, 6, 7, -0.75f, 1.5f)},
           {false, f32, f32, narrow(5, 6, 7, 0.0f, 1.0f)},
           {false, f32, f32, {5, 6, 7, 11, 10, 9, 2.0f, -1.0f}},  // rows wider than the matrices
           {true, f32, f32, {5, 6, 7, 11, 10, 9, 2.0f, -1.0f}},
           {false, DType::f16, DType::f16, narrow(5, 6, 40, 1.0f, 1.0f)},
           {true, DType::bf16, f32, narrow_tn(5, 6, 40, 1.0f, 1.0f)},
           {false, DType::tf32, f32, narrow(5, 6, 40)},
           {false, f32, f32, narrow(9, 70, 200)},  // sums of several slices
           {true, DType::f16, DType::f16, narrow_tn(70, 9, 129)},
       })
    expect_definition(c, all_of(c.shape.m), all_of(c.shape.n));
}

TEST(Reference, TakesSomeRowsAndColumns) {
  expect_definition({false, DType::f32, DType::f32, narrow(9, 8, 7, 1.0f, 2.0f)}, {0, 4, 8}, {7, 1});
}

TEST(Reference, DoesNotReadCWhereBetaIsZero) {
  const Variant variant = right_variant();
  const Shape shape = narrow(3, 3, 3);
  Matrices m(variant, shape);
  m.draw(variant, shape, InputKind::normal, 1);
  m.c.poison();
  const Reference reference({m.a, m.b, m.c, false, 1.0f, 0.0f, 3}, {0, 1, 2}, {0, 1, 2});
  for (std::size_t i = 0; i < reference.count(); ++i) EXPECT_TRUE(std::isfinite(reference.value()[i]));
}

}  // namespace
