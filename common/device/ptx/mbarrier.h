// mbarrier: a barrier in shared memory that counts arrivals of threads and bytes that copies have brought. sm_90 and
// later; PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
//
// A barrier goes through phases, numbered 0, 1, 2, …. A phase ends when all expected threads have arrived and all
// expected bytes have come. Waiting names a phase by its parity (0, 1, 0, …): it returns once that phase has ended.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/shared_address.h"

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

/// Waits until the phase of this parity has ended. Right after barrier_init, parity 1 has: it is that of the phase
/// before the first.
__device__ __forceinline__ void barrier_wait(Barrier* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
