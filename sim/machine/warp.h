/// A warp: 32 lanes in lock step, its registers, and which of its lanes are where.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "machine/program.h"
#include "machine/types.h"

namespace sim {

class Block;

class Warp {
 public:
  enum class State : uint8_t { running, at_barrier, done };

  /// Registers live in memory that the worker keeps from block to block.
  Warp(Block& block, uint32_t index, std::byte* registers) : block(block), index(index), registers(registers) {}

  /// Puts every lane of `lanes` at the first instruction.
  void start(uint32_t lanes);

  /// Runs until the warp waits at a barrier, ends, or the launch is given up.
  void run();

  /// The 32 lanes of a register.
  template <class T>
  T* lanes(uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
  uint32_t& predicate(uint32_t offset) { return *lanes<uint32_t>(offset); }

  /// Number of the instruction being executed.
  uint32_t here() const { return pc - 1; }

  void branch(uint32_t target);
  void exit();

  /// Lets other lanes of the warp come to this instruction before it is executed. False when the caller must return at
  /// once and will be called again; true when `needed` lanes (or all that are left) are here, or can never be.
  bool gather(uint32_t needed);

  Block& block;
  const uint32_t index;
  std::byte* const registers;

  uint32_t exec = 0;     ///< lanes that the current instruction acts on: at pc, and its guard true
  uint32_t active = 0;   ///< lanes at pc
  uint32_t live = 0;     ///< lanes that have not exited
  uint32_t started = 0;  ///< lanes that exist
  uint32_t pc = 0;       ///< already moved on while an instruction is executed
  State state = State::done;
  uint64_t budget = 0;  ///< instructions left before the launch is called endless

 private:
  /// Lanes that are elsewhere than `active`.
  struct Group {
    uint32_t pc;
    uint32_t lanes;
    bool waits;  ///< at an instruction that needs other lanes
  };

  void regroup();
  bool resume_another();

  std::vector<Group> parked_;
  uint32_t rejoin_ = ~0u;  ///< lowest pc of a parked group that does not wait: the least pc runs first
};

}  // namespace sim
