/// Which registers of a warp an asynchronous product uses, and which were written since the warp's last wgmma.fence.
/// Only kernels with wgmma are watched: it takes a look at every instruction's registers.
#pragma once

#include <cstdint>
#include <vector>

namespace sim {

class RegisterWatch {
 public:
  enum class Use : uint8_t { none, factor, sum };  ///< what a product in flight has of a register

  /// Begins anew, for registers of so many bytes in all.
  void start(uint32_t register_bytes) {
    used_.assign(register_bytes / unit + 1, Use::none);
    written_.assign(register_bytes / unit + 1, 0);
    fences_ = 0;
    any_ = false;
  }

  void set(uint32_t offset, Use use) { used_[offset / unit] = use, any_ |= use != Use::none; }
  Use use(uint32_t offset) const { return used_[offset / unit]; }

  /// A wgmma.fence: what was written before may be used by products after it.
  void fence() { ++fences_; }
  bool has_fenced() const { return fences_ != 0; }
  void mark_written(uint32_t offset) { written_[offset / unit] = fences_ + 1; }
  bool written_since_fence(uint32_t offset) const { return written_[offset / unit] == fences_ + 1; }

  /// Whether an access gets in a product's way: any touch of a sum, a write to a factor.
  bool objects(uint32_t offset, bool writes) const {
    if (!any_) return false;
    const Use use = used_[offset / unit];
    return use == Use::sum || (use == Use::factor && writes);
  }

 private:
  static constexpr uint32_t unit = 64;  ///< bytes: no two registers that a product may use share so many

  std::vector<Use> used_;
  std::vector<uint32_t> written_;  ///< number of the fence that it awaits
  uint32_t fences_ = 0;
  bool any_ = false;
};

}  // namespace sim
