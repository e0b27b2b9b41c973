#include "core/checks/allocations.h"

#include <iterator>

namespace sim {
namespace {

constexpr size_t most_freed = 256;  // a program that frees without end is not remembered without end

}  // namespace

void Allocations::add(uint64_t begin, uint64_t bytes, const char* origin, bool read_only) {
  const std::scoped_lock lock(mutex_);
  ranges_[begin] = {begin, begin + bytes, origin, read_only};
  std::erase_if(freed_, [&](const auto& each) { return each.second.begin < begin + bytes && begin < each.second.end; });
}

bool Allocations::remove(uint64_t begin) {
  const std::scoped_lock lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return false;
  if (freed_.size() == most_freed) freed_.clear();
  freed_[begin] = found->second;
  ranges_.erase(found);
  return true;
}

std::optional<Allocations::Range> Allocations::at(uint64_t begin) const {
  const std::scoped_lock lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return std::nullopt;
  return found->second;
}

std::optional<Allocations::Range> Allocations::holding(uint64_t address) const {
  const std::scoped_lock lock(mutex_);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return std::nullopt;
  const Range& range = std::prev(next)->second;
  if (address >= range.end) return std::nullopt;
  return range;
}

std::string Allocations::describe(uint64_t address) const {
  if (address < 4096) return "a null pointer";
  const std::scoped_lock lock(mutex_);
  const auto name = [](const Range& range) {
    return "the " + std::to_string(range.end - range.begin) + " bytes of a " + range.origin;
  };
  if (const auto after = freed_.upper_bound(address); after != freed_.begin()) {
    const Range& range = std::prev(after)->second;
    if (address < range.end)
      return std::to_string(address - range.begin) + " bytes into " + name(range) + " that has been freed";
  }
  const auto next = ranges_.upper_bound(address);
  std::string text = "no allocation is near";
  uint64_t nearest = uint64_t{1} << 40;
  if (next != ranges_.begin()) {
    const Range& range = std::prev(next)->second;
    if (address < range.end) return std::to_string(address - range.begin) + " bytes into " + name(range);
    nearest = address - range.end;
    text = std::to_string(nearest) + " bytes past the end of " + name(range);
  }
  if (next != ranges_.end() && next->second.begin - address < nearest) {
    text = std::to_string(next->second.begin - address) + " bytes before " + name(next->second);
  }
  return text;
}

uint64_t Allocations::bytes() const {
  const std::scoped_lock lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [begin, range] : ranges_) sum += range.end - range.begin;
  return sum;
}

std::vector<Allocations::Range> Allocations::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Range> ranges;
  for (const auto& [begin, range] : ranges_) ranges.push_back(range);
  return ranges;
}

}  // namespace sim
