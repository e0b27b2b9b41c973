// The tensor map and the box against what an H200 did: every copy of the recording, element by element. And what
// cuTensorMapEncodeTiled refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/asynchronous/tensor_box.h"
#include "core/asynchronous/tensor_map.h"
#include "recordings/copies.h"

namespace sim::test_tensor_box {
namespace {

constexpr uint64_t tensor_address = 1 << 20;

TiledTensor tensor_of(const RecordedCopy& copy) {
  static const std::map<std::string, TensorType> types = {{"u8", TensorType::u8},     {"u16", TensorType::u16},
                                                          {"u32", TensorType::u32},   {"f16", TensorType::f16},
                                                          {"bf16", TensorType::bf16}, {"f32", TensorType::f32}};
  static const std::map<int, Swizzle> swizzles = {
      {0, Swizzle::none}, {32, Swizzle::by_32}, {64, Swizzle::by_64}, {128, Swizzle::by_128}};
  TiledTensor tensor{.type = types.at(copy.type),
                     .rank = static_cast<uint32_t>(copy.sizes.size()),
                     .address = tensor_address,
                     .swizzle = swizzles.at(copy.swizzle),
                     .fill = copy.fill == "nan" ? Fill::nan : Fill::zeros};
  uint64_t stride = bytes_of(tensor.type);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    tensor.size[i] = static_cast<uint64_t>(copy.sizes[i]);
    tensor.box[i] = static_cast<uint32_t>(copy.box[i]);
    tensor.element_stride[i] = static_cast<uint32_t>(copy.element_strides[i]);
    stride *= tensor.size[i];
    if (i + 1 < tensor.rank) tensor.stride[i] = stride;
  }
  return tensor;
}

// The bits of the first filled element, with as many digits as the recording gives them.
std::string fill_digits(const TensorBox& box, TensorType type) {
  char digits[5];
  std::snprintf(digits, sizeof digits, "%04x", box.fill_bits());
  if (bytes_of(type) == 1) return digits + 2;
  return bytes_of(type) == 2 ? digits : std::string(digits) + digits;
}

TEST(TensorBox, MovesWhatTheRecordingSays) {
  std::ifstream file(TENSOR_COPIES_RECORDING);
  const std::vector<RecordedCopy> recorded = copies::read(file);
  ASSERT_EQ(recorded.size(), 213u);
  for (const RecordedCopy& copy : recorded) {
    TensorMap map;
    const auto refused = encode(tensor_of(copy), map);
    ASSERT_EQ(refused && refused->invalid, copy.status == "refused") << copy.id;
    if (refused) continue;
    Coordinates start{};
    std::copy(copy.start.begin(), copy.start.end(), start.begin());
    const TensorBox box(map, start);
    const bool stores = copy.operation != "load";
    EXPECT_EQ(box.starts_misaligned() || (stores && box.starts_before()), copy.status == "trap") << copy.id;
    if (copy.status == "trap") continue;
    EXPECT_EQ(box.bytes(), copy.box_bytes) << copy.id;

    const uint32_t bytes = bytes_of(map.type);
    std::vector<int64_t> memory(copy.memory.size(), RecordedCopy::UNTOUCHED);
    box.for_runs(0, [&](const BoxRun& run) {
      for (uint32_t at = 0; at < run.bytes; at += bytes) {
        const uint64_t global = (run.global - tensor_address + at) / bytes, shared = (run.shared + at) / bytes;
        EXPECT_LE(run.shared + run.bytes, box.shared_bytes());
        // The recording ends 128 bytes behind as many bytes as the box has: short rows of a wide span go beyond.
        if (!stores && shared < memory.size())
          memory[shared] = run.inside ? static_cast<int64_t>(global) : RecordedCopy::FILLED;
        else if (stores && run.inside)
          memory.at(global) = static_cast<int64_t>(shared);
      }
    });
    EXPECT_EQ(memory, copy.memory) << copy.id;
    if (!copy.fill_bits.empty()) {
      EXPECT_EQ(copy.fill_bits, fill_digits(box, map.type)) << copy.id;
    }
  }
}

// --- what is refused ---

TiledTensor usual() {
  return {.type = TensorType::bf16,
          .rank = 2,
          .address = 4096,
          .size = {100, 50},
          .stride = {208},
          .box = {64, 32},
          .element_stride = {1, 1},
          .swizzle = Swizzle::by_128};
}

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  TensorMap map;
  EXPECT_FALSE(encode(usual(), map));
  struct {
    void (*change)(TiledTensor&);
    const char* says;
  } const cases[] = {
      {[](TiledTensor& t) { t.type = static_cast<TensorType>(16); }, "tensorDataType"},
      {[](TiledTensor& t) { t.rank = 0; }, "tensorRank is 0"},
      {[](TiledTensor& t) { t.rank = 6; }, "tensorRank is 6"},
      {[](TiledTensor& t) { t.address += 8; }, "globalAddress"},
      {[](TiledTensor& t) { t.size[1] = 0; }, "globalDim[1] is 0"},
      {[](TiledTensor& t) { t.size[0] = (uint64_t{1} << 32) + 1; }, "globalDim[0] is 4294967297"},
      {[](TiledTensor& t) { t.stride[0] = 200; }, "globalStrides[0] is 200 bytes"},
      {[](TiledTensor& t) { t.stride[0] = uint64_t{1} << 40; }, "globalStrides[0]"},
      {[](TiledTensor& t) { t.box[1] = 257; }, "boxDim[1] is 257"},
      {[](TiledTensor& t) { t.box[0] = 0; }, "boxDim[0] is 0"},
      {[](TiledTensor& t) { t.box[0] = 60; }, "rows of 120 bytes; a multiple of 16"},
      {[](TiledTensor& t) { t.box[0] = 72; }, "at most 128"},
      {[](TiledTensor& t) { t.swizzle = Swizzle::by_32; }, "at most 32"},
      {[](TiledTensor& t) { t.swizzle = static_cast<Swizzle>(7); }, "swizzle is no"},
      {[](TiledTensor& t) { t.element_stride[1] = 0; }, "elementStrides[1] is 0"},
      {[](TiledTensor& t) { t.element_stride[0] = 9; }, "elementStrides[0] is 9"},
      {[](TiledTensor& t) { t.type = TensorType::u16, t.fill = Fill::nan; }, "UINT16"},
      {[](TiledTensor& t) { t.interleave = Interleave::by_16; }, "an interleaved tensor needs"},
      {[](TiledTensor& t) { t.interleave = static_cast<Interleave>(3); }, "interleave is no"},
      {[](TiledTensor& t) { t.promotion = static_cast<Promotion>(4); }, "l2Promotion"},
      {[](TiledTensor& t) { t.fill = static_cast<Fill>(2); }, "oobFill is no"},
  };
  for (const auto& each : cases) {
    TiledTensor tensor = usual();
    each.change(tensor);
    const auto refused = encode(tensor, map);
    ASSERT_TRUE(refused) << each.says;
    EXPECT_TRUE(refused->invalid) << each.says;
    EXPECT_NE(refused->why.find(each.says), std::string::npos) << refused->why;
  }
}

