// What a simulated GPU is and refuses, of whichever PTXSIM_DEVICE names. test_devices.py runs this for each.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "fat_binary.h"
#include "session/gemm_sim.h"

namespace test_devices {

using sim::testing::FatBinary;
using sim::testing::text;

struct Expected {
  const char* key;
  int capability, multiprocessors, shared_kb, shared_kb_per_multiprocessor, threads_per_multiprocessor;
};
constexpr Expected expected[] = {
    {"h200", 90, 132, 227, 228, 2048},   {"h100", 90, 132, 227, 228, 2048},    {"b200", 100, 148, 227, 228, 2048},
    {"a100", 80, 108, 163, 164, 2048},   {"orin", 87, 16, 163, 164, 1536},     {"rtx3090", 86, 82, 99, 100, 1536},
    {"rtx4090", 89, 128, 99, 100, 1536}, {"rtx5090", 120, 170, 99, 100, 1536}, {"gb10", 121, 48, 99, 100, 1536}};

const Expected& here() {
  const char* const named = std::getenv("PTXSIM_DEVICE");
  for (const Expected& each : expected)
    if (named && each.key == std::string(named)) return each;
  return expected[0];
}

int attribute(cudaDeviceAttr which) {
  int value = -1;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess);
  return value;
}

class Device : public sim::testing::KernelTest {
 protected:
  void SetUp() override { ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), 8192), cudaSuccess); }
  void TearDown() override {
    cudaFree(out);
    cudaGetLastError();
    gemmSimReset();
  }

  cudaError_t launch(unsigned threads = 32, size_t shared = 0, unsigned cluster = 0) {
    return KernelTest::launch(8, threads, out, shared, cluster);
  }
  static std::string reports() { return gemmSimReport(); }

  uint32_t* out = nullptr;
};

TEST_F(Device, IsWhatTheTableSays) {
  const Expected& e = here();
  EXPECT_EQ(10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor),
            e.capability);
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), e.multiprocessors);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlock), 48 << 10);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), e.shared_kb << 10);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor), e.shared_kb_per_multiprocessor << 10);
  EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerMultiProcessor), e.threads_per_multiprocessor);
  EXPECT_EQ(attribute(cudaDevAttrMaxRegistersPerBlock), 64 << 10);
  EXPECT_EQ(attribute(cudaDevAttrClusterLaunch), e.capability >= 90);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(10 * properties.major + properties.minor, e.capability);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, size_t(e.shared_kb) << 10);
  EXPECT_EQ(properties.multiProcessorCount, e.multiprocessors);
  const bool named = std::getenv("PTXSIM_DEVICE") != nullptr;
  EXPECT_EQ(std::string(properties.name) != "PTX simulator", named) << properties.name;
}

TEST_F(Device, RefusesMoreSharedMemoryThanABlockCanHave) {
  constexpr int fixed = 16;  // of the kernel
  FatBinary binary(text("", fixed));
  use(binary);
  const int most = (here().shared_kb << 10) - fixed;
  const auto asked = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(launch(32, 64 << 10), cudaErrorInvalidValue) << "without opting in";
  EXPECT_EQ(cudaFuncSetAttribute(&key, asked, most + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(&key, asked, most), cudaSuccess);
  EXPECT_EQ(launch(32, static_cast<size_t>(most)), cudaSuccess);
  EXPECT_EQ(launch(32, static_cast<size_t>(most) + 1), cudaErrorInvalidValue);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &key, 32, 40 << 10), cudaSuccess);
  EXPECT_EQ(blocks, here().shared_kb_per_multiprocessor / 42);  // 40 KB, the kernel's 16 bytes, 1 KB of the system's
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &key, 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, here().threads_per_multiprocessor / 1024);
}

TEST_F(Device, RefusesPtxOfNewerAndOfOtherGpus) {
  constexpr uint64_t plain = 0x11, specific = 0x100011;
  const int capability = here().capability;
  for (const uint32_t target : {80, 86, 87, 89, 90, 100, 120, 121}) {
    for (const bool exact : {false, true}) {
      const bool runs = exact ? static_cast<int>(target) == capability : static_cast<int>(target) <= capability;
      FatBinary binary(text(), exact ? specific : plain, target);
      use(binary);
      gemmSimReset();
      EXPECT_EQ(launch(), runs ? cudaSuccess : cudaErrorNoKernelImageForDevice) << target << (exact ? "a" : "");
      const std::string name = "compute_" + std::to_string(target) + (exact ? "a" : "");
      EXPECT_EQ(reports().find("is for " + name + ", which the simulated GPU") == std::string::npos, runs) << reports();
      key = 0;
    }
  }
  std::string family = text();
  family.replace(family.find("sm_80"), 5, "sm_120f");
  FatBinary binary(family, plain, 120);
  use(binary);
  EXPECT_EQ(launch(), capability / 10 == 12 ? cudaSuccess : cudaErrorNoKernelImageForDevice);
}

TEST_F(Device, RefusesClustersWhereThereAreNone) {
  FatBinary binary(text());
  use(binary);
  EXPECT_EQ(launch(32, 0, 1), cudaSuccess);
  const bool has_clusters = here().capability >= 90;
  EXPECT_EQ(launch(32, 0, 4), has_clusters ? cudaSuccess : cudaErrorInvalidClusterSize);
  EXPECT_EQ(reports().find("clusters need compute capability 9.0") == std::string::npos, has_clusters) << reports();
}

TEST_F(Device, RefusesTooManyThreads) {
  FatBinary binary(text());
  use(binary);
  EXPECT_EQ(launch(1024), cudaSuccess);
  EXPECT_EQ(launch(1025), cudaErrorInvalidValue);
}

}  // namespace test_devices
