#include "core/checks/grid_flags.h"

#include <algorithm>

#include "core/checks/clocks.h"

namespace sim {
namespace {

bool is_before(const Others::OfCluster& a, uint32_t cluster) { return a.first < cluster; }

/// Whether `a` knows all that `b` does.
bool covers(const SyncClock& a, const SyncClock& b) {
  if (!b.lanes_seen.empty() || !b.lanes_fenced.empty()) return false;
  for (uint32_t agent = 0; agent < b.seen.size(); ++agent) {
    if (b.seen[agent] > SyncClock::of(a.seen, agent)) return false;
  }
  return true;
}

}  // namespace

const SyncClock* Others::of(uint32_t cluster) const {
  const auto found = std::lower_bound(clusters.begin(), clusters.end(), cluster, is_before);
  return found == clusters.end() || found->first != cluster ? nullptr : found->second.get();
}

KnownOthers joined(const KnownOthers& a, const KnownOthers& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  auto made = std::make_shared<Others>();
  made->clusters.reserve(std::max(a->clusters.size(), b->clusters.size()));
  bool like_a = true, like_b = true;
  auto of_a = a->clusters.begin(), of_b = b->clusters.begin();
  while (of_a != a->clusters.end() || of_b != b->clusters.end()) {
    if (of_b == b->clusters.end() || (of_a != a->clusters.end() && of_a->first < of_b->first)) {
      like_b = false;
      made->clusters.push_back(*of_a++);
    } else if (of_a == a->clusters.end() || of_b->first < of_a->first) {
      like_a = false;
      made->clusters.push_back(*of_b++);
    } else {
      std::shared_ptr<const SyncClock> both = of_a->second;
      if (of_a->second != of_b->second && !covers(*of_a->second, *of_b->second)) {
        like_a = false;
        both = of_b->second;
        if (!covers(*of_b->second, *of_a->second)) {
          const auto sum = std::make_shared<SyncClock>(*of_a->second);
          sum->join(*of_b->second);
          both = sum;
        }
      }
      like_b &= both == of_b->second;
      made->clusters.emplace_back(of_a->first, std::move(both));
      ++of_a, ++of_b;
    }
  }
  return like_a ? a : like_b ? b : KnownOthers(std::move(made));
}

KnownOthers released_by(uint32_t cluster, const SyncClock& released) {
  const auto own = std::make_shared<SyncClock>(released);
  own->fenced.clear();  // of the async proxy, which acts within its cluster
  own->lanes_fenced.clear();
  own->others.reset();
  own->noticed.reset();
  const auto alone = std::make_shared<Others>();
  alone->clusters.emplace_back(cluster, own);
  return joined(released.others, alone);
}

KnownOthers GridFlags::load(uint64_t address) const {
  const std::scoped_lock lock(mutex_);
  const auto found = flags_.find(address);
  return found == flags_.end() ? nullptr : found->second;
}

void GridFlags::store(uint64_t address, const KnownOthers& released, bool update) {
  const std::scoped_lock lock(mutex_);
  if (!released) {
    if (!update) flags_.erase(address);
    return;
  }
  KnownOthers& flag = flags_[address];
  flag = update ? joined(flag, released) : released;
}

}  // namespace sim