TEST(TensorMap, SaysWhatIsNotModelled) {
  TensorMap map;
  for (const auto change : {+[](TiledTensor& t) { t.type = TensorType::packed_6_align_16, t.box[0] = 32; },
                            +[](TiledTensor& t) { t.type = TensorType::tf32, t.box[0] = 32, t.fill = Fill::nan; },
                            +[](TiledTensor& t) { t.swizzle = Swizzle::by_128_atom_32; },
                            +[](TiledTensor& t) {
                              t.interleave = Interleave::by_16, t.rank = 3, t.size[2] = 1, t.box[2] = 1,
                              t.element_stride[2] = 1;
                            }}) {
    TiledTensor tensor = usual();
    change(tensor);
    const auto refused = encode(tensor, map);
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->invalid) << refused->why;
    EXPECT_NE(refused->why.find("does not model"), std::string::npos) << refused->why;
  }
}

TEST(TensorMap, OtherBytesAreNoMap) {
  TensorMap map;
  ASSERT_FALSE(encode(usual(), map));
  auto* const bytes = reinterpret_cast<std::byte*>(&map);
  ASSERT_TRUE(read_map(bytes));
  for (size_t at = 0; at < sizeof map; ++at) {
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(read_map(bytes)) << at;
    bytes[at] ^= std::byte{1};
  }
  EXPECT_EQ(read_map(bytes)->count(1), 32u);
}

// The GPU's tests of steps 25 and 26 showed it: a C of 67 columns had its 68th to 72nd written.
TEST(TensorBox, AStoreEndsWithSixteenBytes) {
  TiledTensor tensor{.type = TensorType::bf16, .rank = 2, .address = tensor_address};
  for (uint32_t i = 0; i < 2; ++i) tensor.size[i] = 67, tensor.box[i] = 64, tensor.element_stride[i] = 1;
  tensor.stride[0] = 144;
  TensorMap map;
  ASSERT_FALSE(encode(tensor, map));
  const auto bytes_inside = [&](int32_t column, RowEnd row_end) {
    uint32_t bytes = 0;
    TensorBox(map, {column, 66}, row_end).for_runs(0, [&](const BoxRun& run) { bytes += run.inside ? run.bytes : 0; });
    return bytes;
  };
  EXPECT_EQ(bytes_inside(64, RowEnd::element), 3 * 2u);
  EXPECT_EQ(bytes_inside(64, RowEnd::chunk), 8 * 2u);
  EXPECT_EQ(bytes_inside(0, RowEnd::chunk), 64 * 2u);
  EXPECT_EQ(bytes_inside(72, RowEnd::chunk), 0u);
}

TEST(TensorBox, HasFiveDimensionsAtMost) {
  TiledTensor tensor{.type = TensorType::u32,
                     .rank = 5,
                     .address = 4096,
                     .size = {8, 3, 3, 3, 3},
                     .stride = {32, 96, 288, 864},
                     .box = {4, 2, 2, 2, 2},
                     .element_stride = {1, 1, 1, 1, 2}};
  TensorMap map;
  ASSERT_FALSE(encode(tensor, map));
  const TensorBox box(map, {4, 1, 2, 0, 1});
  EXPECT_EQ(box.bytes(), 4u * 4 * 8);  // the last dimension's stride leaves one element of it
  std::vector<uint64_t> rows;
  box.for_runs(0, [&](const BoxRun& run) { rows.push_back(run.inside ? run.global - 4096 : ~uint64_t{0}); });
  const uint64_t first = 16 + 32 + 2 * 96 + 864, out = ~uint64_t{0};
  EXPECT_EQ(rows, (std::vector<uint64_t>{first, first + 32, out, out, first + 288, first + 320, out, out}));
}

// A tile that does not begin where the pattern does: the address decides, not the row.
TEST(TensorBox, TheSwizzleGoesByTheAddress) {
  TensorMap map;
  ASSERT_FALSE(encode(usual(), map));
  const TensorBox box(map, {});
  EXPECT_EQ(box.pattern_bytes(), 1024u);
  uint32_t first = 0, runs = 0;
  box.for_runs(256, [&](const BoxRun& run) { first = runs++ == 0 ? run.shared : first; });
  EXPECT_EQ(first, 256u ^ 32u);
}

}  // namespace
}  // namespace sim::test_tensor_box
