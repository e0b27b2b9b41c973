// Accesses to shared memory, one per line, by one warp: the pictures of docs/bank-conflicts and docs/swizzle that show
// no step's own access are drawn from this program's trace.
//
//   PTXSIM_TRACE=patterns.json LD_LIBRARY_PATH=build/sim build/lab/micro/bank_patterns
//
// On a GPU, Nsight Compute counts the same wavefronts (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum, per line).

#include <cstdio>

#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/ldmatrix.h"
#include "lab/micro/shared_access.h"

namespace {

constexpr int BYTES = 132 * 32;  // what the widest pattern reaches

__global__ void bank_patterns() {
  __shared__ __align__(128) char tile[BYTES];
  const uint32_t lane = threadIdx.x, start = shared_address(tile);
  for (uint32_t at = 16 * lane; at < BYTES; at += 16 * 32) store_16_bytes(start + at);  // nothing is read unwritten
  __syncthreads();

  // 4 bytes per lane
  load_4_bytes(start + 4 * lane);
  load_4_bytes(start);
  load_4_bytes(start + 8 * lane);
  load_4_bytes(start + 128 * lane);
  load_4_bytes(start + 132 * lane);
  load_4_bytes(start + 4 * (lane % 16));

  // 8 and 16 bytes per lane
  load_8_bytes(start + 8 * lane);
  load_8_bytes(start + 8 * (lane / 2));
  load_16_bytes(start + 16 * lane);
  load_16_bytes(start + 16 * (lane / 2));
  load_16_bytes(start + 32 * lane);
  load_16_bytes(start + 16 * (lane % 8));

  // ldmatrix.x4: sixteen rows, two chunks of 16 bytes in each
  uint32_t matrices[4];
  uint32_t row = lane % 16, chunk = lane / 16;
  ldmatrix_x4(matrices, start + 128 * row + 16 * chunk);
  ldmatrix_x4(matrices, start + 64 * row + 16 * chunk);
  ldmatrix_x4(matrices, start + 64 * row + 16 * (chunk ^ (row / 2 % 4)));
  ldmatrix_x4(matrices, start + 64 * row + 16 * (chunk ^ (row % 4)));

  // 16 bytes per lane into rows of four chunks
  row = lane / 4, chunk = lane % 4;
  store_16_bytes(start + 64 * row + 16 * (chunk ^ (row / 2 % 4)));
  __syncwarp();  // the next store writes the same bytes by other lanes
  store_16_bytes(start + 80 * row + 16 * chunk);
}

}  // namespace

int main() {
  bank_patterns<<<1, 32>>>();
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "bank_patterns: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
