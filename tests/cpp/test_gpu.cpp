// The table of peaks, against the figures that NVIDIA publishes.

#include <gtest/gtest.h>

#include "common/harness/gpu.h"

namespace {

Gpu gpu(int capability, int multiprocessors, double mhz) {
  Gpu made{};
  made.capability = capability;
  made.multiprocessors = multiprocessors;
  made.max_clock_mhz = mhz;
  return made;
}

TEST(Peak, OfTheH200) {
  const Gpu h200 = gpu(90, 132, 1980);
  EXPECT_NEAR(h200.peak_tflops(DType::f32), 66.9, 0.05);
  EXPECT_NEAR(h200.peak_tflops(DType::f16), 989.5, 1);
  EXPECT_NEAR(h200.peak_tflops(DType::bf16), 989.5, 1);
  EXPECT_NEAR(h200.peak_tflops(DType::tf32), 494.7, 0.5);
}

TEST(Peak, OfOtherGpus) {
  EXPECT_NEAR(gpu(70, 80, 1530).peak_tflops(DType::f32), 15.7, 0.05) << "V100";
  EXPECT_NEAR(gpu(80, 108, 1410).peak_tflops(DType::f32), 19.5, 0.05) << "A100";
  EXPECT_NEAR(gpu(80, 108, 1410).peak_tflops(DType::f16), 312, 0.5) << "A100";
  EXPECT_NEAR(gpu(80, 108, 1410).peak_tflops(DType::tf32), 156, 0.5) << "A100";
  EXPECT_NEAR(gpu(89, 128, 2520).peak_tflops(DType::f32), 82.6, 0.05) << "RTX 4090";
}

TEST(Peak, IsUnknownForAGpuThatTheTableDoesNotHave) { EXPECT_EQ(gpu(60, 56, 1480).peak_tflops(DType::f32), 0.0); }

}  // namespace
