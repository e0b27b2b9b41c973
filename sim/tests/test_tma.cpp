// TMA in kernels: copies of tensors and bulk copies, what they wait for, and the mistakes that they must report.
#include <functional>

#include "core/asynchronous/tensor_box.h"
#include "stored_map.h"

namespace sim::testing::test_tma {
namespace {

using Halves = std::vector<uint16_t>;
using Words = std::vector<uint32_t>;

constexpr uint32_t width = 40, height = 24, box_width = 32, box_height = 8, box_bytes = 2 * box_width * box_height;

Tensor<uint16_t> numbered() {
  Tensor<uint16_t> tensor(width * height);
  for (uint32_t i = 0; i < width * height; ++i) tensor.at(i) = static_cast<uint16_t>(i + 1);
  return tensor;
}

template <class T>
TiledTensor tiled(Tensor<T>& tensor, TensorType type, Swizzle swizzle = Swizzle::none) {
  return {.type = type,
          .rank = 2,
          .address = reinterpret_cast<uint64_t>(tensor.data()),
          .size = {width, height},
          .stride = {width * sizeof(T)},
          .box = {box_width, box_height},
          .element_stride = {1, 1},
          .swizzle = swizzle};
}

// --- loads ---

// What a thread does to load a box: %d1 the map, %r5 and %r6 the coordinates, `tile` and `full` in shared memory.
const std::string load =
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1, {%r5, %r6}], [full];\n";
const std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;\n";
const std::string wait = "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n@!%p3 bra wait;\n";

// p0: the map; p1: where each thread stores two of the tile's words; p2: the coordinates.
const std::string start =
    ".shared .align 1024 .b8 tile[1024];\n.shared .align 8 .b64 full;\nld.param.u64 %d1, [p0];\n"
    "ld.param.u64 %d2, [p1];\nld.param.u64 %d3, [p2];\nmov.u32 %r1, %tid.x;\nld.global.v2.u32 {%r5, %r6}, [%d3];\n"
    "setp.ne.u32 %p1, %r1, 0;\nmul.wide.u32 %d4, %r1, 8;\nadd.u64 %d2, %d2, %d4;\nmov.u32 %r2, tile;\n"
    "shl.b32 %r3, %r1, 3;\nadd.u32 %r3, %r3, %r2;\n@%p1 bra ready;\nmbarrier.init.shared::cta.b64 [full], 1;\n"
    "fence.mbarrier_init.release.cluster;\nready:\nbar.sync 0;\n";
const std::string keep = "ld.shared.v2.u32 {%r8, %r9}, [%r3];\nst.global.v2.u32 [%d2], {%r8, %r9};\n";

// Thread 0 does `issue`, then all do `then`.
std::string loading(const std::string& issue, const std::string& then) {
  return start + "@%p1 bra issued;\n" + issue + "issued:\n" + then;
}

struct Loaded : Ran {
  Halves tile;
};

constexpr uint32_t threads = 64;  // each keeps 8 bytes of a tile of 512

Loaded loaded(const std::string& body, Maps maps, Tensor<uint16_t>& tensor, std::vector<int32_t> at,
              uint64_t seed = 0) {
  Words out(threads * 2);
  Ran ran = run(kernel(body, 3), {.block = {threads, 1, 1}, .seed = seed}, maps, out, at, tensor);
  Halves tile(box_width * box_height);
  std::memcpy(tile.data(), out.data(), box_bytes);
  return {std::move(ran), std::move(tile)};
}

// The element of the box that lies at this place of the tile: the 16-byte pieces of a row of 64 bytes change places by
// the two bits of the address above the row's pair.
uint32_t element_at(uint32_t place, Swizzle swizzle) {
  if (swizzle == Swizzle::none) return place;
  const uint32_t row = place / box_width, piece = place % box_width / 8;
  return row * box_width + (piece ^ (row / 2 % 4)) * 8 + place % 8;
}

TEST(Tma, LoadsABoxUnderEverySchedule) {
  Tensor<uint16_t> tensor = numbered();
  const std::vector<int32_t> places[] = {{0, 0}, {8, 5}, {16, 20}, {-8, -3}};
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::by_64}) {
    const Maps maps = stored(tiled(tensor, TensorType::u16, swizzle));
    for (const auto& at : places) {
      for (uint64_t seed = 0; seed < 6; ++seed) {
        const Loaded result = clean(loaded(loading(expect + load, wait + keep), maps, tensor, at, seed));
        for (uint32_t place = 0; place < result.tile.size(); ++place) {
          const uint32_t element = element_at(place, swizzle);
          const int32_t x = at[0] + static_cast<int32_t>(element % box_width),
                        y = at[1] + static_cast<int32_t>(element / box_width);
          const bool inside = x >= 0 && y >= 0 && x < static_cast<int32_t>(width) && y < static_cast<int32_t>(height);
          ASSERT_EQ(result.tile[place], inside ? y * static_cast<int32_t>(width) + x + 1 : 0) << place;
        }
      }
    }
  }
}

