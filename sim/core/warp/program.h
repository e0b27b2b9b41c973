/// A kernel as the machine runs it: decoded once, one cache line per instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/ptx/syntax.h"

namespace sim {

class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

/// What an instruction is counted as.
enum class Class : uint8_t {
  fma,
  integer,
  floating,
  convert,
  move,
  predicate,
  load_global,
  store_global,
  load_shared,
  store_shared,
  cp_async,
  barrier,
  branch,
  tensor,
  shuffle,
  atomic,
  other,
  tma,
};
inline constexpr std::array<std::string_view, 18> class_names = {
    "fma",         "integer",      "float",       "convert",      "move",     "predicate",
    "load_global", "store_global", "load_shared", "store_shared", "cp_async", "barrier",
    "branch",      "tensor",       "shuffle",     "atomic",       "other",    "tma"};

/// What most instructions are made of: registers, as byte offsets into the warp's. Immediates and special registers
/// have registers of their own, so that a handler never asks what kind of operand it has.
struct Operands {
  std::array<uint32_t, 8> at{};
};

/// An instruction: its handler, its guard, and what the handler needs to know, in a struct of its own for each family
/// of instructions (`Operands`, or one that is declared beside the handlers).
struct alignas(64) Instruction {
  static constexpr size_t payload_bytes = 48;

  Handler run = nullptr;
  uint32_t guard = 0;       ///< predicate's offset; one that is always true where there is no guard
  uint32_t guard_flip = 0;  ///< all ones for `@!p`

  template <class Payload>
  const Payload& as() const {
    return *reinterpret_cast<const Payload*>(payload_.data());
  }
  template <class Payload>
  Payload& make() {
    static_assert(sizeof(Payload) <= payload_bytes && alignof(Payload) <= 8 && std::is_trivially_copyable_v<Payload>);
    return *new (payload_.data()) Payload{};
  }

 private:
  alignas(8) std::array<std::byte, payload_bytes> payload_{};
};
static_assert(sizeof(Instruction) == 64);

/// What a reader learns about an instruction.
struct Site {
  std::string text;  ///< opcode
  ptx::Location location;
  Class counted_as = Class::other;
  uint32_t text_line = 0;  ///< line of the PTX; 0 for a return that is not written
};

/// The special registers whose value a warp needs to be given.
enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  smid,
  nsmid,
  laneid,
  warpid,
  nwarpid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  dynamic_smem_size,
  total_smem_size,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,  ///< a predicate
  envreg1,              ///< the upper half of where a cooperative grid has its barrier
  envreg2,
};

struct Program {
  struct Constant {
    uint32_t offset;
    uint8_t bytes;  ///< of one lane; 0 for a predicate
    uint64_t value;
    bool is_shared = false;  ///< an offset in shared memory, to which a block adds where its own begins
  };
  struct SpecialRegister {
    uint32_t offset;
    Special which;
  };

  struct SharedVariable {
    std::string name;  ///< as mangled
    uint64_t offset;
    uint64_t bytes;  ///< 0 for one that is as long as the launch says
  };

  std::string name;  ///< as mangled
  std::vector<Instruction> code;
  std::vector<Site> sites;  ///< one for each instruction
  std::vector<std::string> files;
  ptx::Location location;  ///< of the kernel

  uint32_t register_bytes = 0;  ///< of one warp
  std::vector<Constant> constants;
  struct NamedRegister {
    std::string name;  ///< as PTX has it
    ptx::Width width;
    uint32_t offset;
  };
  std::vector<NamedRegister> registers;
  std::vector<SpecialRegister> specials;

  /// Which registers each instruction uses, for kernels in which products go on asynchronously.
  struct RegisterUse {
    uint32_t offset;
    bool writes;
  };
  std::vector<RegisterUse> register_uses;
  std::vector<uint32_t> first_use;  ///< by instruction: its first in the above; one more at the end
  bool reads_clock = false;
  bool watches_registers = false;  ///< it has wgmma

  std::vector<uint32_t> operand_lists;  ///< registers of instructions that have more than fit into them

  uint32_t parameter_bytes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  ///< offset and bytes of each
  uint32_t static_shared_bytes = 0;                       ///< dynamic shared memory starts here, aligned
  std::vector<SharedVariable> shared_variables;
  uint32_t local_bytes = 0;           ///< of one lane
  uint32_t max_threads = 0;           ///< `.maxntid`
  uint32_t min_blocks = 1;            ///< of a multiprocessor, by `.minnctapersm`
  uint32_t max_registers = 0;         ///< of a thread, by `.maxnreg`
  std::array<uint32_t, 3> cluster{};  ///< `.reqnctapercluster`; zeros where there is none
  bool is_explicit_cluster = false;   ///< `.explicitcluster`
  uint32_t memos = 0;                 ///< memory instructions, for the memoised address patterns
  uint32_t granule_bytes = 4;         ///< smallest access to shared memory: what the race detector tells apart
  uint32_t global_granule_bytes = 4;  ///< the same of global memory
  bool overwrites_reads = false;      ///< see ptx::may_overwrite_reads
  bool syncs_grid = false;            ///< it has a fence, a release or an acquire that reaches all blocks
  uint32_t narrow_fence = ~0u;        ///< the first one that does not
  uint32_t register_count = 0;        ///< 32-bit registers that PTX names (not what ptxas would allocate)

  /// "04_smem_padding/kernel.cu:12", the path shortened to its last two components, and the line that called it.
  std::string where(const ptx::Location& location) const;
};

}  // namespace sim
