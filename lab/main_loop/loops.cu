#include <algorithm>
#include <memory>
#include <numeric>

#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/tensor_map.h"
#include "common/harness/memory.h"
#include "lab/main_loop/kernel.h"
#include "lab/main_loop/loops.h"
#include "lab/main_loop/operands.h"

namespace {

constexpr int ALL_BOXES = -1;

template <class Element>
constexpr const char* NAME = "bf16";
template <>
constexpr const char* NAME<half> = "f16";
template <>
constexpr const char* NAME<tf32_t> = "tf32";
template <>
constexpr const char* NAME<__nv_fp8_e4m3> = "e4m3";
template <>
constexpr const char* NAME<float> = "f32";
template <>
constexpr const char* NAME<uint32_t> = "f16";  // two sums

/// The two buffers that stages are filled from, with their tensor maps; all loops share them.
class Buffers {
 public:
  explicit Buffers(const BufferSizes& sizes)
      : l2_(sizes.l2_bytes), dram_(sizes.dram_bytes), l2_map(map_of(l2_)), dram_map(map_of(dram_)) {
    l2_.upload(operands<__nv_bfloat16>(sizes.l2_bytes / sizeof(__nv_bfloat16)).data());
    for (std::size_t at = 0; at < dram_.bytes(); at += l2_.bytes())  // the same numbers again and again
      CUDA_CHECK(cudaMemcpy(dram_.as<char>() + at, l2_.get(), std::min(l2_.bytes(), dram_.bytes() - at),
                            cudaMemcpyDeviceToDevice));
  }
  int l2_rows() const { return rows_of(l2_); }
  int dram_rows() const { return rows_of(dram_); }

 private:
  static int rows_of(const DeviceBuffer& buffer) { return static_cast<int>(buffer.bytes() / ROW_BYTES); }
  static CUtensorMap map_of(const DeviceBuffer& buffer) {
    constexpr int COLUMNS = ROW_BYTES / sizeof(__nv_bfloat16);
    return make_tensor_map(buffer.as<__nv_bfloat16>(), rows_of(buffer), COLUMNS, COLUMNS, BOX_ROWS, COLUMNS);
  }

  DeviceBuffer l2_, dram_;