// As an H200 did it: to nearest, ties to even, with subnormals; any NaN becomes one. Where flushing is asked for, too.
TEST(Tma, RoundsToTf32OnTheWay) {
  constexpr uint32_t pairs[][2] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},  // below, at and above half
      {0x3f803000, 0x3f804000}, {0xbf803000, 0xbf804000}, {0x3fffffff, 0x40000000},
      {0x00001000, 0x00000000}, {0x00003000, 0x00004000}, {0x80000fff, 0x80000000},  // subnormal
      {0x7f7fffff, 0x7f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000},
      {0x7f800001, 0x7fffe000}, {0xffc00000, 0x7fffe000}};
  Tensor<uint16_t> tensor(width * height);
  for (uint32_t i = 0; i < std::size(pairs); ++i) {
    tensor.at(2 * i) = static_cast<uint16_t>(pairs[i][0]);
    tensor.at(2 * i + 1) = static_cast<uint16_t>(pairs[i][0] >> 16);
  }
  for (const TensorType type : {TensorType::tf32, TensorType::tf32_flushed, TensorType::f32_flushed}) {
    TiledTensor wanted = tiled(tensor, type);
    wanted.size[0] = width / 2, wanted.box[0] = box_width / 2;
    const Loaded result = clean(loaded(loading(expect + load, wait + keep), stored(wanted), tensor, {0, 0}));
    for (uint32_t i = 0; i < std::size(pairs); ++i)
      EXPECT_EQ(result.tile[2 * i] | uint32_t{result.tile[2 * i + 1]} << 16,
                pairs[i][type == TensorType::f32_flushed ? 0 : 1])
          << name(type) << " " << i;
  }
}

TEST(Tma, FillsWithNaN) {
  Tensor<uint16_t> tensor = numbered();
  TiledTensor wanted = tiled(tensor, TensorType::bf16);
  wanted.fill = Fill::nan;
  const Loaded result = clean(loaded(loading(expect + load, wait + keep), stored(wanted), tensor, {32, 0}));
  EXPECT_EQ(result.tile[7], 40u);
  EXPECT_EQ(result.tile[8], nan_fill);
}

// Rows of 32 bytes in a pattern of 128, of which the tensor's edge leaves 26: what lies between the rows stays as it
// was.
TEST(Tma, ShortRowsOfAWideSwizzle) {
  Tensor<uint16_t> tensor = numbered();
  TiledTensor wanted = tiled(tensor, TensorType::u16, Swizzle::by_128);
  wanted.size[0] = 37;
  wanted.box[0] = 16;
  const std::string clear =
      "st.shared.v2.u32 [%r3], {0, 0};\nst.shared.v2.u32 [%r3+512], {0, 0};\nfence.proxy.async.shared::cta;\n"
      "bar.sync 0;\n@%p1 bra issued;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;\n";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Loaded result =
        clean(loaded(start + clear + load + "issued:\n" + wait + keep, stored(wanted), tensor, {24, 1}, seed));
    EXPECT_EQ(result.total().bulk_bytes, 8u * 26);
    EXPECT_EQ(result.total().bulk_delivered, 256u);
    for (uint32_t place = 0; place < result.tile.size(); ++place) {  // four rows
      const uint32_t row = place / 64, column = ((place % 64 / 8) ^ row) * 8 + place % 8;
      EXPECT_EQ(result.tile[place], column < 13 ? (row + 1) * width + 24 + column + 1 : 0) << place;
    }
  }
}

