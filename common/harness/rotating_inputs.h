// Copies of a problem, so that consecutive calls read data that the L2 cache has forgotten.
#pragma once

#include <memory>
#include <vector>

#include "common/harness/matrices.h"

/// A verified problem and as many more like it as fill the L2 cache twice over.
class RotatingInputs {
 public:
  /// At most this many: problems so small that it binds (under 100 KB with an L2 of 50 MB) are bound by their launch.
  static constexpr std::size_t MOST = 1024;

  /// `first` stays with its owner. Takes at most half of the memory that is free on the device.
  RotatingInputs(const Matrices& first, const Variant& variant, const Shape& shape, std::size_t l2_bytes,
                 std::uint64_t seed);

  const Problem& operator[](int call) const { return problems_[call % problems_.size()]; }
  int count() const { return static_cast<int>(problems_.size()); }

 private:
  std::vector<std::unique_ptr<Matrices>> sets_;
  std::vector<Problem> problems_;
};
