// How C is cut into tiles, and the order in which blocks walk them, at the ends of their ranges too.

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <utility>
#include <vector>

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

std::vector<int2> walked(int tile_rows, int tile_cols, int band_rows) {
  std::vector<int2> tiles(tile_rows * tile_cols);
  int2* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, tiles.size() * sizeof(int2)));
  walk<<<static_cast<unsigned>(tiles.size()), 1>>>(device, tile_rows, tile_cols, band_rows);
  CUDA_CHECK(cudaMemcpy(tiles.data(), device, tiles.size() * sizeof(int2), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(device));
  return tiles;
}

TEST(TileInBands, VisitsEveryTileOnceWhateverTheStride) {
  constexpr int BM = 128, ROWS = 10, COLS = 7;
  for (const int stride : {1, 128, 384, 512, 1280, 1 << 30, LARGEST}) {
    std::set<std::pair<int, int>> seen;
    for (const int2 tile : walked(ROWS, COLS, band_height(stride, 1024, BM, ROWS * BM - 5))) {
      EXPECT_TRUE(0 <= tile.x && tile.x < ROWS && 0 <= tile.y && tile.y < COLS) << stride;
      seen.insert({tile.x, tile.y});
    }
    EXPECT_EQ(seen.size(), ROWS * COLS) << stride;
  }
}

TEST(TileInBands, WalksABandColumnByColumn) {
  const std::vector<int2> tiles = walked(5, 2, 3);  // bands of three tile rows and of the two that are left
  const int rows[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 4}, cols[] = {0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(std::pair(tiles[i].x, tiles[i].y), std::pair(rows[i], cols[i])) << i;
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
