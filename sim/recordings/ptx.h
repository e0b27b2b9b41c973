// The few instructions that the recorders share, and addresses of shared memory as PTX takes them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// A pointer into shared memory as the 32-bit address that PTX instructions take.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- clusters ---

/// This block's number within its cluster.
__device__ __forceinline__ int cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return static_cast<int>(rank);
}

/// Waits for all threads of all blocks of the cluster; what each has written is visible to the others then.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.aligned;\n"
      "barrier.cluster.wait.aligned;\n" ::
          : "memory");
}

/// The address of this block's `pointer` in the shared memory of the block with this rank.
__device__ __forceinline__ uint32_t shared_address_in(const void* pointer, int rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(address) : "r"(shared_address(pointer)), "r"(rank));
  return address;
}

// --- mbarriers ---

/// A barrier, 8 bytes of shared memory that only these instructions touch.
using Barrier = uint64_t;

/// Begins phase 0, which ends after so many arrivals. By one thread, once.
__device__ __forceinline__ void barrier_init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/// Makes this thread's barrier_init visible to the copy engine and to the other blocks of the cluster. The block's own
/// threads still need __syncthreads, or a cluster barrier.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

/// One arrival. What this thread has read and written before is done before the phase ends.
__device__ __forceinline__ void barrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}

/// One arrival, and the phase takes so many more bytes. They may land before: the phase cannot end without this
/// arrival.
__device__ __forceinline__ void barrier_arrive_expect(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// --- the async proxy and wgmma ---

/// Makes what this thread has written to shared memory visible to TMA and wgmma, which read it by a path of their own
/// (the async proxy).
__device__ __forceinline__ void fence_for_async_reads() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

/// Orders this warp's accesses to the registers of D before the wgmma that follow.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }

/// Closes the group of wgmma since the last commit.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }

/// Waits until all but PENDING of the latest groups are done.
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(PENDING) : "memory");
}
