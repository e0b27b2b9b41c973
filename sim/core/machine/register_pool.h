/// The registers of a block, which its warps hand to each other by setmaxnreg (PTX ISA 9.7.20.5).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/types.h"
#include "core/warp/program.h"

namespace sim {

class RegisterPool {
 public:
  static constexpr uint32_t per_multiprocessor = 64 << 10;
  static constexpr uint32_t least = 24, most = 256, step = 8;  ///< of a thread, by setmaxnreg

  /// For a block of so many warps. How many registers ptxas gives a thread follows from the kernel's launch bounds; 0
  /// where it has none, as setmaxnreg needs them.
  RegisterPool(const Program& program, uint32_t warps) : of_warp_(warps) {
    if (program.max_registers != 0)
      per_thread_ = program.max_registers;
    else if (program.max_threads != 0)
      per_thread_ = std::min(per_multiprocessor / (program.max_threads * program.min_blocks) / step * step, most);
    start();
  }

  void start() {
    std::fill(of_warp_.begin(), of_warp_.end(), per_thread_);
    left_ = 0;
  }

  uint32_t per_thread() const { return per_thread_; }
  uint32_t of_warp(uint32_t warp) const { return of_warp_[warp]; }
  uint32_t size() const { return per_thread_ * warp_size * static_cast<uint32_t>(of_warp_.size()); }
  uint32_t left() const { return left_; }

  /// Gives the warp's threads so many registers each. False where not enough are left.
  bool set(uint32_t warp, uint32_t registers) {
    const uint32_t free = left_ + of_warp_[warp] * warp_size;
    if (registers * warp_size > free) return false;
    left_ = free - registers * warp_size;
    of_warp_[warp] = registers;
    return true;
  }

 private:
  uint32_t per_thread_ = 0, left_ = 0;
  std::vector<uint32_t> of_warp_;
};

}  // namespace sim
