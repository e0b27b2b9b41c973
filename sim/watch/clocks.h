/// What happens before what: vector clocks of a block's warps, and of the things that synchronise them.
///
/// Every access carries a stamp, the block's logical time, which moves on with each synchronisation. A warp's clock
/// says, for every warp, up to which stamp its accesses happened before this one's next. A thing that synchronises (a
/// barrier, a flag in memory) owns a clock, too: who arrives there releases into it what it knows, and who waits there
/// takes all that has been released.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace sim {

inline constexpr uint32_t max_warps = 32;

/// For every warp, up to which stamp its accesses are known to have happened before.
struct SyncClock {
  std::array<uint32_t, max_warps> seen{};

  void join(const SyncClock& other) {
    for (uint32_t warp = 0; warp < max_warps; ++warp)
      seen[warp] = seen[warp] < other.seen[warp] ? other.seen[warp] : seen[warp];
  }
};

/// How an access orders others around it (PTX ISA 8.4). Strong accesses, all but the weak ones, are no race with each
/// other.
enum class Order : uint8_t { weak, relaxed, acquire, release, acquire_release };

class Clocks {
 public:
  /// Begins a block of so many warps. Its stamps are above those of the block before; true where they begin anew.
  bool start(uint32_t warps);

  uint32_t now() const { return now_; }      ///< stamp of the accesses that are made now
  uint32_t start() const { return start_; }  ///< this block's stamps are above: what has none of them is untouched
  uint32_t warps() const { return warps_; }

  /// The stamp up to which a warp's accesses happened before the next one of `observer`.
  uint32_t seen(uint32_t observer, uint32_t warp) const { return of_[observer].known.seen[warp]; }
  /// The same between the lanes of the observer itself.
  uint32_t lanes_met(uint32_t warp) const { return of_[warp].lanes_met; }
  /// Whatever has a stamp up to this happened before the warp's next access, whoever did it.
  uint32_t clear(uint32_t warp) const { return of_[warp].clear; }
  /// The stamp at which all warps of the block last met.
  uint32_t last_meeting() const { return last_meeting_; }

  /// What the warp has done and knows is released into `into`; what it does from now on is later.
  void release(uint32_t warp, SyncClock& into);
  /// The warp learns what was released into `from`.
  void acquire(uint32_t warp, const SyncClock& from);
  /// The warps of `waiting` have met at a barrier, none has gone on. `clock`: what others have released there.
  void meet(uint32_t waiting, SyncClock& clock);
  /// The lanes of one warp have synchronised.
  void warp_met(uint32_t warp);

  /// A fence: strong stores after it release what was before it, and what strong loads before it have read is acquired.
  void fence(uint32_t warp);
  /// A strong load from, or a strong store to, the flag at a generic address. A store takes the flag over; an `update`
  /// (an atomic) hands on what others have released there before.
  void strong_load(uint32_t warp, uint64_t address, Order order);
  void strong_store(uint32_t warp, uint64_t address, Order order, bool update);

 private:
  struct WarpClock {
    SyncClock known;
    uint32_t lanes_met = 0;
    uint32_t clear = 0;
    bool has_fenced = false, has_observed = false;
    SyncClock fenced;    ///< what the last fence released
    SyncClock observed;  ///< what strong loads have read, for the next fence to acquire
  };

  void update_clear(uint32_t warp);

  uint32_t warps_ = 0;
  uint32_t start_ = 0, now_ = 0, last_meeting_ = 0;
  std::array<WarpClock, max_warps> of_{};
  std::unordered_map<uint64_t, SyncClock> flags_;  ///< by generic address
};

}  // namespace sim
