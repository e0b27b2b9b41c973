// The peaks in the terminal are those of the charts.

#include <gtest/gtest.h>

#include "common/harness/gpu.h"
#include "tests/cpp/host_gemm.h"

namespace {

Gpu gpu(const char* name, int multiprocessors) {
  Gpu made{};
  made.name = name;
  made.multiprocessors = multiprocessors;
  return made;
}

TEST(Peak, IsThatOfTheUnitsThatAVariantRunsOn) {
  const Gpu h200 = gpu("NVIDIA H200", 132);
  EXPECT_EQ(h200.peak_tflops(right_variant()), 66.9);
  EXPECT_EQ(h200.peak_tflops(right_variant<__half>()), 133.8);
  EXPECT_EQ(h200.peak_tflops(right_variant<__half>().on_tensor_cores()), 990);
  EXPECT_EQ(h200.peak_tflops(right_variant<__nv_bfloat16, float, float>().on_tensor_cores()), 990);
  EXPECT_EQ(h200.peak_tflops(right_variant<tf32_t, float, float>().on_tensor_cores()), 495);
}

TEST(Peak, IsFoundByTheNameThatTheDriverGives) {
  const Variant bf16 = right_variant<__nv_bfloat16, float, float>().on_tensor_cores();
  EXPECT_EQ(gpu("NVIDIA H100 80GB HBM3", 132).peak_tflops(bf16), 990);
  EXPECT_EQ(gpu("NVIDIA GeForce RTX 4090", 128).peak_tflops(bf16), 165.2);
  EXPECT_EQ(gpu("NVIDIA A100-SXM4-80GB", 108).peak_tflops(bf16), 312);
}

TEST(Peak, IsUnknownForAGpuOrATypeThatTheTableDoesNotHave) {
  EXPECT_EQ(gpu("Tesla P100", 56).peak_tflops(right_variant()), 0);
  EXPECT_EQ(gpu("NVIDIA H100 PCIe", 114).peak_tflops(right_variant()), 0) << "fewer multiprocessors than the H100 SXM";
  EXPECT_EQ(gpu("Tesla V100-SXM2-32GB", 80).peak_tflops(right_variant<__nv_bfloat16, float, float>()), 0);
}

}  // namespace
