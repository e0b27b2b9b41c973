// The peaks in the terminal are those of the charts.

#include <gtest/gtest.h>

#include "common/harness/gpu.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"

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

TEST(Peak, IsUnknownForAGpuOrATypeThatTheTableDoesNotHave) {
  EXPECT_EQ(gpu("Tesla P100", 56).peak_tflops(right_variant()), 0);
  EXPECT_EQ(gpu("NVIDIA H100 PCIe", 114).peak_tflops(right_variant()), 0) << "fewer multiprocessors than the H100 SXM";
  EXPECT_EQ(gpu("Tesla V100-SXM2-32GB", 80).peak_tflops(right_variant<__nv_bfloat16, float, float>()), 0);
}

Gpu of_capability(const char* name, int capability) {
  Gpu made = gpu(name, 1);
  made.capability = capability;
  return made;
}

TEST(Architecture, IsRefusedOnAnOlderGpuWithWhatWouldWork) {
  EXPECT_EQ(refusal([] { require_runs(of_capability("NVIDIA A100-SXM4-80GB", 80), "90"); }),
            "this step needs a GPU of compute capability 9.0 or newer, and NVIDIA A100-SXM4-80GB has 8.0; simulate "
            "another GPU");
  EXPECT_EQ(refusal([] { require_runs(of_capability("Tesla T4", 75), "80"); }),
            "this step needs a GPU of compute capability 8.0 or newer, and Tesla T4 has 7.5; simulate another GPU");
}

Variant taking(const char* name, int bytes) {
  Variant made = right_variant<__half>().tile(128, 128, 64).shared_memory(bytes);
  made.name = name;
  return made;
}

TEST(SharedMemory, IsHeldWhereABlockMayHaveAsMuch) {
  Gpu ada = gpu("NVIDIA GeForce RTX 4090", 128);
  EXPECT_TRUE(ada.holds(taking("large", 196608))) << "nobody asked the GPU yet";
  ada.shared_bytes = 101376;
  EXPECT_FALSE(ada.holds(taking("large", 101377)));
  EXPECT_TRUE(ada.holds(taking("square", 101376)));
  EXPECT_TRUE(ada.holds(right_variant()));
  EXPECT_EQ(too_large(ada, taking("large", 196608)),
            "variant large takes 196608 bytes of shared memory per block, and NVIDIA GeForce RTX 4090 has 101376");
}

}  // namespace