 public:
  const CUtensorMap l2_map, dram_map;  // made in place: a temporary need not be aligned as the driver wants it
};

/// What one loop is asked for. `boxes`: that a stage receives, of 8 KB each; from_dram: of these.
struct Wanted {
  int boxes = 0, from_dram = 0;
  double zeros = 0;
};

template <class Element, class Sum, int ROWS = 128, int CLUSTER = 1>
MainLoop loop(const std::shared_ptr<const Buffers>& buffers, Wanted wanted = {}) {
  using Tile = BlockTile<ROWS>;
  constexpr int K = ROW_BYTES / sizeof(Element);
  if (wanted.boxes == ALL_BOXES) wanted.boxes = Tile::BOXES;
  if (wanted.from_dram == ALL_BOXES) wanted.from_dram = Tile::BOXES;
  const Traffic traffic{wanted.boxes, wanted.from_dram, buffers->l2_rows(), buffers->dram_rows()};
  int boxes_l2 = 0, boxes_dram = 0;  // that one block of a pair reads: what rank 0 does, the other does as well
  for (int box = 0; box < wanted.boxes; ++box)
    if (Tile::loads(box, 0, CLUSTER)) ++(box < wanted.from_dram ? boxes_dram : boxes_l2);

  const auto ring = ring_of_operands<Element>(STAGES, Tile::A_BYTES / sizeof(Element),
                                              (Tile::STAGE_BYTES - Tile::A_BYTES) / sizeof(Element), wanted.zeros);
  const std::shared_ptr<DeviceBuffer> resident = std::make_shared<DeviceBuffer>(Tile::SMEM_BYTES);
  resident->upload(ring.data());

  const auto kernel = main_loop<Element, Sum, ROWS, CLUSTER>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::SMEM_BYTES));
  const int blocks = CLUSTER * resident_clusters(kernel, CLUSTER, THREADS, Tile::SMEM_BYTES);
  const std::shared_ptr<DeviceBuffer> out =
      std::make_shared<DeviceBuffer>(sizeof(float) * blocks * CONSUMERS * WARPGROUP);

  MainLoop made;
  made.instruction = "wgmma.m64n" + std::to_string(Tile::BN) + "k" + std::to_string(K / K_STEPS);
  made.a = NAME<Element>;
  made.acc = NAME<Sum>;
  made.tile = std::to_string(Tile::BM) + "x" + std::to_string(Tile::BN);
  made.zeros = wanted.zeros;
  made.cluster = CLUSTER;
  made.blocks = blocks;
  made.flop = 2.0 * Tile::BM * Tile::BN * K;
  made.instructions = K_STEPS * Tile::MMAS_M;
  made.l2_bytes = std::size_t{BOX_BYTES} * boxes_l2;
  made.dram_bytes = std::size_t{BOX_BYTES} * boxes_dram;
  made.received_bytes = std::size_t{BOX_BYTES} * wanted.boxes;
  made.enqueue = [=](int slices, cudaStream_t stream) {
    launch_in_clusters(kernel, CLUSTER, blocks, THREADS, Tile::SMEM_BYTES, stream, buffers->l2_map, buffers->dram_map,
                       traffic, resident->as<const uint4>(), out->as<float>(), slices);
  };
  made.total = [=] {
    std::vector<float> totals(out->bytes() / sizeof(float));
    out->download(totals.data());
    return std::accumulate(totals.begin(), totals.begin() + CONSUMERS * WARPGROUP, 0.0);
  };
  static_assert(CHECKED_SLICES == STAGES + STAGES / 2);
  for (int stage = 0; stage < STAGES / 2; ++stage)
    made.expected_total += total_of_products(ring.data() + stage * ring.size() / STAGES, Tile::BM, Tile::BN);
  return made;
}

}  // namespace

std::vector<MainLoop> main_loops(const BufferSizes& sizes) {
  using bf16 = __nv_bfloat16;
  using pair = uint32_t;
  const auto from = std::make_shared<const Buffers>(sizes);
  std::vector<MainLoop> loops;

  // wgmma alone
  for (const double zeros : {0.0, 0.5, 0.75, 0.9, 1.0}) loops.push_back(loop<bf16, float>(from, {0, 0, zeros}));
  for (const double zeros : {0.0, 1.0}) {
    loops.push_back(loop<half, float>(from, {0, 0, zeros}));
    loops.push_back(loop<half, pair>(from, {0, 0, zeros}));
    loops.push_back(loop<tf32_t, float>(from, {0, 0, zeros}));
    loops.push_back(loop<__nv_fp8_e4m3, float>(from, {0, 0, zeros}));
  }

  // stages that come from the L2 cache
  for (const int boxes : {2, 3, 4, ALL_BOXES}) loops.push_back(loop<bf16, float>(from, {boxes}));
  loops.push_back(loop<bf16, float, 128, 2>(from, {ALL_BOXES}));
  for (const int boxes : {0, ALL_BOXES}) loops.push_back(loop<bf16, float, 256>(from, {boxes}));
  loops.push_back(loop<bf16, float, 256, 2>(from, {ALL_BOXES}));

  // some of it, or all, from beyond
  for (const int boxes : {1, 2, ALL_BOXES}) loops.push_back(loop<bf16, float>(from, {ALL_BOXES, boxes}));
  loops.push_back(loop<bf16, float, 128, 2>(from, {ALL_BOXES, ALL_BOXES}));
  loops.push_back(loop<bf16, float, 256>(from, {ALL_BOXES, ALL_BOXES}));
  loops.push_back(loop<bf16, float, 256, 2>(from, {ALL_BOXES, ALL_BOXES}));
  return loops;
}
