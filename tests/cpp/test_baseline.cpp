// The baseline's types, and what is said where its library is missing.

#include <gtest/gtest.h>

#include "common/harness/baseline.h"
#include "common/harness/baseline_types.h"
#include "common/harness/shared_library.h"
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

TEST(Baselines, OfTensorCoresAreBothLibrariesUnlessOneIsAskedFor) {
  using Kinds = std::vector<BaselineKind>;
  constexpr BaselineKind cublas = BaselineKind::cublas, cublaslt = BaselineKind::cublaslt;
  const Variant cores = right_variant<__half>(), tensor_cores = right_variant<__half>().on_tensor_cores();
  EXPECT_EQ(baselines_for(BaselineChoice::standard, cores), Kinds{cublas});
  EXPECT_EQ(baselines_for(BaselineChoice::standard, tensor_cores), (Kinds{cublas, cublaslt}));
  for (const Variant& variant : {cores, tensor_cores}) {
    EXPECT_EQ(baselines_for(BaselineChoice::none, variant), Kinds{});
    EXPECT_EQ(baselines_for(BaselineChoice::cublas, variant), Kinds{cublas});
    EXPECT_EQ(baselines_for(BaselineChoice::cublaslt, variant), Kinds{cublaslt});
    EXPECT_EQ(baselines_for(BaselineChoice::both, variant), (Kinds{cublas, cublaslt}));
  }
}

TEST(Baseline, IsRefusedInOneLineWhereItsLibraryIsMissing) {
  const SharedLibrary missing("libgemm-nowhere.so.13");
  EXPECT_FALSE(missing.loaded());
  EXPECT_EQ(refusal([&] { missing.function<void()>("anything"); }),
            "libgemm-nowhere.so.13: cannot load anything; is the CUDA Toolkit installed?");
}

}  // namespace
