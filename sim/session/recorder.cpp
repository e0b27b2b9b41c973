#include "session/recorder.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/asynchronous/tensor_map.h"
#include "core/base/readable.h"
#include "session/hash.h"

namespace sim {
namespace {

using Recorded = nlohmann::ordered_json;

std::string digits(const std::byte* bytes, size_t count) {
  static const char* const digit = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += digit[static_cast<unsigned>(bytes[i]) >> 4];
    text += digit[static_cast<unsigned>(bytes[i]) & 15];
  }
  return text;
}

const std::byte* at(const Allocations::Range& range) { return reinterpret_cast<const std::byte*>(range.begin); }

}  // namespace

Recorder::Memory& Recorder::known(const Allocations::Range& range) {
  const size_t bytes = range.end - range.begin;
  const auto found = memory_.find(range.begin);
  if (found != memory_.end() && found->second.bytes.size() == bytes) return found->second;
  sizes_.push_back(bytes);
  Memory& made = memory_[range.begin];
  made = {sizes_.size() - 1, std::vector<std::byte>(bytes, std::byte{0xff})};  // as whoever does it again begins
  return made;
}

void Recorder::before(const Launch& launch, std::string_view ptx) {
  size_t module = 0;
  while (module < modules_.size() && modules_[module] != ptx) ++module;
  if (module == modules_.size()) modules_.emplace_back(ptx);

  // What the host wrote since the launch before.
  Recorded writes = Recorded::array();
  for (const Allocations::Range& range : launch.allocations.all()) {
    if (range.read_only) continue;
    Memory& memory = known(range);
    const std::byte* const now = at(range);
    const size_t bytes = memory.bytes.size();
    if (std::memcmp(now, memory.bytes.data(), bytes) == 0) continue;
    Recorded write{{"allocation", memory.number}};
    const bool uniform = std::all_of(now, now + bytes, [&](std::byte each) { return each == now[0]; });
    const auto same = std::find_if(memory_.begin(), memory_.end(), [&](const auto& other) {
      return other.second.number != memory.number && other.second.bytes.size() == bytes &&
             std::memcmp(other.second.bytes.data(), now, bytes) == 0;
    });
    if (uniform) {
      write["fill"] = static_cast<unsigned>(now[0]);
    } else if (same != memory_.end()) {
      write["copy"] = same->second.number;
    } else {
      write["bytes"] = digits(now, bytes);
    }
    std::memcpy(memory.bytes.data(), now, bytes);
    writes.push_back(write);
  }

  Recorded pointers = Recorded::array(), maps = Recorded::array();
  const auto& parameters = launch.parameters;
  for (size_t offset = 0; offset + sizeof(uint64_t) <= parameters.size(); offset += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, parameters.data() + offset, sizeof value);
    if (offset + sizeof(TensorMap) <= parameters.size() && read_map(parameters.data() + offset)) maps.push_back(offset);
    if (const auto range = launch.allocations.holding(value))
      pointers.push_back({offset, known(*range).number, value - range->begin});
  }
  const std::string& file = launch.program.location.file < launch.program.files.size()
                                ? launch.program.files[launch.program.location.file]
                                : std::string();
  Recorded made{{"module", module},
                {"kernel", launch.program.name},
                {"name", readable(launch.program.name)},
                {"file", file},
                {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                {"block", {launch.block.x, launch.block.y, launch.block.z}},
                {"cluster", {launch.cluster.x, launch.cluster.y, launch.cluster.z}},
                {"explicit", launch.is_explicit_cluster},
                {"shared", launch.dynamic_shared_bytes},
                {"parameters", digits(parameters.data(), parameters.size())},
                {"pointers", pointers},
                {"maps", maps},
                {"writes", writes}};
  launches_.push_back(made.dump());
}

void Recorder::after(const Launch& launch) {
  Recorded results = Recorded::array();
  for (const Allocations::Range& range : launch.allocations.all()) {
    if (range.read_only) continue;
    Memory& memory = known(range);
    const size_t bytes = memory.bytes.size();
    if (std::memcmp(at(range), memory.bytes.data(), bytes) == 0) continue;
    std::memcpy(memory.bytes.data(), at(range), bytes);
    results.push_back({{"allocation", memory.number}, {"hash", hexadecimal(hash_of(at(range), bytes))}});
  }
  std::string& made = launches_.back();
  made.back() = ',';
  made += "\"results\":" + results.dump() + "}";
}

std::string Recorder::text(const std::string& summary) const {
  std::string text = "{\"format\": 1, \"allocations\": " + Recorded(sizes_).dump() + ", \"launches\": [";
  for (size_t i = 0; i < launches_.size(); ++i) text += (i ? ",\n " : "\n ") + launches_[i];
  return text + "\n], \"summary\": " + summary + ",\n \"modules\": " + Recorded(modules_).dump() + "}\n";
}

}  // namespace sim
