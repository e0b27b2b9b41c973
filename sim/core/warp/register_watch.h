/// Which registers of a warp an asynchronous product uses, and which were written since the warp's last wgmma.fence.
/// Only kernels with wgmma are watched: it takes a look at every instruction's registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sim {

class RegisterWatch {
 public:
  enum class Use : uint8_t { none, factor, sum };  ///< what a product in flight has of a register

  /// Begins anew, for registers of so many bytes in all: the same for each block of a launch.
  void start(uint32_t register_bytes) {
    const size_t units = register_bytes / unit + 1;
    if (used_.size() != units) {
      used_.resize(units, Use::none);
      written_.resize(units, 0);
    }
    if (in_use_ != 0) std::fill(used_.begin(), used_.end(), Use::none);
    in_use_ = 0;
    first_fence_ = ++fences_;  // what the block before has written awaits none of this one's
  }

  void set(uint32_t offset, Use use) {
    Use& its = used_[offset / unit];
    in_use_ += uint32_t{use != Use::none} - uint32_t{its != Use::none};
    its = use;
  }
  Use use(uint32_t offset) const { return used_[offset / unit]; }

  /// A wgmma.fence: what was written before may be used by products after it.
  void fence() { ++fences_; }
  bool has_fenced() const { return fences_ != first_fence_; }
  void mark_written(uint32_t offset) { written_[offset / unit] = fences_ + 1; }
  bool written_since_fence(uint32_t offset) const { return written_[offset / unit] == fences_ + 1; }

  /// Whether an access gets in a product's way: any touch of a sum, a write to a factor.
  bool objects(uint32_t offset, bool writes) const {
    if (in_use_ == 0) return false;
    const Use use = used_[offset / unit];
    return use == Use::sum || (use == Use::factor && writes);
  }

 private:
  static constexpr uint32_t unit = 64;  ///< bytes: no two registers that a product may use share so many

  std::vector<Use> used_;
  uint32_t in_use_ = 0;            ///< of them
  std::vector<uint32_t> written_;  ///< number of the fence that it awaits
  uint32_t fences_ = 0, first_fence_ = 0;
};

}  // namespace sim
