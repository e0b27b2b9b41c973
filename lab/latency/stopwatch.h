// The clocks of an SM, read by the thread that is timed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// What a block leaves behind: how long its repetitions took, where it ran, and what came out of the last.
struct Elapsed {
  long long cycles, nanoseconds;
  int sm;
  uint64_t end;
};

/// Of the SM's clock.
__device__ __forceinline__ long long clock_cycles() {
  long long value;
  asm volatile("mov.u64 %0, %%clock64;\n" : "=l"(value)::"memory");
  return value;
}

__device__ __forceinline__ long long clock_nanoseconds() {
  long long value;
  asm volatile("mov.u64 %0, %%globaltimer;\n" : "=l"(value)::"memory");
  return value;
}

__device__ __forceinline__ int sm_number() {
  int value;
  asm volatile("mov.u32 %0, %%smid;\n" : "=r"(value));
  return value;
}

/// Runs from its construction on. "memory" and volatile keep what is timed between the readings.
class Stopwatch {
 public:
  __device__ Stopwatch() : nanoseconds_(clock_nanoseconds()), cycles_(clock_cycles()) {}

  __device__ Elapsed elapsed(uint64_t end) const {
    const long long cycles = clock_cycles() - cycles_;
    return {cycles, clock_nanoseconds() - nanoseconds_, sm_number(), end};
  }

 private:
  long long nanoseconds_, cycles_;
};
