/// What blocks of different clusters know of each other: flags in global memory, by which one releases and another
/// acquires at the scope of the whole GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

struct SyncClock;

/// Of some clusters, what is known of their agents. It never changes: whoever learns more makes a new one.
struct Others {
  using OfCluster = std::pair<uint32_t, std::shared_ptr<const SyncClock>>;
  std::vector<OfCluster> clusters;  ///< by number

  const SyncClock* of(uint32_t cluster) const;
};
using KnownOthers = std::shared_ptr<const Others>;

/// All that either knows. One of them where it knows everything.
KnownOthers joined(const KnownOthers& a, const KnownOthers& b);

/// What a cluster has released, as others learn it.
KnownOthers released_by(uint32_t cluster, const SyncClock& released);

/// A launch's flags, by address.
class GridFlags {
 public:
  KnownOthers load(uint64_t address) const;
  /// A store takes the flag over, an update hands on what others have released there. Null: nothing is released.
  void store(uint64_t address, const KnownOthers& released, bool update);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, KnownOthers> flags_;
};

}  // namespace sim
