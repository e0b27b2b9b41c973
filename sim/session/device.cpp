#include "session/device.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "session/devices_json.h"  // made by Meson of devices.json

namespace sim {

std::string Device::spoken_capability() const { return std::to_string(major()) + "." + std::to_string(minor()); }

Device device(const std::string& key) {
  constexpr uint64_t most_memory = uint64_t{2} << 30;  // as much as a test should need: it is the host's
  const auto table = nlohmann::ordered_json::parse(DEVICES_JSON);
  const auto& gpus = table.at("gpus");
  if (!gpus.contains(key) || !gpus.at(key).contains("capability")) {
    std::set<std::string> names;
    for (const auto& [name, gpu] : gpus.items()) {
      if (gpu.contains("capability")) names.insert(name);
    }
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("there is no device '" + key + "'; choose from: " + known);
  }
  const auto& gpu = gpus.at(key);
  const std::string capability = gpu.at("capability");
  const auto& limits = table.at("capabilities").at(capability);
  Device made;
  made.name += " as " + gpu.at("name").get<std::string>();
  made.capability = std::stoi(capability) * 10 + capability.back() - '0';
  made.multiprocessors = gpu.at("sms");
  made.shared_bytes_per_block_optin = limits.at("shared_kb_per_block").get<uint32_t>() << 10;
  made.shared_bytes_per_multiprocessor = limits.at("shared_kb_per_sm").get<uint32_t>() << 10;
  made.registers_per_multiprocessor = limits.at("registers_per_sm");
  made.threads_per_multiprocessor = limits.at("threads_per_sm");
  made.blocks_per_multiprocessor = limits.at("blocks_per_sm");
  made.largest_cluster = limits.at("largest_cluster");
  made.l2_bytes = gpu.at("l2_mb").get<uint64_t>() << 20;
  made.memory_bytes = std::min(gpu.at("memory_gb").get<uint64_t>() << 30, most_memory);
  return made;
}

}  // namespace sim
