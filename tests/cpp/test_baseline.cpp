// The baseline's types, and what is said where its library is missing.

#include <gtest/gtest.h>

#include "common/baseline.h"
#include "common/baseline_types.h"
#include "common/shared_library.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"

namespace {

void expect_types(const Variant& variant, cudaDataType ab, cudaDataType out, cudaDataType scale,
                  cublasComputeType_t compute) {
  const LibraryTypes types = library_types(variant);
  EXPECT_EQ(types.ab, ab);
  EXPECT_EQ(types.out, out);
  EXPECT_EQ(types.scale, scale);
  EXPECT_EQ(types.compute, compute);
}

TEST(BaselineTypes, AreTheVariantsOwn) {
  expect_types(right_variant(), CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_types(right_variant<__half>(), CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F);
  expect_types(right_variant<__half, float, __half>(), CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_types(right_variant<__nv_bfloat16, float, float>(), CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_types(right_variant<tf32_t, float, float>(), CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  expect_types(right_variant<double>(), CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F);
}

TEST(BaselineTypes, GiveAlphaInTheTypeThatTheLibraryReads) {
  EXPECT_EQ(*static_cast<const float*>(Scalar(0.3f, CUDA_R_32F).get()), 0.3f);
  EXPECT_EQ(to_double(*static_cast<const __half*>(Scalar(-1.5f, CUDA_R_16F).get())), -1.5);
  EXPECT_EQ(*static_cast<const double*>(Scalar(0.5f, CUDA_R_64F).get()), 0.5);
}

TEST(Baseline, OfNoneIsNothing) { EXPECT_EQ(make_baseline(BaselineKind::none, right_variant(), {}, nullptr), nullptr); }

TEST(Baseline, IsRefusedInOneLineWhereItsLibraryIsMissing) {
  const SharedLibrary missing("libgemm-nowhere.so.13");
  EXPECT_FALSE(missing.loaded());
  EXPECT_EQ(refusal([&] { missing.function<void()>("anything"); }),
            "libgemm-nowhere.so.13: cannot load anything; is the CUDA Toolkit installed?");
}

}  // namespace
