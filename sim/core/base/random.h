/// Small random numbers that are the same everywhere: which schedule a seed stands for must not depend on a library.
#pragma once

#include <cstdint>

namespace sim {

/// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t bits = state_ += 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
  }
  /// A number below `limit`.
  uint64_t below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

}  // namespace sim
