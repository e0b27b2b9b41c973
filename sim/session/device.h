/// The simulated GPU: what it has, by the table devices.json.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct Device {
  std::string name = "PTX simulator";
  int capability = 0;  ///< 90 for 9.0
  int multiprocessors = 0;
  uint32_t shared_bytes_per_block_optin = 0, shared_bytes_per_multiprocessor = 0;
  uint32_t registers_per_multiprocessor = 0, threads_per_multiprocessor = 0, blocks_per_multiprocessor = 0;
  uint32_t largest_cluster = 0;  ///< blocks, where the kernel allows sizes that are not portable; 0: no clusters
  uint64_t l2_bytes = 0;
  uint64_t memory_bytes = 0;

  int major() const { return capability / 10; }
  int minor() const { return capability % 10; }
  /// "8.9"
  std::string spoken_capability() const;

  // The same everywhere.
  static constexpr uint32_t shared_bytes_per_block = 48 << 10;  ///< without opting in
  static constexpr uint32_t reserved_shared_bytes = 1 << 10;    ///< of each block, by the system
  static constexpr uint32_t threads_per_block = 1024;
  static constexpr int runtime_version = 13000, driver_version = 13000;
  static constexpr uint32_t newest_ptx =
      94;  ///< PTX ISA version, times ten; what is new in one is known only where the table has it
};

/// A GPU of the table by its key, such as rtx4090. Throws std::invalid_argument, which lists the known ones.
Device device(const std::string& key);

}  // namespace sim
