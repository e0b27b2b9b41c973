// The runtime's own behaviour: registration, launches, memory, errors. Linked against the simulator's library.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fat_binary.h"
#include "session/gemm_sim.h"

namespace {

using sim::testing::FatBinary;
using sim::testing::text;

class Runtime : public sim::testing::KernelTest {
 protected:
  void SetUp() override {
    cudaGetLastError();
    gemmSimReset();
  }
  void TearDown() override { gemmSimReset(); }

  static nlohmann::json report() { return nlohmann::json::parse(gemmSimReport()); }
  static std::string reports() { return report().at("reports").dump(); }
  static std::string warnings() { return report().at("warnings").dump(); }
};

TEST_F(Runtime, RunsAKernelAndCountsIt) {
  FatBinary binary(text());
  use(binary);
  uint32_t* out = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), 256), cudaSuccess);
  EXPECT_EQ(launch(1, 64, out), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<uint32_t> host(64);
  EXPECT_EQ(cudaMemcpy(host.data(), out, 256, cudaMemcpyDeviceToHost), cudaSuccess);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(host[i], i);
  const auto seen = report();
  ASSERT_EQ(seen.at("kernels").size(), 1u);
  EXPECT_EQ(seen.at("kernels")[0].at("counts").at("global_store_requests"), 2);
  EXPECT_EQ(seen.at("kernels")[0].at("counts").at("global_store_sectors"), 8);
  EXPECT_EQ(seen.at("kernels")[0].at("lines")[0].at("line"), 5);
  EXPECT_TRUE(seen.at("reports").empty());
  gemmSimReset();
  EXPECT_TRUE(report().at("kernels").empty());
  EXPECT_EQ(cudaFree(out), cudaSuccess);
}

TEST_F(Runtime, TracesWhatTmaCopiesAndWgmmaReads) {
  FatBinary binary(
      text("{\n.reg .pred p;\n.reg .b32 %q<4>;\n.shared .align 128 .b8 data[4096];\nsetp.eq.u32 p, %r1, %r1;\n"
           "st.shared.u32 [tile], %r2;\nmov.u32 %q0, 0;\nmov.u32 %q1, 0;\nmov.u32 %q2, 0;\nmov.u32 %q3, 0;\n"
           "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%q0, %q1, %q2, %q3}, "
           "0x1000100008, 0x1000100008, p, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
           "wgmma.wait_group.sync.aligned 0;\ncp.async.bulk.global.shared::cta.bulk_group [%d1+1024], [data+32], 16;\n"
           "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n}",
           128));
  use(binary);
  uint32_t* out = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), 2048), cudaSuccess);
  gemmSimTrace(1);
  ASSERT_EQ(launch(1, 128, out), cudaSuccess);
  const auto seen = nlohmann::json::parse(gemmSimTraceText());
  gemmSimTrace(0);
  std::map<std::string, nlohmann::json> first;  // request by kind
  for (const auto& each : seen.at("kernels").at(0).at("instructions")) {
    nlohmann::json request = each.at("requests").at(0);
    request.erase("order");
    first[each.at("kind")] = request;
  }
  EXPECT_EQ(first.at("cp.async.bulk"), nlohmann::json::parse(R"({"copy": {"lane": 0, "direction": "store",
      "global": {"allocation": 0, "address": 1024, "bytes": 16},
      "shared": {"address": 160, "bytes": 16, "blocks": [0]}}})"));
  const auto operand = [](int lines, int bytes) {
    return nlohmann::json{{"descriptor", "0x1000100008"},
                          {"start", 128},
                          {"leading", 256},
                          {"stride", 256},
                          {"base_offset", 0},
                          {"swizzle", 0},
                          {"major", "K"},
                          {"lines", {0, lines}},
                          {"spans", {{128, bytes}, {384, bytes}}}};
  };
  // Core matrices of 128 bytes: every other one, since both of k are as far apart as those of neighbouring rows.
  nlohmann::json b = operand(8, 128), a = operand(16, 128);
  a["spans"].push_back({640, 128});
  EXPECT_EQ(first.at("wgmma"), (nlohmann::json{{"a", a}, {"b", b}, {"stores_under_way", 0}}));
  cudaFree(out);
}

