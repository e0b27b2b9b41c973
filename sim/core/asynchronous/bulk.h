/// What the bulk copies of one dimension and those of tensors have in common: addresses, checks, counting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/asynchronous/reduction.h"
#include "core/machine/cluster.h"
#include "core/warp/decode.h"

namespace sim {

/// An address operand, shorter than AddressOperand: bulk copies have three of them.
struct Pointer {
  uint32_t base = 0;  ///< register
  int32_t offset = 0;
  bool wide = true;  ///< the register has 64 bits
};

Pointer pointer(Builder& builder, const ptx::Operand& written);
/// A lane's address, in the space that the instruction says.
uint64_t address_of(Warp& warp, uint32_t lane, const Pointer& pointer);

/// A place in the shared memory of a block of the cluster.
struct Spot {
  Block* block;
  uint32_t offset;
};
/// Where a lane's pointer to shared memory leads. What is no multiple of `alignment`, or does not have `bytes` bytes
/// there, is reported under the name `what`, and the launch is given up: none.
std::optional<Spot> shared_spot(Warp& warp, uint32_t lane, const Pointer& pointer, uint32_t bytes, uint32_t alignment,
                                const char* what);
/// The mbarrier that a lane names, which has to be one and to be in the block of the data. Reported as above.
std::optional<AsyncTransfer::Signal> signal_of(Warp& warp, uint32_t lane, const Pointer& pointer, const Spot& data,
                                               uint32_t bytes);
/// The blocks that a copy into shared memory is for, one bit each: with a multicast those that the register `mask` has,
/// else that of `to`.
uint32_t receiver_mask(Warp& warp, uint32_t lane, bool multicast, uint32_t mask, const Spot& to);
/// Issues a copy into shared memory: for each block of `mask` that which copy_to(spot) makes, `spot` being where `to`
/// is in that block. `signal` is told there. Counts what is delivered, and what a multicast saved of the bytes that are
/// `read` from global memory. A block that the cluster does not have, or without the mbarrier, is reported as above.
void issue_to_receivers(Warp& warp, uint32_t lane, uint32_t mask, const Spot& to, const AsyncTransfer::Signal& signal,
                        uint64_t read, const std::function<AsyncTransfer(const Spot&)>& copy_to);

/// Whether the bytes lie in one allocation and, for a store, may be written; if not, reported as above. `of_what` ends
/// the sentence.
bool check_bulk_global(Warp& warp, uint32_t lane, uint64_t address, uint64_t bytes, bool store,
                       const std::string& of_what);

/// Counts the sectors of bytes that one copy touches one after the other.
class SectorCount {
 public:
  void add(uint64_t address, uint32_t bytes) {
    const uint64_t first = address / 32, last = (address + bytes - 1) / 32;
    count_ += last - first + (count_ == 0 || first != last_);
    last_ = last;
  }
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0, last_ = 0;
};

/// Counts a copy of so many bytes from or to global memory.
void count_bulk(Warp& warp, uint64_t bytes, const SectorCount& sectors);

/// The register of a multicast's mask and the cache policy that may follow it: operands from `next` on. The policy is
/// checked and, like caches, without effect. 0 without a multicast.
uint32_t multicast_mask(Builder& builder, size_t next);

/// The operation that the opcode of a reduction names.
Reduce reduce_named(const Builder& builder);

/// Reports what makes the copy impossible, as the hardware traps.
void refuse_bulk(Warp& warp, uint32_t lane, Finding kind, const std::string& why);

}  // namespace sim
