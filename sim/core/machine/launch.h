/// One launch of a kernel: a grid of blocks, spread over the cores.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/checks/allocations.h"
#include "core/checks/events.h"
#include "core/checks/global_shadow.h"
#include "core/checks/reports.h"
#include "core/checks/tally.h"
#include "core/checks/trace.h"
#include "core/warp/program.h"

namespace sim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct Options {
  bool watch = true;                              ///< count and check; without, the kernel is only executed
  uint64_t max_instructions = uint64_t{1} << 28;  ///< of one warp, before the kernel is called endless
  double max_seconds = 600;                       ///< that a launch may take, as estimated from its first blocks
  unsigned threads = 1;                           ///< of the host
  uint64_t seed = 0;                              ///< of the order of blocks, warps and copies; 0: as they are numbered
};

struct Launch {
  const Program& program;
  Dim3 grid, block;
  uint32_t dynamic_shared_bytes;
  std::vector<std::byte> parameters;
  const Allocations& allocations;
  Reports& reports;
  Options options;
  Dim3 cluster{};  ///< blocks of one
  bool is_explicit_cluster = false;
  uint32_t multiprocessors = 132;  ///< that blocks are told of: dealt out to them one by one
  bool cooperative = false;        ///< no block waits for the end of another to begin
  Trace* trace = nullptr;          ///< of a warp of the first block, where it is asked for
  Events* events = nullptr;        ///< of the cluster that they name, likewise

  std::unique_ptr<GlobalShadow> global = {};  ///< of what it does to global memory; null where that is not watched
  std::unique_ptr<GlobalShadow> before =
      {};  ///< the same of the launch in front, where this one may begin before its end

  std::atomic<uint64_t> next_cluster = 0;
  std::atomic<uint64_t> done_blocks = 0;
  std::atomic<bool> given_up = false;  ///< a report after which nothing sensible can follow

  /// What cooperative_groups finds by two special registers: its length, and the barrier of the grid.
  std::array<uint32_t, 4> workspace{sizeof workspace};
  uint64_t grid_workspace() const { return cooperative ? reinterpret_cast<uint64_t>(workspace.data()) : 0; }

  uint32_t shared_bytes() const { return program.static_shared_bytes + dynamic_shared_bytes; }
  uint32_t threads() const { return static_cast<uint32_t>(block.count()); }
  uint32_t warps() const { return (threads() + 31) / 32; }
  uint64_t clusters() const { return grid.count() / cluster.count(); }
  /// Where in the grid the block of this rank in a cluster is.
  Dim3 index_of(uint64_t of_cluster, uint32_t rank) const;
  /// Nothing is known of global memory: before the first block begins.
  void begin_to_watch();
  /// How many clusters a worker may have begun: as many as fit into its part of a gigabyte.
  uint64_t most_begun_clusters() const;
};

/// Why a grid cannot be launched in such clusters; empty where it can. `non_portable`: more than 8 blocks are allowed.
std::string refused_cluster(Dim3 grid, Dim3 cluster, bool non_portable);

/// Runs the whole grid and returns what its instructions did. False in `launch.given_up` when it came to its end.
Tallies run(Launch& launch);

/// The same piece by piece, on the caller's thread alone.
class Run {
 public:
  explicit Run(Launch& launch);
  ~Run();

  /// Gives the warps of one cluster a turn each. False when there is nothing left to do.
  bool turn();
  /// What the instructions have done so far.
  Tallies tallies() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sim
