// Binaries as nvcc makes them, and how its start-up code tells the runtime of them.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
}

namespace sim::testing {

// A fat binary as nvcc lays it out, around one text; `flags` 0x8000 marks it as compressed, `architecture` as its
// target.
struct FatBinary {
  explicit FatBinary(const std::string& ptx, uint64_t flags = 0x11, uint32_t architecture = 80, uint16_t kind = 1) {
    put(uint32_t{0xba55ed50}), put(uint16_t{1}), put(uint16_t{16}), put(uint64_t{0});
    add(ptx, flags, architecture, kind);
  }
  // One more text, for another architecture.
  void add(std::string ptx, uint64_t flags, uint32_t architecture, uint16_t kind = 1) {
    while (ptx.size() % 8 != 7) ptx += ' ';
    ptx += '\0';
    put(kind), put(uint16_t{0x101}), put(uint32_t{64}), put(static_cast<uint64_t>(ptx.size())), put(uint32_t{0}),
        put(uint32_t{0});
    put(uint16_t{0}), put(uint16_t{9}), put(architecture), put(uint32_t{0}), put(uint32_t{0}), put(flags),
        put(uint64_t{0}), put(uint64_t{0});
    bytes.insert(bytes.end(), ptx.begin(), ptx.end());
    const uint64_t payload = bytes.size() - 16;
    std::memcpy(bytes.data() + 8, &payload, sizeof payload);
    wrapper = {0x466243b1, 1, bytes.data(), nullptr};
  }
  template <class T>
  void put(T value) {
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(&value),
                 reinterpret_cast<const char*>(&value) + sizeof value);
  }
  struct {
    int magic, version;
    const void* data;
    void* unused;
  } wrapper;
  std::vector<char> bytes;
};

// A kernel k(out) that writes its thread's number; `shared` bytes of static shared memory.
inline std::string text(const std::string& body = "", uint32_t shared = 16, const std::string& version = "9.0") {
  return ".version " + version +
         "\n.target sm_80\n.address_size 64\n.global .align 4 .b8 counter[8] = {7};\n.extern .shared .align 16 .b8 "
         "dynamic[];\n"
         ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<4>;\n.shared .align 4 .b8 tile[" +
         std::to_string(shared) +
         "];\n.loc 1 5 1\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n"
         "mad.wide.u32 %d2, %r1, 4, %d1;\nmov.u32 %r2, tile;\nmov.u32 %r3, dynamic;\n" +
         body + "\nst.global.u32 [%d2], %r1;\nret;\n}\n.file 1 \"kernel.cu\"\n";
}

// A kernel of a binary, known by the address of `key`.
class KernelTest : public ::testing::Test {
 protected:
  void use(FatBinary& binary) {
    void** const handle = __cudaRegisterFatBinary(&binary.wrapper);
    __cudaRegisterFunction(handle, &key, &key, "k", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterVar(handle, &variable, &variable, "counter", 0, 8, 0, 0);
  }
  cudaError_t launch(dim3 grid, dim3 block, void* out, size_t shared = 0, uint32_t cluster = 0) {
    void* arguments[] = {&out};
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = grid;
    configuration.blockDim = block;
    configuration.dynamicSmemBytes = shared;
    configuration.attrs = &attribute;
    configuration.numAttrs = cluster ? 1 : 0;
    return cluster ? cudaLaunchKernelExC(&configuration, &key, arguments)
                   : cudaLaunchKernel(&key, grid, block, arguments, shared, nullptr);
  }

  char key = 0, variable = 0;
};

}  // namespace sim::testing
