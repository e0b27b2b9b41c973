/// Where a value goes, and where it came from, with no rule for any instruction: the machine runs a cluster twice, the
/// second time with another value in one element of global memory. What differs between the two came from there.
///
/// Both runs take the same steps: in turn an instruction of every warp, and where none can run, what is under way
/// lands. Each has global memory of its own. Whoever runs a kernel as usual pays nothing for this, since no handler
/// knows of it.
///
/// What it cannot see: an element whose effect is lost, as in a product with zero, has none. A kernel whose branches
/// depend on the element is followed to the first branch that the two runs take differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/cluster.h"
#include "core/machine/memory_image.h"

namespace sim {

/// A place that an element's value has come to.
struct Mark {
  enum class Kind : uint8_t {
    registers,  ///< lanes of a warp's register
    shared,     ///< bytes of a block's shared memory
    operand,    ///< a matrix of mma or wgmma: a product is about to use it
    global,     ///< bytes of global memory
  };

  /// The access by which it came, where lanes made one; a copy by the async proxy has `box` instead.
  struct Access {
    Lanes lanes;         ///< addresses, of global memory or offsets in the block's shared memory
    bool shared, store;  ///< which memory, and what was done to it
  };

  Kind kind{};
  uint64_t step = 0;  ///< how many steps the cluster had made before
  uint32_t rank = 0, warp = 0, site = 0;
  uint32_t lanes = 0;         ///< of a register: those that have it. Of memory: those whose access it was
  bool sum = false;           ///< not the element itself, copied or converted, but what arithmetic has made with it
  std::string name;           ///< of the register, as PTX has it
  char of = 0;                ///< of an operand: 'A' or 'B'
  uint32_t bits = 0;          ///< of the register in a lane
  uint32_t first_byte = 0;    ///< of a register: the first that came from the element
  uint32_t owner = 0;         ///< of shared memory: the block's rank
  uint64_t address = 0;       ///< of the first byte, where it is in memory
  uint32_t bytes = 0;         ///< there, one after the other
  uint32_t row = 0, col = 0;  ///< of an operand: its place in the matrix that the instruction multiplies
  std::optional<Access> access = {};          ///< how it came
  std::optional<TracedCopy> copy = {};        ///< likewise, by TMA
  std::optional<TracedOperand> operand = {};  ///< of wgmma: what its descriptor says
  std::optional<uint64_t> issued_step = {};   ///< of a copy that has landed at `step`
};

class Provenance {
 public:
  /// An element of so many bytes at a global address.
  struct Element {
    uint64_t address;
    uint32_t bytes;
  };
  /// Where an element's value went.
  struct Followed {
    uint64_t cluster = 0;
    uint64_t steps = 0;
    std::vector<Mark> marks;     ///< in the order of steps
    std::vector<Element> feeds;  ///< bytes of global memory that the cluster writes otherwise, joined; by address
    bool diverged = false;       ///< a branch depends on the element: nothing is known of what came after
    bool cut = false;            ///< there were more marks, or steps, than are kept
  };
  /// A matrix in global memory.
  struct Array {
    uint64_t address;
    uint32_t element_bytes, rows, cols;
    uint64_t pitch;  ///< bytes from row to row
    uint64_t at(uint32_t row, uint32_t col) const { return address + row * pitch + uint64_t{col} * element_bytes; }
  };
  /// From where a value came: the least set of rows times the least set of columns, each made of fixed and free bits,
  /// that holds all elements which matter.
  struct Source {
    size_t array;
    std::vector<uint32_t> rows, cols;
  };
  static constexpr uint64_t at_the_end = ~uint64_t{0};

  /// Of a launch that has not run. Its global memory is restored after each call.
  explicit Provenance(const Launch& launch);
  ~Provenance();
  Provenance(const Provenance&) = delete;
  Provenance& operator=(const Provenance&) = delete;

  /// Follows an element through one cluster of the launch.
  Followed follow(Element element, uint64_t cluster);
  /// What the launch as a whole does with an element: the clusters that use it, and all that they write otherwise. Each
  /// cluster runs alone, so that it never waits for another.
  struct Uses {
    std::vector<uint64_t> clusters;
    std::vector<Element> feeds;
  };
  Uses uses_of(Element element);
  /// The cluster that writes this place; none where no cluster changes it.
  std::optional<uint64_t> writer_of(Element place);

  /// From where everything came that a cluster holds after so many steps: its shared memory and registers; at the end,
  /// what it has written to global memory. The cluster runs once for each bit of the arrays' row and column numbers,
  /// and once for each bit's contrary.
  class Origins {
   public:
    std::vector<Source> of_shared(uint32_t rank, uint32_t address, uint32_t bytes) const;
    /// `offset`: of the register in a warp's, `Program::registers` has it; `first`: a byte of its lanes.
    std::vector<Source> of_register(uint32_t rank, uint32_t warp, uint32_t offset, uint32_t first,
                                    uint32_t bytes) const;
    std::vector<Source> of_global(uint64_t address, uint32_t bytes) const;

   private:
    friend class Provenance;
    using Bytes = std::vector<bool>;  ///< a byte, or of registers four: whether it is another one
    struct Run {
      std::vector<Bytes> shared, registers, global;  ///< by rank, by warp of the cluster, by allocation
    };
    std::vector<Source> decoded(const std::vector<Bytes> Run::* memory, size_t number, uint64_t first,
                                uint64_t end) const;

    std::vector<Array> arrays_;
    std::vector<Run> runs_;
    std::vector<std::pair<uint64_t, uint64_t>> memory_;  ///< first address and bytes of each allocation
    uint32_t warps_ = 0;                                 ///< of a block
  };
  Origins origins(const std::vector<Array>& arrays, uint64_t cluster, uint64_t steps = at_the_end);

 private:
  struct Twin;
  struct Following;
  std::unique_ptr<Launch> launch() const;
  void run_whole(uint64_t cluster) const;
  static void change(Element element);

  const Launch& launch_;
  const MemoryImage memory_;  ///< as it was
};

}  // namespace sim
