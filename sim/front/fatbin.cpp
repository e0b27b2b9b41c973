#include "front/fatbin.h"

#include <cstring>
#include <string>

namespace sim {
namespace {

constexpr uint32_t magic = 0xba55ed50;
constexpr uint16_t kind_ptx = 1;
constexpr uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

struct Header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t payload_bytes;
};

/// One entry; its payload follows `header_bytes` after its start.
struct Entry {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t name_offset, name_bytes;
  uint64_t flags;
};
static_assert(sizeof(Header) == 16 && sizeof(Entry) == 48);

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::string_view find_ptx(const void* fat_binary, uint32_t architecture) {
  const auto* at = static_cast<const std::byte*>(fat_binary);
  const auto header = read<Header>(at);
  if (header.magic != magic) throw Refused("this is no fat binary: its first bytes are not nvcc's");
  at += header.header_bytes;
  const std::byte* const end = at + header.payload_bytes;

  std::string_view best;
  uint32_t best_architecture = 0, lowest = ~0u;
  bool compressed = false;
  while (at + sizeof(Entry) <= end) {
    const auto entry = read<Entry>(at);
    if (entry.header_bytes < sizeof(Entry) || entry.payload_bytes > static_cast<uint64_t>(end - at))
      throw Refused("a damaged fat binary");
    if (entry.kind == kind_ptx) {
      lowest = std::min(lowest, entry.architecture);
      const bool packed = entry.flags & (flag_lz4 | flag_zstd);
      compressed |= packed;
      if (!packed && entry.architecture <= architecture && entry.architecture >= best_architecture) {
        best_architecture = entry.architecture;
        best = {reinterpret_cast<const char*>(at + entry.header_bytes), entry.payload_bytes};
      }
    }
    at += entry.header_bytes + entry.payload_bytes;
  }
  if (!best.empty()) return best.substr(0, best.find('\0'));
  if (compressed) throw Refused("the PTX in this binary is compressed: build it with nvcc --no-compress");
  if (lowest != ~0u)
    throw Refused("the PTX in this binary is for compute_" + std::to_string(lowest) +
                  ", newer than the simulated compute_" + std::to_string(architecture));
  throw Refused("this binary holds no PTX: build it with nvcc -gencode arch=compute_80,code=compute_80");
}

}  // namespace sim
