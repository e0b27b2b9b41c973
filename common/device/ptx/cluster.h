// Clusters: blocks that run at the same time and reach each other's shared memory. sm_90 and later; PTX ISA,
// "barrier.cluster", "mapa", "Special Registers".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/shared_address.h"

/// This block's number within its cluster.
__device__ __forceinline__ int cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return static_cast<int>(rank);
}

/// The number of the multiprocessor that this block runs on. It is where the block happens to be, nothing to compute
/// by.
__device__ __forceinline__ int multiprocessor_number() {
  uint32_t number;
  asm volatile("mov.u32 %0, %%smid;\n" : "=r"(number));
  return static_cast<int>(number);
}

/// Waits for all threads of all blocks of the cluster; what each has written is visible to the others then.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.aligned;\n"
      "barrier.cluster.wait.aligned;\n" ::
          : "memory");
}

/// cluster_sync in two halves, with work between them that needs nothing of the other blocks.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.aligned;\n" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;\n" ::: "memory"); }

/// The address of this block's `pointer` in the shared memory of the block with this rank.
__device__ __forceinline__ uint32_t shared_address_in(const void* pointer, int rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(address) : "r"(shared_address(pointer)), "r"(rank));
  return address;
}

/// One arrival at the barrier of the block with this rank, after what this thread has read; what it has written is not
/// made visible to the other block (`.release.cluster` would, and costs far more).
__device__ __forceinline__ void barrier_arrive_at(Barrier* barrier, int rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];\n" ::"r"(shared_address_in(barrier, rank)) : "memory");
}

/// Four floats of the shared memory of the block with this rank, at the place of this block's `pointer`, a multiple of
/// 16 bytes. The block must not have ended, and what it wrote there must be visible (cluster_sync).
__device__ __forceinline__ float4 load_float4_of(const void* pointer, int rank) {
  float4 four;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];\n"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(shared_address_in(pointer, rank))
               : "memory");
  return four;
}

/// A word of the shared memory of the block with this rank, at the place of this block's `pointer`; under the same
/// conditions.
__device__ __forceinline__ uint32_t load_word_of(const uint32_t* pointer, int rank) {
  uint32_t word;
  asm volatile("ld.shared::cluster.u32 %0, [%1];\n" : "=r"(word) : "r"(shared_address_in(pointer, rank)) : "memory");
  return word;
}
