// The verifier passes what is right, in every type, and fails every mistake that a kernel could make.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/verify.h"
#include "tests/cpp/host_gemm.h"

namespace {

constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

Comparison verified(const Variant& variant, const Shape& shape, VerifyMode mode = VerifyMode::standard) {
  Verifier verifier(variant, shape, mode, 1);
  return verifier.run({}, nullptr);
}

Comparison checked(const Variant& variant, const Shape& shape, InputKind kind, VerifyMode mode = VerifyMode::standard) {
  Verifier verifier(variant, shape, mode, 1);
  return verifier.check(kind, {}, nullptr);
}

Comparison with_mistake(const Mistake& mistake, const Shape& shape = narrow(40, 36, 33)) {
  return verified(wrong_variant(right_variant(), mistake), shape);
}

// ---- what is right passes

void expect_right(const Variant& variant, const Shape& shape) {
  const Comparison found = verified(variant, shape);
  EXPECT_TRUE(found.passed) << found.message();
  EXPECT_EQ(found.wrong, 0u);
  EXPECT_GE(found.worst_of_bound, 0.0);
  EXPECT_LE(found.worst_of_bound, 1.0);
}

template <typename Types>
class RightIn : public testing::Test {};
template <typename AB, typename Acc, typename Out>
struct Triple {
  static Variant nn() { return right_variant<AB, Acc, Out>(); }
  static Variant tn() { return right_tn_variant<AB, Acc, Out>(); }
};
using EveryTriple =
    testing::Types<Triple<float, float, float>, Triple<__half, __half, __half>, Triple<__half, float, __half>,
                   Triple<__half, float, float>, Triple<__nv_bfloat16, float, __nv_bfloat16>,
                   Triple<__nv_bfloat16, float, float>, Triple<tf32_t, float, float>, Triple<double, double, double>>;
TYPED_TEST_SUITE(RightIn, EveryTriple);

TYPED_TEST(RightIn, SquareRectangularAndSingleElement) {
  expect_right(TypeParam::nn(), narrow(32, 32, 32));
  expect_right(TypeParam::nn(), narrow(17, 50, 129));
  expect_right(TypeParam::tn(), narrow_tn(50, 17, 64));
  expect_right(TypeParam::nn(), narrow(1, 1, 1));
}

TYPED_TEST(RightIn, LongSums) { expect_right(TypeParam::nn(), narrow(6, 5, 5000)); }

TYPED_TEST(RightIn, AlphaAndBeta) {
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 2.0f, -1.0f));
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 0.3f, 1.7f));
  expect_right(TypeParam::nn(), narrow(20, 21, 22, 0.0f, 1.0f));
  expect_right(TypeParam::tn(), narrow_tn(20, 21, 22, -1.5f, 0.5f));
}

TYPED_TEST(RightIn, WideLeadingDimensions) {
  expect_right(TypeParam::nn(), {9, 10, 11, 16, 13, 12, 1.0f, 0.0f});
  expect_right(TypeParam::tn(), {9, 10, 11, 16, 13, 12, 2.0f, 1.0f});
}

TEST(Verifier, RecordsHowFarResultsAreFromTheReference) {
  const Comparison found = verified(right_variant(), narrow(64, 64, 512));
  EXPECT_GT(found.error, 1e-8);
  EXPECT_LT(found.error, 1e-6);
  EXPECT_GT(found.worst_of_bound, 0.0);
  EXPECT_LT(found.worst_of_bound, 0.5);
}

// ---- mistakes

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