// Every way to write a load, and where a map may be: as a parameter, and in global memory.
TEST(Tma, IsWrittenInSeveralWays) {
  Tensor<uint16_t> tensor = numbered();
  const Maps maps = stored(tiled(tensor, TensorType::u16));
  for (
      const std::string& written : std::initializer_list<std::string>{
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%d1, {%r5, %r6}], "
          "[full];\n",
          "createpolicy.fractional.L2::evict_first.b64 %d9, "
          "0f3F800000;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
          "bytes.L2::cache_hint [tile], [%d1, {%r5, %r6}], [full], %d9;\n",
          "mov.u32 %r10, tile;\nmov.u32 %r11, full;\ncp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::"
          "bytes [%r10], [%d1, {%r5, 3}], [%r11];\n",
          "mov.b16 %h1, 1;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
          "cluster [tile], [%d1, {%r5, %r6}], [full], %h1;\n",
          "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;\nprefetch.tensormap "
          "[%d1];\ncp.async.bulk.prefetch.tensor.2d.L2.global [%d1, {%r5, %r6}];\n" +
              load}) {
    const Loaded result = loaded(loading(expect + written, wait + keep), maps, tensor, {8, 3});
    EXPECT_TRUE(result.reports.empty()) << result.text() << written;
    EXPECT_EQ(result.tile[0], 3 * width + 8 + 1);
  }
}

TEST(Tma, CountsRequestsBytesAndSectors) {
  Tensor<uint16_t> tensor = numbered();
  const Loaded result =
      loaded(loading(expect + load, wait + keep), stored(tiled(tensor, TensorType::u16)), tensor, {16, 20});
  const Tally total = result.total();
  EXPECT_EQ(total.bulk_requests, 1u);
  EXPECT_EQ(total.bulk_bytes, 4u * 24 * 2);  // four rows, 24 elements of each, are inside
  EXPECT_EQ(total.bulk_delivered, box_bytes);
  // Rows of 48 bytes that begin at 80·y + 32: two sectors each where that begins one, else three, and two where the
  // row ends with the sector.
  uint64_t sectors = 0;
  for (uint64_t y = 20; y < 24; ++y) sectors += (80 * y + 79) / 32 - (80 * y + 32) / 32 + 1;
  EXPECT_EQ(total.bulk_sectors, sectors);
  EXPECT_EQ(total.bulk_saved, 0u);
}

// --- mistakes with loads ---

TEST(TmaChecks, ReadingBeforeTheBarrierWasWaitedFor) {
  Tensor<uint16_t> tensor = numbered();
  const Maps maps = stored(tiled(tensor, TensorType::u16));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Loaded early = loaded(loading(expect + load, keep + wait), maps, tensor, {0, 0}, seed);
    EXPECT_GE(early.count(Finding::unwaited) + early.count(Finding::race) + early.count(Finding::uninitialised), 1)
        << early.text();
    // Only the thread that issued waits: the others know nothing of it.
    const Loaded alone = loaded(loading(expect + load + wait, keep), maps, tensor, {0, 0}, seed);
    EXPECT_GE(alone.reports.size(), 1u) << seed;
    clean(loaded(loading(expect + load + wait, "bar.sync 0;\n" + keep), maps, tensor, {0, 0}, seed));
  }
}

TEST(TmaChecks, BytesThatAreNotExpected) {
  Tensor<uint16_t> tensor = numbered();
  const Maps maps = stored(tiled(tensor, TensorType::u16));
  const auto with = [&](const std::string& instead) {
    return loaded(loading(instead + load, wait + keep), maps, tensor, {0, 0});
  };
  EXPECT_GE(with("mbarrier.arrive.shared::cta.b64 %d9, [full];\n").reports.size(), 1u);
  EXPECT_GE(with("mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;\n").count(Finding::transaction_count), 1);
  EXPECT_GE(with("mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;\n").count(Finding::transaction_count), 1);
}

// Each lane that executes the instruction asks for a copy: a warp that elects none of them asks for 32.
TEST(TmaChecks, AWarpThatElectsNobody) {
  Tensor<uint16_t> tensor = numbered();
  const std::string all = start + "@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;\n" +
                          "setp.ge.u32 %p4, %r1, 32;\n@%p4 bra issued;\n" + load + "issued:\n" + wait + keep;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Loaded result = loaded(all, stored(tiled(tensor, TensorType::u16)), tensor, {0, 0}, seed);
    EXPECT_GE(result.reports.size(), 1u);
    EXPECT_EQ(result.total().bulk_requests, 32u);
  }
}

// One change of a kernel that is right, and the report that it must bring.
struct Mistake {
  const char* what;
  std::string issue;
  Finding finding;
  const char* says;
  std::vector<int32_t> at = {0, 0};
  uint64_t rows = height;
};

