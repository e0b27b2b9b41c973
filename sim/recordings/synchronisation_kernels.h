// One step of an mbarrier after another; elect.sync; blocks of a cluster that find each other's shared memory.
#pragma once

#include <cstdint>

#include "recordings/ptx.h"

// --- mbarriers ---

struct Step {
  enum Operation : uint32_t { INIT, EXPECT_TX, COMPLETE_TX, ARRIVE, ARRIVE_EXPECT_TX, ARRIVE_DROP };
  Operation operation;
  uint32_t number;  // of arrivals or bytes
};

// After a step: the barrier's word, the state that an arrival returned (0: none) and its pending count, and whether the
// phases of both parities are over.
struct Seen {
  uint64_t word, state;
  uint32_t pending, over[2];
};

__device__ inline uint64_t take(uint32_t barrier, const Step& step) {
  uint64_t state = 0;
  switch (step.operation) {
    case Step::INIT:
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(step.number) : "memory");
      break;
    case Step::EXPECT_TX:
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(step.number)
                   : "memory");
      break;
    case Step::COMPLETE_TX:
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(step.number)
                   : "memory");
      break;
    case Step::ARRIVE:
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(step.number)
                   : "memory");
      break;
    case Step::ARRIVE_EXPECT_TX:
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(step.number)
                   : "memory");
      break;
    case Step::ARRIVE_DROP:
      asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(step.number)
                   : "memory");
      break;
  }
  return state;
}

__device__ inline uint32_t is_over(uint32_t barrier, uint32_t parity) {
  uint32_t over = 0;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}

__global__ void take_steps(const Step* steps, int count, Seen* seen) {
  __shared__ alignas(8) uint64_t word;
  const uint32_t barrier = shared_address(&word);
  for (int i = 0; i < count; ++i) {
    Seen now{};
    now.state = take(barrier, steps[i]);
    if (now.state != 0) asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(now.pending) : "l"(now.state));
    __nanosleep(200);
    asm volatile("ld.volatile.shared.b64 %0, [%1];" : "=l"(now.word) : "r"(barrier) : "memory");
    for (uint32_t parity = 0; parity < 2; ++parity) now.over[parity] = is_over(barrier, parity);
    seen[i] = now;
  }
}

// --- elect.sync ---

struct Elected {
  uint32_t leader, is_leader;
};

// Only the lanes of the mask execute it.
__global__ void elect(uint32_t mask, Elected* out) {
  Elected elected{};
  if (mask >> threadIdx.x & 1)
    asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\nselp.u32 %1, 1, 0, p;\n}"
                 : "=r"(elected.leader), "=r"(elected.is_leader)
                 : "r"(mask));
  out[threadIdx.x] = elected;
}

// --- clusters ---

constexpr uint32_t MOST_RANKS = 4;

// What a block knows of itself; and of each rank of its cluster, the address that mapa makes of its own `cell`, the
// rank that this address leads to, and the same for a generic address.
struct Member {
  struct OfRank {
    uint32_t address, rank;
    uint64_t generic;
  };
  uint32_t block[2], rank, ranks, place[2], size[2], cluster[2], clusters[2], own, dynamic, got;
  uint64_t own_generic;
  OfRank of_rank[MOST_RANKS];
};

__global__ void meet(Member* members) {
  __shared__ alignas(16) uint32_t cell;
  extern __shared__ unsigned char dynamic[];
  Member me{};
#define READ(variable, name) asm volatile("mov.u32 %0, %" name ";" : "=r"(variable))
  READ(me.rank, "%cluster_ctarank");
  READ(me.ranks, "%cluster_nctarank");
  READ(me.place[0], "%cluster_ctaid.x");
  READ(me.place[1], "%cluster_ctaid.y");
  READ(me.size[0], "%cluster_nctaid.x");
  READ(me.size[1], "%cluster_nctaid.y");
  READ(me.cluster[0], "%clusterid.x");
  READ(me.cluster[1], "%clusterid.y");
  READ(me.clusters[0], "%nclusterid.x");
  READ(me.clusters[1], "%nclusterid.y");
#undef READ
  me.block[0] = blockIdx.x, me.block[1] = blockIdx.y;
  me.own = shared_address(&cell), me.dynamic = shared_address(dynamic);
  me.own_generic = reinterpret_cast<uint64_t>(&cell);
  if (threadIdx.x == 0) cell = 0;
  cluster_sync();
  for (uint32_t rank = 0; rank < me.ranks; ++rank) {
    Member::OfRank& of = me.of_rank[rank];
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(of.address) : "r"(me.own), "r"(rank));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of.rank) : "r"(of.address));
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(of.generic) : "l"(me.own_generic), "r"(rank));
  }
  if (threadIdx.x == 0)
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(me.of_rank[(me.rank + 1) % me.ranks].address),
                 "r"(100 + me.rank)
                 : "memory");
  cluster_sync();
  me.got = cell;
  if (threadIdx.x == 0) members[blockIdx.y * gridDim.x + blockIdx.x] = me;
}
