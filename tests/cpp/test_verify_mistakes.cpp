// The verifier fails every mistake that a kernel could make in C.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpp/verified.h"

namespace {

TEST(Verifier, FailsOnNaN) {
  const Comparison found = with_mistake([](const Problem& p) { c_of(p, 7, 3) = NOT_A_NUMBER; });
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_EQ(found.row, 7);
  EXPECT_EQ(found.col, 3);
}

TEST(Verifier, FailsOnNaNInRandomInputsToo) {
  const Variant nan = wrong_variant(right_variant(), [](const Problem& p) { c_of(p, 0, 0) = NOT_A_NUMBER; });
  EXPECT_FALSE(checked(nan, narrow(40, 36, 33), InputKind::normal).passed);
}

TEST(Verifier, FailsOnOneProductLostInOneElementWhereverItIs) {
  for (const auto& [row, col, lost] : {std::tuple{0, 0, 0}, {39, 35, 32}, {17, 31, 16}}) {
    const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
      const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
      c_of(p, row, col) -= p.alpha * a[row * p.lda + lost] * b[lost * p.ldb + col];
    });
    const Comparison found = checked(variant, narrow(40, 36, 33), InputKind::exact);
    EXPECT_FALSE(found.passed) << row << ", " << col;
    EXPECT_EQ(found.wrong, 1u);
    EXPECT_EQ(found.row, row);
    EXPECT_EQ(found.col, col);
  }
}

TEST(Verifier, FailsOnAnUnwrittenElement) {
  const Variant unwritten = wrong_variant(right_variant(), [](const Problem&) {});
  Variant skips = unwritten;
  skips.launch = launching([right = right_variant().launch](const Problem& p, const LaunchOptions& o, cudaStream_t s) {
    const float kept = c_of(p, 39, 35);
    right(p, o, s);
    c_of(p, 39, 35) = kept;
  });
  for (float beta : {0.0f, 1.0f}) {
    const Comparison found = verified(skips, narrow(40, 36, 33, 1.0f, beta));
    EXPECT_FALSE(found.passed) << beta;
    EXPECT_EQ(found.row, 39);
    EXPECT_EQ(found.col, 35);
  }
}

TEST(Verifier, FailsOnCReadAlthoughBetaIsZero) {
  Variant reads = right_variant();
  reads.launch = launching([right = right_variant().launch](const Problem& p, const LaunchOptions& o, cudaStream_t s) {
    const float read = 0.0f * c_of(p, 2, 2);  // NaN, if C is poisoned as it should be
    right(p, o, s);
    c_of(p, 2, 2) += read;
  });
  const Comparison found = verified(reads, narrow(8, 8, 8));
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_TRUE(verified(reads, narrow(8, 8, 8, 1.0f, 0.5f)).passed) << "with beta, C may be read";
}

TEST(Verifier, FailsWhereAlphaOrBetaIsForgotten) {
  for (bool forget_alpha : {true, false}) {
    Variant forgets = right_variant();
    forgets.launch = launching([=, right = right_variant().launch](Problem p, const LaunchOptions& o, cudaStream_t s) {
      (forget_alpha ? p.alpha : p.beta) = 1.0f;
      right(p, o, s);
    });
    EXPECT_TRUE(verified(forgets, narrow(8, 8, 8, 1.0f, 1.0f)).passed);
    EXPECT_FALSE(verified(forgets, narrow(8, 8, 8, 0.7f, 0.3f)).passed);
    EXPECT_FALSE(verified(forgets, narrow(8, 8, 8, -0.5f, -1.0f)).passed);
  }
}

}  // namespace
