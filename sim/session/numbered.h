/// Allocations by numbers that do not depend on where they lie, for traces and events.
#pragma once

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/machine/launch.h"

namespace sim {

/// The allocations that a launch's accesses lie in, numbered as its parameters name them, then as they are met.
class Numbered {
 public:
  explicit Numbered(const Launch& launch) : launch_(launch) {
    const auto& bytes = launch.parameters;
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
      uint64_t value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      const auto range = launch.allocations.holding(value);
      if (range && find(range->begin) == known_.size()) known_.push_back({*range, at});
    }
  }

  /// Number and first address of the allocation that holds this address.
  std::pair<size_t, uint64_t> of(uint64_t address) {
    const auto range = launch_.allocations.holding(address);
    if (!range) return {known_.size(), 0};  // accesses outside of all allocations were taken out by the checks
    const size_t number = find(range->begin);
    if (number == known_.size()) known_.push_back({*range, std::nullopt});
    return {number, range->begin};
  }

  /// The allocation with this number; none where the parameters name fewer.
  std::optional<Allocations::Range> at(size_t number) const {
    return number < known_.size() ? std::optional(known_[number].first) : std::nullopt;
  }

  nlohmann::ordered_json to_json() const {
    auto all = nlohmann::ordered_json::array();
    for (const auto& [range, parameter] : known_) {
      all.push_back({{"origin", range.origin}, {"bytes", range.end - range.begin}});
      all.back()["parameter"] = parameter ? nlohmann::ordered_json(*parameter) : nlohmann::ordered_json();
    }
    return all;
  }

 private:
  size_t find(uint64_t begin) const {
    const auto is_it = [&](const auto& each) { return each.first.begin == begin; };
    return static_cast<size_t>(std::find_if(known_.begin(), known_.end(), is_it) - known_.begin());
  }

  const Launch& launch_;
  std::vector<std::pair<Allocations::Range, std::optional<size_t>>> known_;
};

}  // namespace sim
