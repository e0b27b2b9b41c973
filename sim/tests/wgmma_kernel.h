// Kernels of one warpgroup around wgmma instructions.
#pragma once

#include <string>
#include <vector>

#include "machine.h"

namespace sim::testing {

using Bytes = std::vector<uint8_t>;

// A matrix descriptor; lengths in bytes, `swizzle` 0, 32, 64 or 128.
inline uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle, uint32_t base = 0) {
  const auto field = [](uint32_t bytes) { return uint64_t{bytes & 0x3ffff} >> 4; };
  const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return field(start) | field(leading) << 16 | field(stride) << 32 | uint64_t{base} << 49 | mode << 62;
}

// Parameters: p0 the bytes of shared memory, the same for every block or `stride` bytes on for each; p1 32-bit
// registers %q0 … of `in`, register by register with 128 threads each, block by block; p2 the registers %q0 … of `out`.
struct WgmmaKernel {
  uint32_t shared_bytes = 0, stride = 0, in = 0, out = 0, registers = 256;
  std::string lines = "";                       // what is done between
  std::string before = "fence.proxy.async;\n";  // after the stores to shared memory, before the barrier

  std::string text() const {
    std::string body = "{\n.reg .b32 %q<" + std::to_string(registers) + ">;\n";
    body += "mov.u32 %r1, %tid.x;\nmov.u32 %r5, %ctaid.x;\nmov.u32 %r2, %r1;\nld.param.u64 %d1, [p0];\n";
    body += "mul.wide.u32 %d4, %r5, " + std::to_string(stride) +
            ";\nadd.s64 %d1, %d1, %d4;\nsetp.eq.u32 %p9, %r1, %r1;\nsetp.ne.u32 %p8, %r1, %r1;\n";
    body += "FILL:\nsetp.ge.u32 %p1, %r2, " + std::to_string(shared_bytes / 4) +
            ";\n@%p1 bra FULL;\nmad.wide.u32 %d3, %r2, 4, %d1;\nld.global.b32 %r3, [%d3];\nshl.b32 %r4, %r2, 2;\n"
            "st.shared.b32 [%r4], %r3;\nadd.u32 %r2, %r2, 128;\nbra FILL;\nFULL:\n";
    body += before + "bar.sync 0;\n";
    const auto pointer = [](const char* to, const char* from, uint32_t count) {
      return std::string("ld.param.u64 ") + to + ", [" + from + "];\nmad.lo.u32 %r6, %r5, " +
             std::to_string(128 * count) + ", %r1;\nmad.wide.u32 " + to + ", %r6, 4, " + to + ";\n";
    };
    body += pointer("%d5", "p1", in) + pointer("%d6", "p2", out);
    for (uint32_t i = 0; i < in; ++i)
      body += "ld.global.b32 %q" + std::to_string(i) + ", [%d5+" + std::to_string(512 * i) + "];\n";
    body += lines;
    for (uint32_t i = 0; i < out; ++i)
      body += "st.global.b32 [%d6+" + std::to_string(512 * i) + "], %q" + std::to_string(i) + ";\n";
    return kernel(body + "}\n", 3);
  }
};

inline const std::string fence_line = "wgmma.fence.sync.aligned;\n", commit_line = "wgmma.commit_group.sync.aligned;\n";
inline std::string wait_line(uint32_t left) { return "wgmma.wait_group.sync.aligned " + std::to_string(left) + ";\n"; }

}  // namespace sim::testing
