/// What the hardware does on its own, through the async proxy, once a thread has asked for it: bulk copies, copies of
/// tensors, the reads of operands by wgmma.
///
/// How an instruction uses it:
///  1. It fills in an AsyncTransfer: which bytes of shared memory, of which blocks, are read and written, and `move`,
///     a function that does it (from global memory, to registers, whatever). `move` is called once, at some time
///     between issue and completion: late where no seed is given, at a time drawn by lot where one is. Those of wgmma
///     are called in the order in which their warp issued them, all others in any order.
///  2. It says who is told. With a `signal`, an mbarrier counts the bytes as complete when they have moved, and whoever
///     waits for its phase knows of the transfer. Without, the transfer belongs to the issuing thread's next group of
///     its kind, which `commit` closes and `wait` waits for.
///  3. `issue` checks, and reports: what is read must have been written, by somebody of whom the issuer knows, and
///     behind a fence.proxy.async of the writer where the generic proxy wrote it; what is written must be free.
///     From then until completion, a touch of what is written and a write to what is read are reports, too.
/// Bounds and alignment are the instruction's business, before `issue`: see Block::holds. A multicast is a transfer for
/// each block that receives, so that they may land at different times. A warp-wide instruction takes its first lane.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/random.h"
#include "core/checks/global_shadow.h"
#include "core/checks/shadow.h"

namespace sim {

class Block;
class Cluster;
class Warp;

enum class AsyncKind : uint8_t { bulk, wgmma };

struct AsyncTransfer {
  /// Bytes of a block's shared memory.
  struct Part {
    Block* block;
    Span span;
  };
  struct Signal {
    Block* block;
    uint32_t mbarrier;  ///< its offset in the block's shared memory
    uint32_t bytes;
  };

  std::vector<Part> reads = {}, writes = {};
  std::optional<Signal> signal = {};
  AsyncKind kind = AsyncKind::bulk;  ///< of the group, where there is no signal
  bool checked = false;  ///< the instruction has checked what it reads, of which `reads` is the surroundings
  uint8_t swizzle = Shadow::unknown_swizzle;  ///< bytes of the pattern in which a tile is written; 0 without
  std::vector<GlobalSpan> reads_global = {}, writes_global = {};  ///< its bytes of global memory, where that is watched
  Scope scope = Scope::none;                                      ///< of a reduction there
  std::function<void()> move = {};
};

/// A cluster's transfers.
class AsyncProxy {
 public:
  explicit AsyncProxy(Cluster& cluster) : cluster_(cluster) {}

  /// Forgets those of the cluster before.
  void start();

  void issue(Warp& warp, uint32_t lane, AsyncTransfer transfer);
  /// What the thread has issued of this kind and not yet committed is its next group.
  void commit(const Warp& warp, uint32_t lane, AsyncKind kind);
  /// All but the last `left` groups of the thread are complete.
  void wait(Warp& warp, uint32_t lane, AsyncKind kind, uint64_t left);
  /// A thread's groups before this one are complete, for whoever knows of the agent.
  void complete(const Warp& warp, uint32_t lane, AsyncKind kind, uint64_t groups, uint32_t agent);

  /// The oldest transfer that an mbarrier waits for lands. False where there is none.
  bool land_oldest();
  /// Some land, by lot.
  void land_by_lot(Random& random);

  /// A block's last thread has ended: transfers that still use its shared memory are reported.
  void end_block(const Block& block);
  /// Bytes that an mbarrier will be told of.
  int64_t bytes_under_way(const Block& block, uint32_t mbarrier) const;
  /// Copies out of a block's shared memory into global memory that nobody has waited for.
  uint32_t stores_under_way(const Block& block) const;
  /// What nobody waited for lands in the end all the same.
  void land_all();

  /// A transfer as it is now.
  struct State {
    uint64_t number;             ///< in the order of issue
    uint32_t agent, lane, site;  ///< who issued it, by which instruction
    AsyncKind kind;
    bool landed;
    const AsyncTransfer& transfer;
  };
  /// Those that nobody knows to be complete yet, the oldest first.
  std::vector<State> under_way() const;

 private:
  using Thread = std::tuple<uint32_t, uint32_t, AsyncKind>;  ///< warp's agent, lane
  struct UnderWay {
    AsyncTransfer transfer;
    Thread thread;
    uint64_t number;  ///< in the order of issue
    uint64_t group;   ///< how many groups the thread had committed before
    uint32_t site;
    bool landed = false;
  };

  void land(UnderWay& each);
  void note_landing(const UnderWay& each);
  void end(UnderWay& each, uint32_t agent);

  Cluster& cluster_;
  std::list<UnderWay> under_way_;
  std::map<Thread, uint64_t> committed_;
  uint64_t issued_ = 0;
};

}  // namespace sim
