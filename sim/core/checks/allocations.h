/// What memory a kernel may touch: everything that cudaMalloc and its like gave out, and the modules' variables.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sim {

class Allocations {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;
    const char* origin = "";  ///< the call that made it, or "variable"
    bool read_only = false;   ///< constant memory

    bool holds(uint64_t low, uint64_t high) const { return begin <= low && high <= end; }
  };

  void add(uint64_t begin, uint64_t bytes, const char* origin, bool read_only = false);
  /// Forgets an allocation by its first address. False when there is none.
  bool remove(uint64_t begin);
  /// The allocation that begins here.
  std::optional<Range> at(uint64_t begin) const;
  /// The allocation that holds this address.
  std::optional<Range> holding(uint64_t address) const;
  /// "12 bytes past the end of the 16384 bytes of cudaMalloc", for a report.
  std::string describe(uint64_t address) const;

  uint64_t bytes() const;
  std::vector<Range> all() const;  ///< by address

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;
  std::map<uint64_t, Range> freed_;  ///< what was forgotten and not given out again, for reports
};

}  // namespace sim
