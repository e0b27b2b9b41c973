// Copies that the blocks of a cluster send each other, by multicast.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "recordings/ptx.h"

constexpr int MOST_COPIES = 16, MOST_BLOCKS = 8, THREADS = 128;
constexpr int ALIGNMENT = 1024;            // of a block's region: the longest swizzle's pattern
constexpr uint32_t PATTERN = 0xeeeeeeeeu;  // of what no copy has touched
constexpr int TRIES = 1000;                // to see a phase end, before it counts as one that does not

// What block `issuer` asks for: the box at (x, y), or so many bytes from `x` on, into the blocks of `mask`, at this
// byte of each one's region. The instruction is given the addresses that block `named` has for it.
struct Multicast {
  int issuer, named, x, y;
  uint32_t mask, offset;
};

struct Multicasts {
  int count;
  bool of_tensor;
  uint32_t bytes;                  // of each copy
  uint32_t region;                 // bytes of a block's shared memory that are looked at
  uint32_t expected[MOST_BLOCKS];  // bytes that a block's mbarrier expects
  Multicast copies[MOST_COPIES];
};

// Whether the mbarrier's first phase ended, and after one more arrival the second: it does not where more bytes came
// than were expected.
struct Phases {
  uint32_t first_over, second_over;
};

__device__ inline uint32_t phase_over(Barrier* barrier, int parity) {
  uint32_t over = 0;
  for (int i = 0; i < TRIES && over == 0; ++i)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  return over;
}

__device__ inline void issue(const Multicast& copy, const CUtensorMap& map, bool of_tensor, uint32_t bytes,
                             const unsigned char* from, const unsigned char* region, Barrier* barrier) {
  const uint32_t to = shared_address_in(region + copy.offset, copy.named),
                 signal = shared_address_in(barrier, copy.named);
  const auto mask = static_cast<uint16_t>(copy.mask);
  if (of_tensor)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(copy.x), "r"(copy.y), "r"(signal), "h"(mask)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(to),
        "l"(from + copy.x), "r"(bytes), "r"(signal), "h"(mask)
        : "memory");
}

// Every cluster does all of it. Block b of the grid writes its region to `out` + b · region.
__global__ void __launch_bounds__(THREADS)
    send_copies(const __grid_constant__ CUtensorMap map, const __grid_constant__ Multicasts what,
                const unsigned char* from, unsigned char* out, Phases* phases) {
  extern __shared__ unsigned char dynamic[];
  __shared__ Barrier barrier;
  unsigned char* const region = dynamic + (ALIGNMENT - shared_address(dynamic) % ALIGNMENT) % ALIGNMENT;
  auto* const words = reinterpret_cast<uint32_t*>(region);
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x, count = what.region / 4;
  const int rank = cluster_rank();
  for (unsigned i = threadIdx.x; i < count; i += THREADS) words[i] = PATTERN;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_init_fence();
  }
  fence_for_async_reads();  // the pattern, before a copy overwrites it
  cluster_sync();
  // A block's neighbours may send before it expects.
  if (threadIdx.x == 0) {
    for (int i = 0; i < what.count; ++i)
      if (what.copies[i].issuer == rank) issue(what.copies[i], map, what.of_tensor, what.bytes, from, region, &barrier);
    barrier_arrive_expect(&barrier, static_cast<int>(what.expected[rank]));
  }
  const uint32_t first_over = phase_over(&barrier, 0);
  cluster_sync();
  if (threadIdx.x == 0) {
    barrier_arrive(&barrier);
    phases[block] = {first_over, phase_over(&barrier, 1)};
  }
  for (unsigned i = threadIdx.x; i < count; i += THREADS)
    reinterpret_cast<uint32_t*>(out)[size_t{block} * count + i] = words[i];
}