TEST(TmaChecks, WhatTheHardwareTrapsAt) {
  const auto to = [](const std::string& tile, const char* at = "2d", const char* coordinates = "%r5, %r6") {
    return expect + "cp.async.bulk.tensor." + at +
           ".shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1, {" + coordinates + "}], [" + tile +
           "];\n";
  };
  const auto into = [](const char* offset) {
    return expect +
           "mov.u32 %r10, tile;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10+" +
           offset + "], [%d1, {%r5, %r6}], [full];\n";
  };
  const std::string issue = expect + load;
  const Mistake mistakes[] = {
      {"a start that is no multiple of 16 bytes",
       issue,
       Finding::misaligned,
       "the box at {4, 0} starts 8 bytes into a row",
       {4, 0}},
      {"a tile at no multiple of 128", into("64"), Finding::misaligned, "no multiple of 128"},
      {"a tile that ends outside", into("640"), Finding::out_of_bounds, "has 512 bytes"},
      {"coordinates of three dimensions", to("full", "3d", "%r5, %r6, 0"), Finding::tensor_map,
       "its tensor map has 2 dimensions"},
      {"a tensor larger than its allocation", issue, Finding::out_of_bounds, "in the box at {0, 20}", {0, 20}, 100},
      {"a map that is none", "add.u64 %d1, %d2, 63;\nand.b64 %d1, %d1, -64;\n" + issue, Finding::tensor_map,
       "was not made by cuTensorMapEncodeTiled"},
      {"a map at the wrong place", "add.u64 %d1, %d1, 8;\n" + issue, Finding::tensor_map,
       "lies where a kernel has no memory"},
      {"no mbarrier", to("tile+512"), Finding::mbarrier, "nothing has initialised one"}};
  for (const Mistake& mistake : mistakes) {
    Tensor<uint16_t> tensor = numbered();
    TiledTensor wanted = tiled(tensor, TensorType::u16);
    wanted.size[1] = mistake.rows;
    const Loaded result = loaded(loading(mistake.issue, wait + keep), stored(wanted), tensor, mistake.at);
    EXPECT_EQ(result.count(mistake.finding), 1) << mistake.what << "\n" << result.text();
    EXPECT_EQ(result.reports.size(), 1u) << mistake.what << "\n" << result.text();
    EXPECT_NE(result.text().find(mistake.says), std::string::npos) << mistake.what << "\n" << result.text();
    EXPECT_TRUE(result.given_up);
  }
}

TEST(TmaChecks, RefusesWhatIsNotWrittenRightly) {
  const std::string opcode = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
  for (const std::string& wrong :
       {opcode + " [%r1], [%d1, {%r5}], [%r2];", opcode + " [%r1], [%d1], [%r2];",
        opcode + " [%r1], [%d1, {%r5, %d6}], [%r2];", opcode + " [%r1], [%d1, {%r5, %r6}];",
        opcode + ".multicast::cluster [%r1], [%d1, {%r5, %r6}], [%r2];",
        std::string("cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%d1, "
                    "{%r5, %r6}], [%r2];"),
        std::string("cp.async.bulk.wait_group %r1;")}) {
    const std::string why = refusal(kernel(wrong + "\n"));
    EXPECT_NE(why.find(wrong.substr(0, wrong.find(' '))), std::string::npos) << wrong << ": " << why;
  }
}

// --- stores ---

const std::string fence = "fence.proxy.async.shared::cta;\n";
const std::string store = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r5, %r6}], [tile];\n";
const std::string commit = "cp.async.bulk.commit_group;\n";
const std::string read = "cp.async.bulk.wait_group.read 0;\n";
// Each thread writes two words of the tile: its own number twice in each half.
const std::string write =
    "mad.lo.u32 %r8, %r1, 262148, 131073;\nadd.u32 %r9, %r8, 131074;\nst.shared.v2.u32 [%r3], {%r8, %r9};\n";

// The tensor starts with ones; the coordinates are p2's. Thread 0 does `issue` behind a barrier.
Ran storing(const std::string& before, const std::string& issue, Tensor<uint16_t>& tensor, std::vector<int32_t> at,
            uint64_t seed = 0, TensorType type = TensorType::u16) {
  Maps maps = stored(tiled(tensor, type));
  Words out(threads * 2);
  return run(kernel(start + before + "bar.sync 0;\n@%p1 bra issued;\n" + issue + "issued:\n", 3),
             {.block = {threads, 1, 1}, .seed = seed}, maps, out, at, tensor);
}