TEST_F(Runtime, TracesTheFirstLaunchOfAKernel) {
  FatBinary binary(text());
  use(binary);
  uint32_t* out = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), 256), cudaSuccess);
  const auto trace = [] { return nlohmann::json::parse(gemmSimTraceText()); };
  ASSERT_EQ(launch(1, 32, out), cudaSuccess);
  EXPECT_TRUE(trace().at("kernels").empty()) << "nobody had asked for it";
  gemmSimTrace(1);
  ASSERT_EQ(launch(1, 32, out + 8), cudaSuccess);
  ASSERT_EQ(launch(1, 64, out), cudaSuccess);
  const auto seen = trace();
  gemmSimTrace(0);
  EXPECT_TRUE(trace().at("kernels").empty());

  EXPECT_EQ(seen.at("format"), 1);
  ASSERT_EQ(seen.at("kernels").size(), 1u);
  const auto& kernel = seen.at("kernels")[0];
  EXPECT_EQ(kernel.at("name"), "k");
  EXPECT_EQ(kernel.at("block"), (std::vector<int>{32, 1, 1})) << "the first of the launches";
  EXPECT_EQ(kernel.at("allocations"), nlohmann::json::parse(R"([{"origin":"cudaMalloc","bytes":256,"parameter":0}])"));
  EXPECT_EQ(kernel.at("shared_variables"), nlohmann::json::parse(R"([{"name":"tile","offset":0,"bytes":16},
                                                                     {"name":"dynamic","offset":16,"bytes":0}])"));
  ASSERT_EQ(kernel.at("instructions").size(), 1u);
  const auto& store = kernel.at("instructions")[0];
  EXPECT_EQ(store.at("line"), 5);
  EXPECT_EQ(store.at("kind"), "store");
  EXPECT_EQ(store.at("instruction"), "st.global.u32");
  const auto& global = store.at("requests")[0].at("global");
  EXPECT_EQ(global.at("allocation"), 0);
  EXPECT_EQ(global.at("bytes"), 4);
  EXPECT_EQ(global.at("sectors"), 4);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(global.at("address")[lane], 32 + 4 * lane) << "from the allocation's first byte";
    EXPECT_EQ(global.at("sector")[lane], 1 + lane / 8);
  }
  EXPECT_EQ(cudaFree(out), cudaSuccess);
}

TEST_F(Runtime, RefusesBadLaunches) {
  FatBinary binary(text());
  use(binary);
  uint32_t* out = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&out), 8192);
  EXPECT_EQ(launch(0, 32, out), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 0, out), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 2048, out), cudaErrorInvalidValue);
  EXPECT_NE(warnings().find("a block of 2048 x 1 x 1 threads"), std::string::npos);
  EXPECT_FALSE(report().at("warnings")[0].contains("rule")) << "no error";
  EXPECT_EQ(launch(dim3(1, 70000), 32, out), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, dim3(1, 1, 65), out), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  int unknown = 0;
  EXPECT_EQ(cudaLaunchKernel(&unknown, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  cudaFree(out);
}

// The newest text that has the kernel: that of sm_90a before that of sm_80, but not where another kernel is in it.
TEST_F(Runtime, RunsThePtxThatHasTheKernel) {
  uint32_t* out = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&out), 256);
  const std::string newer = text("add.u32 %r1, %r1, 90;");
  for (const bool has_it : {true, false}) {
    std::string other = newer;
    if (!has_it) other.replace(other.find(" k("), 3, " another(");
    FatBinary binary(text("add.u32 %r1, %r1, 80;"));
    binary.add(text("add.u32 %r1, %r1, 85;").replace(0, 0, "//"), 0x11, 120);  // too new to be looked at
    binary.add(other, 0x100011, 90);
    use(binary);
    EXPECT_EQ(launch(1, 32, out), cudaSuccess) << reports();
    std::vector<uint32_t> host(32);
    cudaMemcpy(host.data(), out, 128, cudaMemcpyDeviceToHost);
    EXPECT_EQ(host[3], has_it ? 93u : 83u);
  }
  cudaFree(out);
}

