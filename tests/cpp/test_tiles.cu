// How C is cut into tiles, and the order in which blocks walk them, at the ends of their ranges too.

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "common/device/tiles.h"

namespace {

constexpr int LARGEST = std::numeric_limits<int>::max();

TEST(CeilDiv, RoundsUpAndDoesNotOverflow) {
  EXPECT_EQ(ceil_div(1, 128), 1);
  EXPECT_EQ(ceil_div(128, 128), 1);
  EXPECT_EQ(ceil_div(129, 128), 2);
  EXPECT_EQ(ceil_div(LARGEST, 1), LARGEST);
  EXPECT_EQ(ceil_div(LARGEST, 128), 16777216);
  EXPECT_EQ(ceil_div(LARGEST, LARGEST), 1);
}

TEST(BandHeight, IsTheStrideInTiles) {
  EXPECT_EQ(band_height(0, 1024, 128, 8192), 8) << "the step's own";
  EXPECT_EQ(band_height(512, 1024, 128, 8192), 4);
  EXPECT_EQ(band_height(513, 1024, 128, 8192), 5);
  EXPECT_EQ(band_height(1, 1024, 128, 8192), 1);
}

TEST(BandHeight, IsNeverMoreThanAllTiles) {
  EXPECT_EQ(band_height(4096, 1024, 128, 300), 3);
  EXPECT_EQ(band_height(0, 1024, 128, 1), 1);
  EXPECT_EQ(band_height(LARGEST, 1024, 128, 300), 3);
  EXPECT_EQ(band_height(LARGEST, 1024, 1, 300), 300);
  EXPECT_EQ(band_height(1 << 30, 1024, 128, LARGEST), 1 << 23);
  EXPECT_EQ(band_height(LARGEST, 1024, 128, LARGEST), 1 << 24);
}

__global__ void walk(int2* tiles, int tile_rows, int tile_cols, int band_rows) {
  tiles[blockIdx.x] = tile_in_bands(blockIdx.x, tile_rows, tile_cols, band_rows);
}

TEST(TileInBands, WalksABandColumnByColumn) {
  const std::pair<int, int> wanted[] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}, {4, 0}, {3, 1}, {4, 1}};
  int2 tiles[10], *device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, sizeof tiles));
  walk<<<10, 1>>>(device, 5, 2, 3);  // bands of three tile rows and of the two that are left
  CUDA_CHECK(cudaMemcpy(tiles, device, sizeof tiles, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(device));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(std::pair(tiles[i].x, tiles[i].y), wanted[i]) << i;
}

TEST(Cheapest, CountsWholeWaves) {
  const int all = multiprocessors_here();
  const TileCost<int> ways[] = {{128, 256, 1.0, 2.0, 0}, {128, 128, 0.5, 1.5, 1}};
  // A wave of large tiles: 10 + 2 against two waves of 5 + 1.5. One small tile less than a wave of them: 12
  // against 6.5.
  EXPECT_EQ(cheapest(ways, 128, 256 * all, 10).launch, 0);
  EXPECT_EQ(cheapest(ways, 128, 128 * all, 10).launch, 1);
  EXPECT_EQ(cheapest(ways, 128, 128 * all + 1, 10).launch, 0);
  EXPECT_EQ(cheapest(ways, 128, 256 * all, 2).launch, 0);  // 2 + 2 against 2 · 2.5
}

}  // namespace