TEST(Tma, StoresABoxAndClipsIt) {
  for (const auto& at : std::vector<std::vector<int32_t>>{{8, 2}, {0, 0}, {16, 20}, {40, 0}, {0, 24}}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Tensor<uint16_t> tensor(width * height);
      const Ran ran = clean(storing(write + fence, store + commit + read, tensor, at, seed));
      for (int32_t y = 0; y < static_cast<int32_t>(height); ++y) {
        for (int32_t x = 0; x < static_cast<int32_t>(width); ++x) {
          const int32_t column = x - at[0], row = y - at[1];
          const bool inside = column >= 0 && row >= 0 && column < static_cast<int32_t>(box_width) &&
                              row < static_cast<int32_t>(box_height);
          ASSERT_EQ(tensor.at(static_cast<size_t>(y) * width + static_cast<size_t>(x)),
                    inside ? row * static_cast<int32_t>(box_width) + column + 1 : 0);
        }
      }
      const Tally total = ran.total();
      EXPECT_EQ(total.bulk_requests, 1u);
      EXPECT_EQ(total.bulk_bytes, 2u * static_cast<uint32_t>(std::clamp(40 - at[0], 0, 32)) *
                                      static_cast<uint32_t>(std::clamp(24 - at[1], 0, 8)));
    }
  }
}

TEST(TmaChecks, MistakesWithStores) {
  const std::string overwrite = "st.shared.u32 [%r3], %r1;\n";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Tensor<uint16_t> tensor(width * height);
    const auto found = [&](const std::string& before, const std::string& issue, std::vector<int32_t> at = {0, 0}) {
      return storing(before, issue, tensor, std::move(at), seed);
    };
    EXPECT_EQ(found(write, store + commit + read).count(Finding::unfenced), 1) << "no fence";
    EXPECT_TRUE(found(write, fence + store + commit + read).reports.empty()) << "by the thread that stores";
    EXPECT_EQ(found(write, store + fence + commit + read).count(Finding::unfenced), 1) << "too late";
    const Ran early = found(write + fence, store + commit + overwrite + read);
    EXPECT_GE(early.count(Finding::unwaited), 1) << early.text();
    EXPECT_TRUE(found(write + fence, store + commit + read + overwrite).reports.empty());
    EXPECT_GE(found(write + fence, store + commit + "cp.async.bulk.wait_group.read 1;\n" + overwrite + read)
                  .count(Finding::unwaited),
              1);
    EXPECT_GE(found(write + fence, store + read + overwrite).reports.size(), 1u) << "never committed";
    EXPECT_EQ(found(write + fence, store + commit).count(Finding::exited_block), 1) << "never waited for";
    EXPECT_EQ(found(write + fence, store + commit + read, {0, -1}).count(Finding::out_of_bounds), 1);
    EXPECT_EQ(found(write + fence, store + commit + read, {-8, 0}).count(Finding::out_of_bounds), 1);
    EXPECT_EQ(found(write + fence, store + commit + read, {4, 0}).count(Finding::misaligned), 1);
    EXPECT_EQ(found("", store + commit + read).count(Finding::uninitialised), 1) << "a tile that nothing has written";
  }
}

TEST(Tma, Reduces) {
  const auto reduce = [](const std::string& operation) {
    return "cp.reduce.async.bulk.tensor.2d.global.shared::cta." + operation +
           ".bulk_group [%d1, {%r5, %r6}], [tile];\n";
  };
  Tensor<uint16_t> tensor(width * height);
  for (uint32_t i = 0; i < width * height; ++i) tensor.at(i) = 0x3c00;                        // 1
  const std::string two = "mov.b32 %r8, 1073758208;\nst.shared.v2.u32 [%r3], {%r8, %r8};\n";  // 0x4000 in both halves
  Ran ran = clean(storing(two + fence, reduce("add") + commit + read, tensor, {8, 2}, 0, TensorType::f16));
  EXPECT_EQ(tensor.at(2 * width + 8), 0x4200);  // 3
  EXPECT_EQ(tensor.at(2 * width + 7), 0x3c00);
  ran = storing(two + fence, reduce("max") + commit + read, tensor, {8, 2}, 0, TensorType::bf16);
  EXPECT_EQ(tensor.at(2 * width + 8), 0x4200);
  ran = storing(two + fence, reduce("and") + commit + read, tensor, {8, 2}, 0, TensorType::f16);
  EXPECT_EQ(ran.count(Finding::tensor_map), 1) << ran.text();
  EXPECT_NE(ran.text().find("FLOAT16 have no such reduction"), std::string::npos) << ran.text();
}

}  // namespace
}  // namespace sim::testing::test_tma
