/// What one instruction has done: added up by each worker alone, then summed.
#pragma once

#include <cstdint>
#include <vector>

namespace sim {

struct Tally {
  uint64_t global_requests = 0;
  uint64_t global_sectors = 0;
  uint64_t shared_requests = 0;
  uint64_t shared_wavefronts = 0;
  uint64_t shared_conflicts = 0;
  uint64_t copied_sectors = 0;  ///< of cp.async, as the L1 counts them: see asynchronous.cpp
  uint64_t divergent = 0;       ///< executions of a branch that split the warp
  // Of bulk copies, a request for each thread that asks for one:
  uint64_t bulk_requests = 0;
  uint64_t bulk_bytes = 0;      ///< read from or written to global memory
  uint64_t bulk_sectors = 0;    ///< the sectors of these
  uint64_t bulk_delivered = 0;  ///< bytes written to shared memory, in all blocks that receive
  uint64_t bulk_saved = 0;      ///< bytes that blocks received and that were read for another one: by multicast

  Tally& operator+=(const Tally& other) {
    global_requests += other.global_requests;
    global_sectors += other.global_sectors;
    shared_requests += other.shared_requests;
    shared_wavefronts += other.shared_wavefronts;
    shared_conflicts += other.shared_conflicts;
    copied_sectors += other.copied_sectors;
    divergent += other.divergent;
    bulk_requests += other.bulk_requests;
    bulk_bytes += other.bulk_bytes;
    bulk_sectors += other.bulk_sectors;
    bulk_delivered += other.bulk_delivered;
    bulk_saved += other.bulk_saved;
    return *this;
  }
};

/// One number per instruction of the kernel. Executions are apart: they are the ones counted all the time.
struct Tallies {
  explicit Tallies(size_t instructions) : executed(instructions), of(instructions) {}

  Tallies& operator+=(const Tallies& other) {
    for (size_t i = 0; i < of.size(); ++i) {
      executed[i] += other.executed[i];
      of[i] += other.of[i];
    }
    return *this;
  }

  std::vector<uint64_t> executed;
  std::vector<Tally> of;
};

}  // namespace sim