TEST(Verifier, FailsOnInfinity) {
  EXPECT_FALSE(with_mistake([](const Problem& p) { c_of(p, 0, 0) = -INFINITY; }).passed);
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

TEST(Verifier, FailsOnOneProductLostInHalfPrecision) {
  const Variant variant = wrong_variant(right_variant<__half, float, __half>(), [](const Problem& p) {
    const auto *a = static_cast<const __half*>(p.a), *b = static_cast<const __half*>(p.b);
    auto* c = static_cast<__half*>(p.c);
    int lost = 0;  // the first product that is not 0
    while (to_double(a[lost]) * to_double(b[lost * p.ldb]) == 0) ++lost;
    c[0] = from_double<__half>(to_double(c[0]) - p.alpha * to_double(a[lost]) * to_double(b[lost * p.ldb]));
  });
  EXPECT_FALSE(checked(variant, narrow(8, 8, 4096), InputKind::exact).passed);
}

TEST(Verifier, FailsOnOneUnitInTheLastPlaceOfAnExactResult) {
  const Variant up =
      wrong_variant(right_variant(), [](const Problem& p) { c_of(p, 5, 5) = std::nextafter(c_of(p, 5, 5), INFINITY); });
  const Comparison found = checked(up, narrow(40, 36, 33), InputKind::exact);
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
}

TEST(Verifier, FailsOnAnUnwrittenElement) {
  const Variant unwritten = wrong_variant(right_variant(), [](const Problem&) {});
  Variant skips = unwritten;
  skips.launch = [right = right_variant().launch](const Problem& p, const LaunchOptions& o, cudaStream_t s) {
    const float kept = c_of(p, 39, 35);
    right(p, o, s);
    c_of(p, 39, 35) = kept;
  };
  for (float beta : {0.0f, 1.0f}) {
    const Comparison found = verified(skips, narrow(40, 36, 33, 1.0f, beta));
    EXPECT_FALSE(found.passed) << beta;
    EXPECT_EQ(found.row, 39);
    EXPECT_EQ(found.col, 35);
  }
}

TEST(Verifier, FailsWhereNothingIsLaunched) {
  Variant idle = right_variant();
  idle.launch = [](const Problem&, const LaunchOptions&, cudaStream_t) {};
  EXPECT_EQ(verified(idle, narrow(4, 5, 6)).wrong, 20u);
}

TEST(Verifier, FailsOnCReadAlthoughBetaIsZero) {
  Variant reads = right_variant();
  reads.launch = [right = right_variant().launch](const Problem& p, const LaunchOptions& o, cudaStream_t s) {
    const float read = 0.0f * c_of(p, 2, 2);  // NaN, if C is poisoned as it should be
    right(p, o, s);
    c_of(p, 2, 2) += read;
  };
  const Comparison found = verified(reads, narrow(8, 8, 8));
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_TRUE(verified(reads, narrow(8, 8, 8, 1.0f, 0.5f)).passed) << "with beta, C may be read";
}

TEST(Verifier, FailsOnATransposedTile) {
  const Comparison found = with_mistake([](const Problem& p) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < i; ++j) std::swap(c_of(p, 16 + i, 8 + j), c_of(p, 16 + j, 8 + i));
  });
  EXPECT_FALSE(found.passed);
  EXPECT_GE(found.row, 16);
  EXPECT_LT(found.row, 20);
}

TEST(Verifier, FailsWhereBIsTakenInTheOtherLayout) {
  Variant other = right_variant();
  other.launch = right_tn_variant().launch;
  EXPECT_FALSE(verified(other, narrow(8, 8, 8)).passed);
}

TEST(Verifier, FailsWhereAlphaOrBetaIsForgotten) {
  for (bool forget_alpha : {true, false}) {
    Variant forgets = right_variant();
    forgets.launch = [=, right = right_variant().launch](Problem p, const LaunchOptions& o, cudaStream_t s) {
      (forget_alpha ? p.alpha : p.beta) = 1.0f;
      right(p, o, s);
    };
    EXPECT_TRUE(verified(forgets, narrow(8, 8, 8, 1.0f, 1.0f)).passed);
    EXPECT_FALSE(verified(forgets, narrow(8, 8, 8, 0.7f, 0.3f)).passed);
    EXPECT_FALSE(verified(forgets, narrow(8, 8, 8, -0.5f, -1.0f)).passed);
  }
}

TEST(Verifier, FailsWherePaddingIsTakenForElements) {
  Variant narrow_lda = right_variant();
  narrow_lda.launch = [right = right_variant().launch](Problem p, const LaunchOptions& o, cudaStream_t s) {
    p.lda = p.k;
    right(p, o, s);
  };
  EXPECT_TRUE(verified(narrow_lda, narrow(8, 8, 8)).passed);
  EXPECT_FALSE(verified(narrow_lda, {8, 8, 8, 9, 8, 8}).passed);
}

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

TEST(Verifier, NoticesAKernelThatIsRightOnlyOnce) {
  int launches = 0;
  const Variant variant = wrong_variant(right_variant(), [&](const Problem& p) {
    if (++launches > 2) c_of(p, 0, 0) += 1.0f;
  });
  Verifier verifier(variant, narrow(8, 8, 8), VerifyMode::standard, 1);
  EXPECT_TRUE(verifier.run({}, nullptr).passed);
  EXPECT_FALSE(verifier.run({}, nullptr).passed);
}

// ---- the tolerance of random inputs

