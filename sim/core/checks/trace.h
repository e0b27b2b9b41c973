/// What the first requests of one warp touched: which lane which address, which box TMA copied, what wgmma read, and
/// which element of a fragment each lane's registers hold. Recorded only where somebody asks for it, for pictures and
/// for readers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/checks/events.h"
#include "core/checks/pattern.h"

namespace sim {

/// A copy that one lane asked TMA for.
struct TracedCopy {
  /// Of a tensor. A bulk copy without a map has none.
  struct Box {
    std::string type;            ///< of an element
    std::vector<int32_t> start;  ///< coordinates of the first element, the innermost dimension first
    std::vector<uint32_t> size;  ///< elements along each dimension
    uint32_t swizzle = 0;        ///< bytes of its span, 0 without
  };

  uint32_t lane = 0;
  bool stores = false;  ///< to global memory; else it reads there
  std::optional<Box> box;
  std::optional<uint64_t> global;  ///< address of the first element; none between blocks
  uint64_t within = 0;             ///< an address in the same allocation, wherever the first element is
  uint64_t global_bytes = 0;       ///< that lie in the tensor
  std::optional<uint32_t> shared;  ///< address of the first byte in a block's shared memory
  uint32_t shared_bytes = 0;       ///< from the first to the last
  std::vector<uint32_t> blocks;    ///< numbers in the cluster of those whose shared memory it is
};

/// An operand of wgmma in shared memory; of A, what the warp reads.
struct TracedOperand {
  uint64_t descriptor = 0;
  uint32_t start = 0, leading = 0, stride = 0, base_offset = 0,
           swizzle = 0;  ///< its fields, in bytes but for the offset
  bool k_major = true;
  uint32_t first_line = 0, lines = 0;                     ///< rows of A or columns of B
  std::vector<std::pair<uint32_t, uint32_t>> spans = {};  ///< addresses and bytes, without gaps
};

/// A warp's access to memory. A copy has two sides; any other access has one. What the asynchronous units do is `copy`
/// or `operands`, by name, instead.
struct TracedRequest {
  uint64_t order = 0;      ///< among all that the trace holds
  uint64_t execution = 0;  ///< which execution of its instruction it is part of
  std::optional<Lanes> global, shared;
  std::optional<TracedCopy> copy = {};
  std::map<std::string, TracedOperand> operands = {};
  uint32_t stores_under_way = 0;  ///< at a product: copies to global memory that nobody in the block has waited for
  bool stores_global = false, stores_shared = false;
};

/// Which element of a tensor-core instruction's operand each lane holds, in the order of its registers; of two 16-bit
/// elements in a register the lower half comes first. Copies that an instruction asks for are left out.
struct TracedFragment {
  std::string name;
  uint32_t rows = 0, cols = 0;
  uint32_t element_bits = 0;
  using Element = std::pair<uint32_t, uint32_t>;  ///< row and column
  std::array<std::vector<Element>, warp_size> elements;
};

/// What one instruction of the traced warp did.
struct TracedInstruction {
  std::vector<TracedRequest> requests;
  std::map<std::string, std::string> fragments;  ///< name of the fragment, by operand
};

/// The trace of one warp in one launch. Only the host's thread that runs this warp writes to it.
class Trace {
 public:
  /// Of each instruction the first `most_requests` are kept; `warp`: its number in the first block of the grid.
  Trace(uint32_t warp, uint32_t most_requests) : warp(warp), most_requests_(most_requests) {}
  /// Of the warp with this number in its cluster: accesses by lanes become events, and nothing is kept here.
  Trace(uint32_t agent, Events& events) : warp(agent), most_requests_(0), events_(&events) {}

  /// The lanes' access to global or shared memory, as counted. `execution`: a number that differs from one execution of
  /// the instruction `site` to the next.
  void global(uint32_t site, uint64_t execution, const Lanes& lanes, bool store);
  void shared(uint32_t site, uint64_t execution, const Lanes& lanes, bool store);

  /// A copy by TMA, and the operands of a wgmma.
  void copies(uint32_t site, uint64_t execution, TracedCopy copy);
  void multiplies(uint32_t site, uint64_t execution, std::map<std::string, TracedOperand> operands,
                  uint32_t stores_under_way);

  /// The instruction `site` has an operand that is laid out like this. `make` is called where `name` is new.
  template <class Make>
  void holds(uint32_t site, const std::string& operand, const std::string& name, Make make) {
    if (events_) return;
    instructions_[site].fragments[operand] = name;
    if (!fragments_.contains(name)) fragments_[name] = make();
  }

  /// By the number of the instruction.
  const std::map<uint32_t, TracedInstruction>& instructions() const { return instructions_; }
  const std::map<std::string, TracedFragment>& fragments() const { return fragments_; }

  const uint32_t warp;

 private:
  /// The request that a part belongs to: the last one, where that is of the same execution and lacks this part. Null
  /// when the instruction has as many as are kept.
  TracedRequest* request(uint32_t site, uint64_t execution, std::optional<Lanes> TracedRequest::* part);
  /// One more request; null likewise.
  TracedRequest* next(uint32_t site, uint64_t execution);

  const uint32_t most_requests_;
  Events* const events_ = nullptr;
  uint64_t next_ = 0;
  std::map<uint32_t, TracedInstruction> instructions_;
  std::map<std::string, TracedFragment> fragments_;
};

}  // namespace sim
