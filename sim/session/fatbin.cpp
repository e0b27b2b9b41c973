#include "session/fatbin.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

namespace sim {
namespace {

constexpr uint32_t magic = 0xba55ed50;
constexpr uint16_t kind_ptx = 1;
constexpr uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000, flag_specific = 0x100000;  // the last: sm_90a and its like

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

std::vector<std::string_view> find_ptx(const void* fat_binary, uint32_t architecture) {
  const auto* at = static_cast<const std::byte*>(fat_binary);
  const auto header = read<Header>(at);
  if (header.magic != magic) throw Refused("this is no fat binary: its first bytes are not nvcc's");
  at += header.header_bytes;
  const std::byte* const end = at + header.payload_bytes;

  struct Found {
    uint32_t architecture;
    bool specific;
    std::string_view text;
  };
  std::vector<Found> found;
  uint32_t lowest = ~0u;
  bool compressed = false;
  while (at + sizeof(Entry) <= end) {
    const auto entry = read<Entry>(at);
    if (entry.header_bytes < sizeof(Entry) || entry.payload_bytes > static_cast<uint64_t>(end - at))
      throw Refused("a damaged fat binary");
    if (entry.kind == kind_ptx) {
      lowest = std::min(lowest, entry.architecture);
      const bool packed = entry.flags & (flag_lz4 | flag_zstd);
      compressed |= packed;
      if (!packed && entry.architecture <= architecture) {
        const std::string_view text(reinterpret_cast<const char*>(at + entry.header_bytes), entry.payload_bytes);
        found.push_back({entry.architecture, (entry.flags & flag_specific) != 0, text.substr(0, text.find('\0'))});
      }
    }
    at += entry.header_bytes + entry.payload_bytes;
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.architecture, a.specific) > std::tie(b.architecture, b.specific);
  });
  std::vector<std::string_view> texts;
  for (const Found& each : found) texts.push_back(each.text);
  if (!texts.empty()) return texts;
  if (compressed) throw Refused("the PTX in this binary is compressed: build it with nvcc --no-compress");
  if (lowest != ~0u)
    throw Refused("the PTX in this binary is for compute_" + std::to_string(lowest) +
                  ", newer than the simulated compute_" + std::to_string(architecture));
  throw Refused("this binary holds no PTX: build it with nvcc -gencode arch=compute_80,code=compute_80");
}

}  // namespace sim
