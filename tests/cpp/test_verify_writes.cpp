// The verifier fails a kernel that writes where it must not, or that is right only sometimes.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpp/verified.h"

namespace {

TEST(Verifier, FailsWhereInputsAreWritten) {
  const auto message = [](const Mistake& mistake) { return with_mistake(mistake).message(); };
  EXPECT_EQ(message([](const Problem& p) { const_cast<float*>(static_cast<const float*>(p.a))[3] += 1.0f; }),
            "the kernel wrote to A, which it may only read");
  EXPECT_EQ(message([](const Problem& p) { const_cast<float*>(static_cast<const float*>(p.b))[35] = 0.0f; }),
            "the kernel wrote to B, which it may only read");
}

TEST(Verifier, FailsWhereCsPaddingIsWritten) {
  const Variant variant = wrong_variant(right_variant(), [](const Problem& p) { c_of(p, 1, p.n) = 0.0f; });
  for (float beta : {0.0f, 1.0f}) {
    const Comparison found = verified(variant, {8, 8, 8, 8, 8, 9, 1.0f, beta});
    EXPECT_FALSE(found.passed);
    EXPECT_EQ(found.message(), "the kernel wrote between C's last column and ldc");
  }
}

TEST(Verifier, NoticesAtTheNextRunWhatLaunchesInBetweenHaveWritten) {
  const Variant variant = right_variant();
  Verifier verifier(variant, narrow(8, 8, 8), VerifyMode::standard, 1);
  EXPECT_TRUE(verifier.run({}, nullptr).passed);
  EXPECT_TRUE(verifier.run({}, nullptr).passed);
  static_cast<float*>(verifier.matrices().b.data())[0] = 0.0f;
  EXPECT_EQ(verifier.run({}, nullptr).message(), "the kernel wrote to B, which it may only read");
}

TEST(Verifier, FailsOnWhatOnlyExactInputsShow) {
  const Variant variant = wrong_variant(right_variant(), [](const Problem& p) {
    c_of(p, 5, 5) = std::nextafter(c_of(p, 5, 5), INFINITY);  // far inside the tolerance of random inputs
  });
  EXPECT_TRUE(checked(variant, narrow(40, 36, 33), InputKind::normal).passed);
  EXPECT_FALSE(verified(variant, narrow(40, 36, 33)).passed);
}

TEST(Verifier, FailsOnWhatOnlyRandomInputsShow) {
  Variant variant = right_variant();
  variant.launch = launching([](const Problem& p, const LaunchOptions&, cudaStream_t) {  // computes in integers
    const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
    for (int row = 0; row < p.m; ++row)
      for (int col = 0; col < p.n; ++col) {
        int sum = 0;
        for (int k = 0; k < p.k; ++k)
          sum += static_cast<int>(a[row * p.lda + k]) * static_cast<int>(b[k * p.ldb + col]);
        c_of(p, row, col) = static_cast<float>(sum);
      }
  });
  EXPECT_TRUE(checked(variant, narrow(8, 8, 8), InputKind::exact).passed);
  EXPECT_FALSE(verified(variant, narrow(8, 8, 8)).passed);
}

}  // namespace
