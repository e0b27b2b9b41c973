#include "session/fatbin.h"

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>

#include "core/ptx/lexer.h"

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
/// Where a compressed entry says how long its text is.
constexpr size_t unpacked_bytes_at = 56;
constexpr uint64_t most_unpacked_bytes = uint64_t{1} << 31;
static_assert(sizeof(Header) == 16 && sizeof(Entry) == 48);

/// The letter behind a text's `.target sm_90a`: a for a GPU that alone can run it, f for a family; else 0.
char suffix_of(std::string_view text) {
  constexpr std::string_view before = ".target sm_";
  const size_t number = text.find(before);
  if (number == std::string_view::npos) return 0;
  const size_t end = text.find_first_not_of("0123456789", number + before.size());
  return end != std::string_view::npos && (text[end] == 'a' || text[end] == 'f') ? text[end] : 0;
}

/// Whether a GPU of this architecture (90) runs text for `target`.
bool runs_on(uint32_t architecture, uint32_t target, char suffix) {
  if (suffix == 'a') return target == architecture;
  return target <= architecture && (suffix != 'f' || target / 10 == architecture / 10);
}

/// The text of a compressed entry, by the libraries that the system has for its own packages.
std::string unpacked(const std::byte* entry_at, const Entry& entry) {
  uint64_t bytes = 0;
  if (entry.header_bytes >= unpacked_bytes_at + sizeof bytes)
    std::memcpy(&bytes, entry_at + unpacked_bytes_at, sizeof bytes);
  if (bytes == 0 || bytes > most_unpacked_bytes || entry.compressed_bytes > entry.payload_bytes)
    throw Refused("a damaged fat binary: a compressed text without its length");
#ifdef __EMSCRIPTEN__
  (void)entry_at;
  throw Refused("the PTX in this binary is compressed, which the simulator in a page cannot unpack");
#else
  const bool zstd = entry.flags & flag_zstd;
  const char* const library = zstd ? "libzstd.so.1" : "liblz4.so.1";
  const char* const name = zstd ? "ZSTD_decompress" : "LZ4_decompress_safe";
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // never closed
  void* const function = opened ? dlsym(opened, name) : nullptr;
  if (!function) {
    throw Refused(std::string("the PTX in this binary is compressed, and there is no ") + library +
                  " here to unpack it: install it, or build the program with nvcc --no-compress");
  }
  std::string text(bytes, '\0');
  const std::byte* const packed = entry_at + entry.header_bytes;
  const uint64_t made =
      zstd ? reinterpret_cast<size_t (*)(void*, size_t, const void*, size_t)>(function)(text.data(), bytes, packed,
                                                                                        entry.compressed_bytes)
           : static_cast<uint64_t>(reinterpret_cast<int (*)(const void*, void*, int, int)>(function)(
                 packed, text.data(), static_cast<int>(entry.compressed_bytes), static_cast<int>(bytes)));
  if (made != bytes) throw Refused("a damaged fat binary: its compressed text cannot be unpacked");
  return text;
#endif
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// What to do about PTX that the simulated GPU does not run.
std::string does_not_run(uint32_t architecture) {
  return ", which the simulated GPU, compute_" + std::to_string(architecture) + ", does not run: build it with nvcc " +
         "-arch=sm_" + std::to_string(architecture) + ", or simulate another GPU (ptxsim --device)";
}

}  // namespace

std::string why_not_run(std::string_view ptx, uint32_t architecture) {
  ptx::Lexer lexer(ptx);
  while (lexer.peek().kind != ptx::Token::Kind::end && !lexer.peek().is(".target")) lexer.take();
  lexer.take();
  const std::string target(lexer.peek().text);
  constexpr std::string_view before = "sm_";
  if (!target.starts_with(before)) return "there is no .target such as sm_90 in this PTX";
  const uint32_t wanted = static_cast<uint32_t>(std::atoi(target.c_str() + before.size()));
  if (runs_on(architecture, wanted, suffix_of(".target " + target))) return "";
  return "this PTX is for " + target + does_not_run(architecture);
}

PtxTexts find_ptx(const void* fat_binary, uint32_t architecture) {
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
  PtxTexts texts;
  std::vector<Found> found;
  uint32_t lowest = ~0u;
  std::string lowest_name, machine_code;
  while (at + sizeof(Entry) <= end) {
    const auto entry = read<Entry>(at);
    if (entry.header_bytes < sizeof(Entry) || entry.payload_bytes > static_cast<uint64_t>(end - at))
      throw Refused("a damaged fat binary");
    if (entry.kind == kind_ptx) {
      std::string_view text(reinterpret_cast<const char*>(at + entry.header_bytes), entry.payload_bytes);
      if (entry.flags & (flag_lz4 | flag_zstd))
        text = *texts.unpacked.emplace_back(std::make_unique<std::string>(unpacked(at, entry)));
      text = text.substr(0, text.find('\0'));
      const char suffix = entry.flags & flag_specific ? 'a' : suffix_of(text);
      if (entry.architecture < lowest) {
        lowest = entry.architecture;
        lowest_name = std::to_string(lowest) + (suffix ? std::string(1, suffix) : "");
      }
      if (runs_on(architecture, entry.architecture, suffix)) found.push_back({entry.architecture, suffix != 0, text});
    } else if (entry.architecture != 0) {
      const std::string name = "sm_" + std::to_string(entry.architecture);
      if (machine_code.find(name) == std::string::npos) machine_code += (machine_code.empty() ? "" : ", ") + name;
    }
    at += entry.header_bytes + entry.payload_bytes;
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.architecture, a.specific) > std::tie(b.architecture, b.specific);
  });
  for (const Found& each : found) texts.texts.push_back(each.text);
  if (!texts.texts.empty()) return texts;
  if (lowest != ~0u) throw Refused("the PTX in this binary is for compute_" + lowest_name + does_not_run(architecture));
  throw Refused("this binary holds no PTX" + (machine_code.empty() ? "" : ", only machine code for " + machine_code) +
                ": build it with nvcc -gencode arch=compute_80,code=compute_80");
}

}  // namespace sim
