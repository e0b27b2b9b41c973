// The baseline's types, and what is said where its library is missing.

#include <gtest/gtest.h>

#include "common/harness/baseline.h"
#include "common/harness/shared_library.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"

namespace {

void expect_types(const Variant& variant, cudaDataType ab, cudaDataType out, cudaDataType scale,
                  cublasComputeType_t compute, BaselineKind kind = BaselineKind::cublas) {
  const LibraryTypes types = library_types(variant, kind);
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
}

TEST(BaselineTypes, OfBytesAreIntegersOrFP8) {
  expect_types(right_variant<std::int8_t, int, int>(), CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
  const Variant mixed = right_variant<__nv_fp8_e5m2, float, __nv_bfloat16>().b_of(DType::e4m3);
  expect_types(mixed, CUDA_R_8F_E5M2, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, BaselineKind::cublaslt);
  EXPECT_EQ(library_types(mixed, BaselineKind::cublaslt).b, CUDA_R_8F_E4M3);
  EXPECT_EQ(*static_cast<const int*>(Scalar(-2.0f, CUDA_R_32I).get()), -2);
  EXPECT_EQ(refusal([] { Scalar(0.5f, CUDA_R_32I); }),
            "the libraries scale sums of integers by integers alone; use --baseline none");
}

using Kinds = std::vector<BaselineKind>;
constexpr BaselineKind CUBLAS = BaselineKind::cublas, CUBLASLT = BaselineKind::cublaslt,
                       F32_SUMS = BaselineKind::cublas_f32_sums, F16_SUMS = BaselineKind::cublas_f16_sums;

TEST(Baselines, AreWhatIsAskedFor) {
  for (const Variant& variant : {right_variant<__half>(), right_variant<__half>().on_tensor_cores()}) {
    EXPECT_EQ(baselines_for(BaselineChoice::none, variant, true), Kinds{});
    EXPECT_EQ(baselines_for(BaselineChoice::cublas, variant, true), Kinds{CUBLAS});
    EXPECT_EQ(baselines_for(BaselineChoice::cublaslt, variant, true), Kinds{CUBLASLT});
    EXPECT_EQ(baselines_for(BaselineChoice::both, variant, true), (Kinds{CUBLAS, CUBLASLT}));
    EXPECT_EQ(baselines_for(BaselineChoice::cublas_f32_sums, variant, false), Kinds{F32_SUMS});
  }
}

TEST(Baselines, OfFP8AreTheCallsOfCublasLt) {
  Variant variant = right_variant<__nv_fp8_e4m3, float, __nv_bfloat16>().on_tensor_cores();
  EXPECT_EQ(baselines_for(BaselineChoice::standard, variant, true), Kinds{CUBLASLT});
  EXPECT_EQ(baselines_for(BaselineChoice::both, variant, true), Kinds{CUBLASLT});
  variant.acc = DType::f22;  // sums that stay in the tensor core have two calls beside them
  for (const BaselineChoice choice : {BaselineChoice::standard, BaselineChoice::both, BaselineChoice::all})
    EXPECT_EQ(baselines_for(choice, variant, true), (Kinds{CUBLASLT, BaselineKind::cublaslt_fast_sums}));
  EXPECT_EQ(refusal([&] { baselines_for(BaselineChoice::cublas, variant, true); }),
            "variant right multiplies e4m3, which cuBLAS does in cublasLt alone; use --baseline cublaslt");
}

TEST(Baselines, OfTensorCoresAreBothLibrariesAndForADefaultWithFP16SumsFP32SumsToo) {
  const auto standard = [](const Variant& variant, bool is_default) {
    return baselines_for(BaselineChoice::standard, variant, is_default);
  };
  EXPECT_EQ(standard(right_variant<__half>(), true), Kinds{CUBLAS});
  const Variant f16 = right_variant<__half>().on_tensor_cores();
  EXPECT_EQ(standard(f16, true), (Kinds{CUBLAS, CUBLASLT, F32_SUMS}));
  EXPECT_EQ(standard(f16, false), (Kinds{CUBLAS, CUBLASLT}));
  const Variant f32_sums = right_variant<__half, float, __half>().on_tensor_cores();
  EXPECT_EQ(standard(f32_sums, true), (Kinds{CUBLAS, CUBLASLT}));
}

TEST(Baselines, AreAllThatMultiplyTheSameMatrices) {
  const auto all = [](const Variant& variant) { return baselines_for(BaselineChoice::all, variant, false); };
  EXPECT_EQ(all(right_variant<__half>()), (Kinds{CUBLAS, CUBLASLT, F32_SUMS}));
  EXPECT_EQ(all(right_variant<__half, float, __half>()), (Kinds{CUBLAS, CUBLASLT, F16_SUMS}));
  EXPECT_EQ(all(right_variant<__nv_bfloat16, float, __nv_bfloat16>()), (Kinds{CUBLAS, CUBLASLT}));
  EXPECT_FALSE(may_be_best(F16_SUMS)) << "it is shown beside FP32 sums, and does not count as the best library call";
  EXPECT_FALSE(may_be_best(BaselineKind::cutlass)) << "it is compiled here, and is no library's call";
  EXPECT_TRUE(may_be_best(F32_SUMS));
}

TEST(Baselines, WithFP16SumsAreForFP16MatricesSummedInFP32) {
  const Variant bf16 = right_variant<__nv_bfloat16, float, __nv_bfloat16>(), f16 = right_variant<__half>();
  EXPECT_EQ(baselines_for(BaselineChoice::cublas_f16_sums, right_variant<__half, float, __half>(), false),
            Kinds{F16_SUMS});
  EXPECT_EQ(refusal([&] { baselines_for(BaselineChoice::cublas_f16_sums, bf16, true); }),
            "variant right multiplies bf16 with sums in f32: --baseline cublas_f16_sums is for f16 with sums in f32; "
            "use --baseline cublas");
  EXPECT_EQ(refusal([&] { baselines_for(BaselineChoice::cublas_f16_sums, f16, true); }),
            "variant right multiplies f16 with sums in f16: --baseline cublas_f16_sums is for f16 with sums in f32; "
            "use --baseline cublas");
}

TEST(Baselines, WithCutlassAreRefusedWhereItIsNotBuilt) {  // beside this executable there is no such module
  EXPECT_EQ(refusal([] { baselines_for(BaselineChoice::cutlass, right_variant(), true); }),
            "--baseline cutlass: CUTLASS is not built; run: pip install --no-deps nvidia-cutlass, then: "
            "meson configure build -Dcutlass=package, then: meson compile -C build gemm_cutlass");
}

TEST(Baseline, IsRefusedInOneLineWhereItsLibraryIsMissing) {
  const SharedLibrary missing("libgemm-nowhere.so.13");
  EXPECT_FALSE(missing.loaded());
  EXPECT_EQ(refusal([&] { missing.function<void()>("anything"); }),
            "libgemm-nowhere.so.13: cannot load anything; is the CUDA Toolkit installed?");
}

}  // namespace
