/// A warp: 32 lanes in lock step, its registers, and which of its lanes are where.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/types.h"
#include "core/warp/program.h"

namespace sim {

class Block;
class Trace;

class Warp {
 public:
  enum class State : uint8_t { running, waiting, done };

  /// What a waiting warp waits for.
  struct Wait {
    enum class Kind : uint8_t { barrier, mbarrier, cluster, registers, warpgroup };
    Kind kind = Kind::barrier;
    const Block* block = nullptr;  ///< whose mbarrier or registers
    uint32_t number = 0;           ///< of the barrier, of the warpgroup; the mbarrier's offset; registers of a thread
    uint64_t phase = 0;            ///< of the mbarrier
    uint32_t site = 0;             ///< the instruction that waits
  };

  /// `agent`: its number in the cluster. Registers live in memory that the worker keeps from block to block.
  Warp(Block& block, uint32_t index, uint32_t agent, std::byte* registers)
      : block(block), index(index), agent(agent), registers(registers) {}

  /// Puts every lane of `lanes` at the first instruction.
  void start(uint32_t lanes);

  /// Runs for a turn: until so many instructions are executed, the warp waits or ends, or the launch is given up.
  void run(uint64_t instructions);

  /// Called for an access that looks at what others may change. A turn in which lanes look ends soon, since whoever is
  /// looked for may need a turn, too.
  void poll();
  /// Whether all that the last turn is known to have done is to look.
  bool only_polled() const { return polled_ && left_ == 0 && state == State::running; }

  /// The 32 lanes of a register.
  template <class T>
  T* lanes(uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
  uint32_t& predicate(uint32_t offset) { return *lanes<uint32_t>(offset); }

  /// The lanes that execute the instruction; all_lanes where they are all that are left.
  uint32_t acting() const { return exec == live ? all_lanes : exec; }

  /// Number of the instruction being executed.
  uint32_t here() const { return pc - 1; }
  /// How often this worker's warps have executed it, this time included.
  uint64_t executions() const;
  /// Instructions that it has executed: what stands for a clock.
  uint64_t ticks() const;

  /// The current instruction cannot go on: the warp stops running until Cluster::wake, and executes it again. Until
  /// then nothing may have been done.
  void wait_again(Wait wait);
  /// Where the lanes that wait are not all of the warp, and others can run, these get a turn.
  bool pass_over();

  void branch(uint32_t target);
  void exit();

  /// Lets other lanes of the warp come to this instruction before it is executed: for handle_together, which see. False
  /// when the caller must return at once and will be called again; true when `needed` lanes (or all that are left) are
  /// here, or can never be.
  bool gather(uint32_t needed);

  /// The lanes are together: what they have read from shared memory so far, any of them may overwrite.
  void order_reads() {
    if (tells_readers) tell_lanes_apart_anew();
  }

  Block& block;
  const uint32_t index;  ///< in the block
  const uint32_t agent;
  std::byte* const registers;

  uint32_t exec = 0;     ///< lanes that the current instruction acts on: at pc, and its guard true
  uint32_t active = 0;   ///< lanes at pc
  uint32_t live = 0;     ///< lanes that have not exited
  uint32_t started = 0;  ///< lanes that exist
  uint32_t pc = 0;       ///< already moved on while an instruction is executed
  State state = State::done;
  Wait waits_for{};
  bool timed_out = false;                ///< its next try_wait returns, though the phase is not complete
  uint32_t came_to_cluster_barrier = 0;  ///< lanes that have not waited since
  uint64_t cluster_phase = 0;            ///< at which they came
  bool tells_readers = false;  ///< it is remembered which lanes read shared memory: see Program::overwrites_reads
  Trace* trace = nullptr;      ///< where what this warp does is written down; null for all warps but one, if that

 private:
  /// Lanes that are elsewhere than `active`.
  struct Group {
    uint32_t pc;
    uint32_t lanes;
    bool waits;  ///< at an instruction that needs other lanes
  };

  void tell_lanes_apart_anew();
  template <bool watches_registers>
  void run_instructions(uint64_t instructions);
  void regroup();
  bool others_can_run() const;  ///< some of those that are parked
  bool resume_another();
  void end_turn(uint64_t instructions);
  void let_others_pass();

  std::vector<Group> parked_;
  uint32_t rejoin_ = ~0u;      ///< lowest pc of a parked group that does not wait: the least pc runs first
  bool out_of_order_ = false;  ///< the active lanes are not those with the least pc
  bool polled_ = false;        ///< in this turn
  uint64_t left_ = 0;          ///< instructions of this turn
  uint64_t budget_ = 0;        ///< instructions after this turn before the launch is called endless
  uint64_t patience_ = 0;      ///< of lanes that could run, but are not at the least pc
};

}  // namespace sim
