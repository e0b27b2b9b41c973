// TMA: copies of boxes of a matrix between global and shared memory, done by an engine of the multiprocessor. One
// thread starts a copy; the engine works out the addresses, swizzles, and fills what lies outside the matrix with
// zeros. sm_90 and later; PTX ISA, "cp.async.bulk.tensor".
//
// A CUtensorMap describes the matrix and the box (common/device/tensor_map.h); the kernel takes it as a
// `const __grid_constant__` parameter. x counts along the dimension that lies together in memory, y along the other.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/shared_address.h"

/// Starts to load the box at (x, y). `shared` is a multiple of 128 bytes, of 1024 with the 128-byte swizzle. Each byte
/// counts in the barrier's phase when it has arrived; bytes outside the matrix are zeros and count as well.
__device__ __forceinline__ void tma_load(void* shared, const CUtensorMap& map, int x, int y, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

/// The same into every block of the cluster whose rank's bit is set in `ranks`: at the same place of each one's shared
/// memory, and counted in each one's barrier.
__device__ __forceinline__ void tma_load_multicast(void* shared, const CUtensorMap& map, int x, int y, Barrier* barrier,
                                                   uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(ranks)
      : "memory");
}

/// The same by a map of three coordinates (make_grouped_tensor_map).
__device__ __forceinline__ void tma_load_multicast(void* shared, const CUtensorMap& map, int x, int y, int z,
                                                   Barrier* barrier, uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;\n" ::"r"(shared_address(shared)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier)), "h"(ranks)
      : "memory");
}

/// Asks for the box at (x, y) to be brought to L2, for a tma_load that comes later. Nothing waits for it.
__device__ __forceinline__ void tma_prefetch(const CUtensorMap& map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];\n" ::"l"(&map), "r"(x), "r"(y) : "memory");
}

/// Starts to store the box at (x, y) from shared memory. Rows outside the matrix are left out, and columns in chunks of
/// 16 bytes: the matrix's columns should be a multiple of that, or the rest of the last chunk is written, too. Belongs
/// to the group that this thread commits next.
__device__ __forceinline__ void tma_store(const CUtensorMap& map, int x, int y, const void* shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(&map), "r"(x),
               "r"(y), "r"(shared_address(shared))
               : "memory");
}

/// Closes the group of stores that this thread started since the last commit.
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }

/// Waits until all but PENDING of this thread's latest groups have read their shared memory, which may be written then.
template <int PENDING>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(PENDING) : "memory");
}

/// Makes what this thread has written to shared memory visible to TMA and wgmma, which read it by a path of their own
/// (the async proxy).
__device__ __forceinline__ void fence_for_async_reads() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

/// Makes what this thread has read of shared memory be read before TMA writes there, once another thread is told to
/// start that copy. An arrival at a barrier does not do it: it may overtake a load that is still under way.
__device__ __forceinline__ void fence_before_async_writes() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
