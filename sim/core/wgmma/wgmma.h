/// wgmma: products of a warpgroup, which go on while its warps do.
///
/// The four warps of a warpgroup issue the instruction each at its own time. Here each warp's 16 rows are a product of
/// their own, since a warp's rows depend on no register of another: it may run as soon as its warp has issued it, and a
/// mistake in the order of waits shows under some schedule. That the four execute the same sequence with the same
/// descriptors is checked apart. What is committed is a group of the whole warpgroup: a wait is over when the products
/// of all four warps are complete, so that one thread may tell others that the operands can be overwritten.
///
/// From its issue until a wgmma.wait_group covers it, a product owns its registers: the sums hold poison in the warp's
/// registers, their values live here. Whoever touches them is reported.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <vector>

#include "core/checks/shadow.h"
#include "core/tensor/sparse.h"
#include "core/tensor/tensor.h"
#include "core/warp/register_watch.h"
#include "core/wgmma/descriptor.h"

namespace sim {

class Block;

inline constexpr uint32_t warps_of_group = 4;

/// An instruction, as decoded.
struct Wgmma {
  uint32_t d, a;  ///< registers of D, and of A where it is in registers, in Program::operand_lists
  uint32_t a_descriptor, b_descriptor;  ///< registers
  uint32_t scale_d;                     ///< predicate
  uint16_t columns;                     ///< of B: N
  Factor a_type, b_type;
  Sum sum;
  bool a_in_registers, negates, a_transposed, b_transposed, saturates;

  // Of a sparse A.
  bool sparse;
  uint32_t metadata;  ///< register
  Sparsity sparsity;

  uint32_t stored_k() const { return a_type == Factor::b1 ? 256 : 32 / bytes_of(a_type); }  ///< of A
  uint32_t k() const { return sparse ? 2 * stored_k() : stored_k(); }
  uint32_t chunks_of_b() const { return sparse ? 4 : 2; }   ///< 16 bytes of k each
  uint32_t tiles_of_b() const { return k() > 32 ? 2 : 1; }  ///< along k
  uint32_t sum_registers() const { return columns / 8 * (sum == Sum::f16 ? 2 : 4); }
};

/// The products of a block's warps.
class Products {
 public:
  explicit Products(Block& block) : block_(block) {}

  /// Forgets those of the block before.
  void start();

  void issue(Warp& warp, const Wgmma& wgmma);
  void fence(Warp& warp);
  void commit(Warp& warp);
  void wait(Warp& warp, uint64_t left);

  /// Before each instruction of a kernel with wgmma: looks at its registers.
  void watch(Warp& warp);

  /// A warp has ended: those that wait for it look again.
  void end_warp();
  /// The block has ended: warps of one group that executed different numbers of instructions are reported.
  void end();

  /// What a warp has under way: products that it has not waited for, groups that it has committed.
  struct State {
    uint64_t issued = 0, committed = 0, under_way = 0;
  };
  State state_of(uint32_t warp) const;

 private:
  /// Sums in flight, of one warp.
  struct Sums {
    uint32_t d, count;  ///< registers, in Program::operand_lists
    Sum type;
    std::vector<TileC> tiles;  ///< of 8 columns each
    uint32_t products = 0;     ///< that have not been waited for
  };
  /// The bytes of an operand: from the first to the last, and piece by piece.
  struct Layout {
    Span all{~0u, 0};
    std::vector<Span> exact;
    std::vector<Span> joined;         ///< pieces with small gaps taken together
    std::vector<uint32_t> addresses;  ///< of 16 bytes each: line by line, chunk by chunk
  };
  struct Product {
    Wgmma wgmma;
    uint64_t number;
    uint64_t group;       ///< how many groups the warp had committed before
    const Layout *a, *b;  ///< null: A is in registers
    Metadata metadata;    ///< of a sparse A
    bool adds;            ///< to what is in D
    uint32_t site;
    std::list<Sums>::iterator sums;
    bool done = false;
  };
  struct OfWarp {
    RegisterWatch registers;
    std::deque<Product> under_way;
    std::list<Sums> sums;
    uint64_t issued = 0, committed = 0;
    uint64_t instructions = 0;  ///< of the group's sequence that it has executed
  };
  /// An instruction that the warps of a group have in common.
  struct Step {
    uint32_t site;
    uint64_t a, b;
    bool adds;
    bool operator==(const Step&) const = default;
  };
  struct Group {
    std::deque<Step> steps;
    uint64_t first = 0;     ///< number of the first of them
    uint64_t complete = 0;  ///< groups of products, of all its warps
    uint32_t agent = ~0u;   ///< that reads their operands, once some were complete
    SyncClock done;         ///< what whoever waited for them knows
  };
  /// One operand in shared memory, or a warp's part of it.
  struct Operand {
    char name;  ///< A or B
    const MatrixDescriptor& at;
    bool k_major;
    uint32_t first_line, lines;    ///< rows of A or columns of B where K-major, else k
    uint32_t first_chunk, chunks;  ///< of 16 bytes
  };

  bool agrees(Warp& warp, const Step& step);
  const Layout& layout_of(const Operand& operand);
  bool all_have_committed(Warp& warp, uint64_t groups);
  void complete(Warp& warp, uint64_t groups);
  void check_registers(Warp& warp, const Wgmma& wgmma);
  const Layout* read_operand(Warp& warp, const Operand& operand, std::vector<Span>& spans);
  void trace(Warp& warp, const Wgmma& wgmma, uint64_t a_descriptor, const Operand& a, uint64_t b_descriptor,
             const Operand& b);
  void check_swizzle(Warp& warp, const Operand& operand, uint32_t line, uint32_t chunk, uint32_t address);
  std::list<Sums>::iterator take_sums(Warp& warp, const Wgmma& wgmma);
  void run_up_to(uint32_t warp, uint64_t number);
  void run(uint32_t warp, Product& product);
  void run_integers(uint32_t warp, Product& product);
  /// The warp's 16 rows of A as bytes: by half of k, then rows 0 to 7 and 8 to 15.
  void read_a(uint32_t warp, const Product& product, Matrix (&parts)[2][2]) const;
  /// All of B as bytes, in `bytes_`: by eight columns, then by 16 bytes of k.
  void read_b(const Product& product);
  /// All of B, by eight columns, then by 32 of k.
  const std::vector<TileB>& load_b(const Product& product);
  OfWarp& of(const Warp& warp) { return of_warp_[warp.index]; }
  const uint32_t* list(uint32_t first) const;
  void release(Warp& warp, Sums& sums);

  Block& block_;
  std::map<std::array<uint32_t, 8>, Layout> layouts_;  ///< by descriptor and part: a kernel has few
  std::vector<Span> spans_;                            ///< of the instruction being issued
  std::vector<OfWarp> of_warp_;
  std::vector<Group> groups_;

  // The last operand B that was converted: the warps of a group, and groups that share it, need it one after the other.
  Factor last_type_{};
  bool last_transposed_ = false, last_sparse_ = false;
  std::vector<Matrix> last_bytes_, bytes_;  ///< bytes_: of the one being read
  std::vector<TileB> last_b_;
};

}  // namespace sim
