// A launch in clusters, or early, reaches the kernel with everything that `<<<…>>>` would have given it.

#include <gtest/gtest.h>

#include <array>

#include "common/device/cluster_launch.h"
#include "common/device/launch_early.h"

namespace {

constexpr int GRID = 3, THREADS = 64, SHARED_BYTES = 1024;

struct Seen {
  int blocks, threads, shared_bytes, sum;
};
constexpr Seen MORE{0, 0, 0, 40};

// What each block was launched with; `sum` of a value and one that is passed by reference at the call.
__global__ void see_kernel(Seen* seen, int value, Seen more) {
  unsigned shared_bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (threadIdx.x == blockDim.x - 1)
    seen[blockIdx.x] = {static_cast<int>(gridDim.x), static_cast<int>(blockDim.x), static_cast<int>(shared_bytes),
                        value + more.sum};
}

class ClusterLaunch : public testing::Test {
 protected:
  void SetUp() override { CUDA_CHECK(cudaMalloc(&seen_, GRID * sizeof(Seen))); }
  void TearDown() override { cudaFree(seen_); }

  // That every block saw what a launch with 2 and MORE hands on.
  void expect_all_seen() const {
    std::array<Seen, GRID> found{};
    CUDA_CHECK(cudaMemcpy(found.data(), seen_, sizeof found, cudaMemcpyDeviceToHost));
    for (const Seen& block : found) {
      EXPECT_EQ(block.blocks, GRID);
      EXPECT_EQ(block.threads, THREADS);
      EXPECT_EQ(block.shared_bytes, SHARED_BYTES);
      EXPECT_EQ(block.sum, 42);
    }
  }

  Seen* seen_ = nullptr;
};

TEST_F(ClusterLaunch, HandsOnGridThreadsSharedMemoryAndArguments) {
  launch_in_clusters(see_kernel, 1, GRID, THREADS, SHARED_BYTES, nullptr, seen_, 2, MORE);
  expect_all_seen();
}

TEST_F(ClusterLaunch, EarlyOrNotHandsOnTheSame) {
  for (const bool early : {false, true}) {
    CUDA_CHECK(cudaMemset(seen_, 0, GRID * sizeof(Seen)));
    launch_early(early, see_kernel, 1, GRID, THREADS, SHARED_BYTES, nullptr, seen_, 2, MORE);
    expect_all_seen();
  }
}

TEST_F(ClusterLaunch, ThatCannotBeMadeNamesTheCall) {
  const auto launch = [&] { launch_in_clusters(see_kernel, 1, GRID, 2048, 0, nullptr, seen_, 2, Seen{}); };
  EXPECT_THROW(launch(), CudaError) << "no block has 2048 threads";
  cudaGetLastError();  // the next test begins without it
}

TEST(ClusterConfiguration, AsksForBlocksBesideEachOther) {
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t made = cluster_configuration(attribute, 2, 132, 384, 200 << 10, nullptr);
  ASSERT_EQ(made.numAttrs, 1u);
  EXPECT_EQ(made.attrs, &attribute);
  EXPECT_EQ(attribute.id, cudaLaunchAttributeClusterDimension);
  EXPECT_EQ(attribute.val.clusterDim.x, 2u);
  EXPECT_EQ(attribute.val.clusterDim.y * attribute.val.clusterDim.z, 1u);
  EXPECT_EQ(made.gridDim.x, 132u);
  EXPECT_EQ(made.blockDim.x, 384u);
  EXPECT_EQ(made.dynamicSmemBytes, 200u << 10);
}

}  // namespace
