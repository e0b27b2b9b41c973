// A place in a ring of stages that mbarriers guard.
#pragma once

/// The stage that comes next, and the parity of the round through the ring that it belongs to.
template <int STAGES>
struct RingPlace {
  int stage = 0, parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage < STAGES) return;
    stage = 0;
    parity ^= 1;
  }

  /// Goes on by `count` stages at once, which another warpgroup fills or reads.
  __device__ __forceinline__ void skip(int count) {
    const int ahead = stage + count;
    stage = ahead % STAGES;
    parity ^= ahead / STAGES & 1;
  }
};