TEST_F(Runtime, LaunchesClusters) {
  FatBinary binary(text("mov.u32 %r2, %cluster_nctarank;\nadd.u32 %r1, %r1, %r2;"));
  use(binary);
  uint32_t* out = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&out), 256);
  const auto launch_with = [&](dim3 grid, uint32_t size) { return launch(grid, 32, out, 0, size); };
  EXPECT_EQ(launch_with(8, 4), cudaSuccess);
  std::vector<uint32_t> host(32);
  cudaMemcpy(host.data(), out, 128, cudaMemcpyDeviceToHost);
  EXPECT_EQ(host[3], 7u);
  EXPECT_TRUE(report().at("reports").empty());
  EXPECT_EQ(launch_with(8, 3), cudaErrorInvalidClusterSize);
  EXPECT_NE(reports().find("a cluster of 3x1x1 blocks does not divide the grid of 8x1x1"), std::string::npos);
  EXPECT_NE(report().at("reports")[0].at("rule").get<std::string>().find("“Thread Block Clusters”"), std::string::npos);
  EXPECT_EQ(launch_with(16, 16), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(&key, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
  EXPECT_EQ(launch_with(16, 16), cudaSuccess);
  EXPECT_EQ(launch_with(32, 32), cudaErrorInvalidClusterSize);
  gemmSimReset();
  cudaGetLastError();
  cudaFree(out);
}

TEST_F(Runtime, SharedMemoryNeedsOptingIn) {
  FatBinary binary(text());
  use(binary);
  uint32_t* out = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&out), 256);
  EXPECT_EQ(launch(1, 32, out, 48 * 1024 - 16), cudaSuccess);
  EXPECT_EQ(launch(1, 32, out, 48 * 1024), cudaErrorInvalidValue);
  EXPECT_NE(warnings().find("49152 bytes of dynamic and 16 of static shared memory"), std::string::npos);
  EXPECT_EQ(cudaFuncSetAttribute(&key, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024), cudaSuccess);
  EXPECT_EQ(launch(1, 32, out, 100 * 1024), cudaSuccess);
  EXPECT_EQ(launch(1, 32, out, 101 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(&key, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024), cudaErrorInvalidValue);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &key), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 16u);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100 * 1024);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &key, 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &key, 32, 100 * 1024), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 2, 1};
  cudaLaunchConfig_t configuration{};
  configuration.blockDim = 1024;
  int multiprocessors = 0, clusters = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &key, &configuration), cudaSuccess);
  EXPECT_EQ(clusters, 2 * multiprocessors);
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &key, &configuration), cudaSuccess);
  EXPECT_EQ(clusters, 2 * multiprocessors / 4);
  cudaFree(out);
}

TEST_F(Runtime, MemoryErrors) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 100), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 256, 0u);
  std::vector<char> host(200);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 100, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), static_cast<char*>(p) + 1, 100, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data() + 100, 50, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(p, host.data(), 1, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(p, 0, 101), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(static_cast<char*>(p) + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);  // twice
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, size_t{1} << 40), cudaErrorMemoryAllocation);
  size_t before = 0, after = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 1000), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - after, 1000u);
  cudaFree(p);
}

TEST_F(Runtime, FreedMemoryIsOutOfBounds) {
  FatBinary binary(text());
  use(binary);
  void* p = nullptr;
  cudaMalloc(&p, 256);
  cudaFree(p);
  EXPECT_EQ(launch(1, 32, p), cudaSuccess);
  EXPECT_NE(reports().find("out of bounds"), std::string::npos);
  EXPECT_NE(reports().find("of a cudaMalloc that has been freed"), std::string::npos) << reports();
  const auto mistakes = report().at("mistakes");
  EXPECT_FALSE(mistakes.empty());
  EXPECT_EQ(nlohmann::json::parse(gemmSimMistakes()), mistakes);
}

TEST_F(Runtime, VariablesOfTheModule) {
  FatBinary binary(text());
  use(binary);
  size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, &variable), cudaSuccess);
  EXPECT_EQ(bytes, 8u);
  uint32_t value = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&value, &variable, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 7u);
  value = 9;
  EXPECT_EQ(cudaMemcpyToSymbol(&variable, &value, 4, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(&variable, &value, 4, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  int unknown = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, &unknown), cudaErrorInvalidSymbol);
}

TEST_F(Runtime, ManagedVariablesAreTheHostsToo) {
  FatBinary binary(text());
  void* pointer = nullptr;
  void** const handle = __cudaRegisterFatBinary(&binary.wrapper);
  __cudaRegisterManagedVar(handle, &pointer, &variable, "counter", 0, 8, 0, 0);
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(*static_cast<uint32_t*>(pointer), 7u);
  __cudaRegisterManagedVar(handle, &pointer, &variable, "no such variable", 0, 8, 0, 0);  // leaves the pointer alone
  EXPECT_EQ(*static_cast<uint32_t*>(pointer), 7u);
}

TEST_F(Runtime, HostMemoryThatKernelsMayTouch) {
  FatBinary binary(text());
  use(binary);
  std::vector<uint32_t> host(64, 9);
  EXPECT_EQ(cudaHostRegister(host.data(), 256, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data(), 256, 0), cudaErrorHostMemoryAlreadyRegistered);
  void* device = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host.data(), 0), cudaSuccess);
  EXPECT_EQ(launch(1, 64, device), cudaSuccess);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(host[i], i);
  EXPECT_EQ(cudaFree(host.data()), cudaErrorInvalidValue);  // it is the vector's
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host.data(), 0), cudaErrorInvalidValue);
  EXPECT_TRUE(report().at("reports").empty());
}

TEST_F(Runtime, FunctionsOfTheHostInAStream) {
  int calls = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, count, &calls), cudaSuccess);
  EXPECT_EQ(calls, 1);
  const auto called_back = [](cudaStream_t, cudaError_t error, void* data) {
    *static_cast<int*>(data) += error == cudaSuccess ? 10 : 0;
  };
  EXPECT_EQ(cudaStreamAddCallback(nullptr, called_back, &calls, 0), cudaSuccess);
  EXPECT_EQ(calls, 11);
}

TEST_F(Runtime, StreamsAndEvents) {
  cudaStream_t stream;
  cudaEvent_t event;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event, event), cudaSuccess);
  EXPECT_TRUE(std::isnan(ms));  // there is no clock to read
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(nullptr, &graph), cudaErrorNotSupported);
}

// --- binaries that cannot be run ---

struct Refusal {
  const char* what;
  FatBinary binary;
  const char* says;
};

TEST_F(Runtime, RefusesBinariesInOneClearLine) {
  Refusal refusals[] = {
      {"with a damaged compressed text", FatBinary(text(), 0x8011), "a damaged fat binary"},
      {"without PTX", FatBinary(text(), 0x11, 80, 2), "holds no PTX"},
      {"for a newer GPU", FatBinary(text(), 0x11, 120), "compute_120"},
      {"in a newer PTX", FatBinary(text("", 16, "9.9")), "PTX ISA 9.9 is newer"},
      {"with an unknown instruction", FatBinary(text("max.s16x2 %r1, %r1, %r1;")), "max.s16x2"},
      {"that is damaged", FatBinary("this is no PTX"), "PTX line 1"},
  };
  for (Refusal& each : refusals) {
    each.binary.wrapper.data = each.binary.bytes.data();
    use(each.binary);
    gemmSimReset();
    EXPECT_EQ(launch(1, 32, nullptr), cudaErrorNoKernelImageForDevice) << each.what;
    EXPECT_NE(reports().find(each.says), std::string::npos) << each.what << reports();
    key = 0;
  }
}

// --- what follows a failure: last, since a failed launch stays failed ---

TEST_F(Runtime, ZAFailedLaunchStaysFailed) {
  FatBinary binary(text("trap;"));
  use(binary);
  EXPECT_EQ(launch(1, 32, nullptr), cudaSuccess);  // found out later, as on a GPU
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(reports().find("trap at kernel.cu:5"), std::string::npos) << reports();
  EXPECT_EQ(launch(1, 32, nullptr), cudaErrorLaunchFailure);
  void* p = nullptr;
  EXPECT_STREQ(cudaGetErrorName(cudaErrorLaunchFailure), "cudaErrorLaunchFailure");
  cudaMalloc(&p, 16);
  EXPECT_EQ(cudaMemset(p, 0, 16), cudaErrorLaunchFailure);
}

}  // namespace
