/// What each launch was given, so that it can be done again elsewhere: parameters with the pointers among them, and
/// what the host wrote to memory before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/launch.h"

namespace sim {

class Recorder {
 public:
  /// Before and after a launch whose kernel is in this PTX.
  void before(const Launch& launch, std::string_view ptx);
  void after(const Launch& launch);

  /// All of it, as JSON (docs/simulator-reference.md), with the summary of the launches since the last reset.
  std::string text(const std::string& summary) const;

 private:
  struct Memory {
    size_t number;
    std::vector<std::byte> bytes;  ///< as the last launch left them
  };
  Memory& known(const Allocations::Range& range);

  std::map<uint64_t, Memory> memory_;  ///< by address
  std::vector<uint64_t> sizes_;        ///< by number
  std::vector<std::string> modules_, launches_;
};

}  // namespace sim
