// One box of a tensor by TMA: from global to shared memory, and back.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace {

constexpr unsigned char PATTERN = 0xee;  // of what the copy has not touched
constexpr int ALIGNMENT = 1024;          // of the tile: the longest swizzle's pattern

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ unsigned char* aligned(unsigned char* dynamic) {
  return dynamic + (ALIGNMENT - shared_address(dynamic) % ALIGNMENT) % ALIGNMENT;
}

// Loads the box at (x, y, z) and writes the first `bytes` bytes of shared memory to `out`.
__global__ void load_box(const __grid_constant__ CUtensorMap map, int rank, int x, int y, int z, uint32_t box_bytes,
                         int tile_bytes, int bytes, unsigned char* out) {
  extern __shared__ unsigned char dynamic[];
  __shared__ alignas(8) uint64_t full;
  unsigned char* const tile = aligned(dynamic);
  for (int i = threadIdx.x; i < tile_bytes; i += blockDim.x) tile[i] = PATTERN;
  const uint32_t barrier = shared_address(&full), to = shared_address(tile);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the pattern and the barrier, before TMA writes
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(box_bytes) : "memory");
    if (rank == 2)
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
              "r"(to),
          "l"(&map), "r"(barrier), "r"(x), "r"(y)
          : "memory");
    else
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
          "[%2];" ::"r"(to),
          "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
          : "memory");
  }
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier)
                 : "memory");
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
}

// Stores the tile's `bytes` bytes as the box at (x, y, z), or adds them to it.
__global__ void store_box(const __grid_constant__ CUtensorMap map, int rank, bool adds, int x, int y, int z,
                          const unsigned char* from, int bytes) {
  extern __shared__ unsigned char dynamic[];
  unsigned char* const tile = aligned(dynamic);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = from[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the tile, before TMA reads it
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t source = shared_address(tile);
  if (adds)
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(source), "r"(x), "r"(y)
                 : "memory");
  else if (rank == 2)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(source),
                 "r"(x), "r"(y)
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(source), "r"(x), "r"(y), "r"(z)
                 : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace
