/// What happens between the warps of one block or cluster, in the order in which it happens: who arrives where, which
/// copies begin and land, who waits for what, and which event let it go on. Recorded only where somebody asks for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/checks/pattern.h"
#include "core/checks/reports.h"

namespace sim {

struct Event {
  enum class Kind : uint8_t {
    barrier_arrive,
    barrier_complete,
    mbarrier_init,
    mbarrier_expect,
    mbarrier_arrive,
    mbarrier_wait,  ///< the warp stops: the phase is not complete
    mbarrier_pass,  ///< a wait has ended
    mbarrier_complete,
    copy_issue,  ///< by the async proxy
    copy_land,
    bulk_commit,
    bulk_wait,
    cp_async_issue,
    cp_async_commit,
    cp_async_wait,
    wgmma_issue,
    wgmma_commit,
    wgmma_wait,
    fence,
    registers,
    registers_wait,
    warpgroup_wait,
    cluster_arrive,
    cluster_wait,
    cluster_pass,
    cluster_complete,
    access,
    exit,
    left_out,  ///< an arrival that whoever asked for the events has taken away
  };
  static constexpr uint32_t nobody = ~0u;  ///< as an agent or a site: what the hardware does on its own
  static constexpr uint64_t none = ~uint64_t{0};

  struct Register {
    std::string name;
    std::array<uint64_t, warp_size> lanes;
  };
  /// The lanes' side of an access to memory.
  struct Access {
    Lanes lanes;
    bool shared, store;
    std::vector<Register> registers = {};  ///< of the instruction, once it has been executed
  };

  Kind kind{};
  uint32_t agent = nobody, site = nobody;
  uint32_t owner = 0;                    ///< number in the cluster of the block whose barrier it is
  std::optional<uint32_t> barrier = {};  ///< its number; of an mbarrier the offset in shared memory
  std::optional<int64_t> phase = {};     ///< of the mbarrier or the cluster's barrier; -1: before the first
  std::optional<int64_t> bytes = {};     ///< that are copied or expected
  std::optional<uint64_t> group = {};    ///< that it belongs to; of a wait: groups that are complete from now on
  std::optional<uint64_t> copy = {};     ///< its number among the cluster's
  std::optional<uint32_t> shared = {};   ///< first address that a copy writes, or reads, in the block `owner`
  uint32_t times = 1;                    ///< lanes or instructions that did the same, one after the other
  std::optional<uint32_t> missing = {};  ///< arrivals, after it
  uint32_t expected = 0;                 ///< arrivals in a phase
  int64_t missing_bytes = 0;             ///< expected less completed, after it
  uint32_t goes_on = 0;                  ///< warps of the block that stop waiting, a bit each
  uint64_t cause = none;                 ///< number of the event that let it happen
  uint32_t stamp = 0;                    ///< the cluster's logical time
  std::vector<uint32_t> seen = {};       ///< the warp's vector clock, where it has just learnt something
  std::optional<Access> access = {};
};

/// The name of a kind in JSON.
const char* name(Event::Kind kind);

/// Of one cluster in one launch. Only the host's thread that runs this cluster writes to it.
class Events {
 public:
  struct Asked {
    uint64_t cluster = 0;                  ///< its number in the grid
    uint64_t first = 0, most = 1u << 16;   ///< the window that is kept
    bool clocks = false;                   ///< with what each event lets its warp know
    bool accesses = false;                 ///< of every warp to memory, with lanes and registers
    std::optional<uint64_t> without = {};  ///< the number of an arrival that does not take place
  };
  /// A register that an instruction names.
  struct Named {
    std::string name;
    uint32_t offset, bytes;
  };

  /// Two accesses that a finding is about.
  struct Found {
    uint64_t after;  ///< events before the second access
    Finding kind;
    bool warning;
    Unordered two;
  };

  explicit Events(Asked asked) : asked(asked) {}

  /// Adds an event, or one more time to the last one where it is the same again. Its number.
  uint64_t add(Event event);
  /// Before an arrival: whether it is the one that is taken away, which is noted then.
  bool leaves_out(const Event& arrival);
  /// A warp stops. Where it has stopped for the same before, and done nothing since, nothing is added.
  void waits(Event event);

  /// The event that ended this phase; none where it is not known.
  uint64_t completion(uint32_t owner, uint32_t barrier, int64_t phase) const;
  void completes(uint32_t owner, uint32_t barrier, int64_t phase, uint64_t number);
  /// The event that issued the transfer of this number.
  uint64_t issue(uint64_t copy) const;

  void accesses(uint32_t agent, uint32_t site, const Lanes& lanes, bool shared, bool store);
  /// An instruction has been executed: the registers of its access as they are now.
  void executed(const std::byte* registers);

  uint64_t count() const { return next_; }
  /// What lies in the window; the first has the number `asked.first`.
  std::vector<Event> kept() const;

  const Asked asked;
  std::vector<std::vector<Named>> named;  ///< by site, where registers are wanted
  std::vector<Found> unordered;           ///< once for each kind of finding and pair of instructions, in their order

 private:
  Event* last();
  bool is_again(const Event& event);

  uint64_t next_ = 0;
  std::vector<Event> events_;  ///< from the start to the window's end
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint64_t> completions_;
  std::map<uint64_t, uint64_t> issues_;
  std::map<uint32_t, Event> stopped_;  ///< by agent: for what it has stopped, where that was the last that it did
  bool access_open_ = false;
};

}  // namespace sim