TEST(Tolerance, IsTheBoundOfTheDesign) {
  const Tolerance f32 = tolerance_for(InputKind::normal, DType::f32, DType::f32, DType::f32);
  EXPECT_FALSE(f32.exact);
  EXPECT_EQ(f32.per_magnitude, 10 * 0x1p-24);
  EXPECT_EQ(f32.per_value, 0x1p-24);
  const Tolerance mixed = tolerance_for(InputKind::normal, DType::f16, DType::f32, DType::bf16);
  EXPECT_EQ(mixed.per_magnitude, 2 * 0x1p-11 + 8 * 0x1p-24);
  EXPECT_EQ(mixed.per_value, 0x1p-8);
  EXPECT_TRUE(tolerance_for(InputKind::exact, DType::f16, DType::f32, DType::f16).exact);
}

TEST(Tolerance, LetsNothingPassThatIsTwiceAsFar) {
  const Shape shape = narrow(4, 4, 64);
  const Variant off = wrong_variant(right_variant(), [](const Problem& p) {
    const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
    double magnitude = 0;
    for (int k = 0; k < p.k; ++k) magnitude += std::fabs(double{a[k]} * b[k * p.ldb]);
    c_of(p, 0, 0) += static_cast<float>(2 * 11 * 0x1p-24 * magnitude);
  });
  const Comparison found = checked(off, shape, InputKind::normal);
  EXPECT_FALSE(found.passed);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_NE(found.message().find("1 wrong element, the first at row 0, column 0: got "), std::string::npos);
  EXPECT_NE(found.message().find(" within "), std::string::npos);
}

// ---- samples

TEST(Sample, CrossesEveryBlockTileOf32By32) {
  const Shape shape = narrow(200, 170, 5);
  for (int tile_row = 0; tile_row < 200; tile_row += 32)
    for (int tile_col = 0; tile_col < 170; tile_col += 32) {
      const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
        for (int i = tile_row; i < std::min(tile_row + 32, p.m); ++i)
          for (int j = tile_col; j < std::min(tile_col + 32, p.n); ++j) c_of(p, i, j) += 1.0f;
      });
      EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << tile_row << ", " << tile_col;
    }
}

TEST(Sample, SeesOneWrongRowOrColumnAnywhere) {
  const Shape shape = narrow(100, 90, 5);
  for (int row = 0; row < 100; ++row) {
    const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
      for (int j = 0; j < p.n; ++j) c_of(p, row, j) += 1.0f;
    });
    EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << "row " << row;
  }
  for (int col = 0; col < 90; ++col) {
    const Variant variant = wrong_variant(right_variant(), [=](const Problem& p) {
      for (int i = 0; i < p.m; ++i) c_of(p, i, col) += 1.0f;
    });
    EXPECT_FALSE(verified(variant, shape, VerifyMode::sample).passed) << "column " << col;
  }
}

TEST(Sample, PassesWhatIsRight) {
  EXPECT_TRUE(verified(right_variant(), narrow(200, 170, 33), VerifyMode::sample).passed);
}

TEST(Off, ChecksNothing) {
  const Variant wrong = wrong_variant(right_variant(), [](const Problem& p) { c_of(p, 0, 0) = NOT_A_NUMBER; });
  EXPECT_TRUE(verified(wrong, narrow(8, 8, 8), VerifyMode::off).passed);
  EXPECT_TRUE(checked(wrong, narrow(8, 8, 8), InputKind::normal, VerifyMode::off).passed);
}

// ---- the memory that it needs

TEST(VerificationBytes, CountMatricesAndReferences) {
  const Variant half = right_variant<__half, float, float>();
  const Shape shape = narrow(100, 200, 300);
  const std::size_t matrices = 2 * (100 * 300 + 300 * 200) + 4 * 2 * 100 * 200;
  EXPECT_EQ(verification_bytes(half, shape, VerifyMode::off), matrices);
  EXPECT_EQ(verification_bytes(half, shape, VerifyMode::full), matrices + 2 * 2 * 8 * 100 * 200);
  EXPECT_LT(verification_bytes(half, shape, VerifyMode::sample), verification_bytes(half, shape, VerifyMode::full));
}

TEST(VerificationBytes, DoNotOverflowAtTheLargestMatrices) {
  const Shape shape = narrow(46340, 46340, 46340);
  const std::size_t elements = std::size_t{46340} * 46340;
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::off), 4 * 4 * elements);
  EXPECT_EQ(verification_bytes(right_variant(), shape, VerifyMode::full), (4 * 4 + 32) * elements);
  EXPECT_LT(verification_bytes(right_variant(), shape, VerifyMode::standard), 7 * 4 * elements)
      << "beyond 4096: samples";
}

}  // namespace
