// CUTLASS on CUDA cores: FP32 and FP16, B not transposed.
#include "common/cutlass/multistage.h"

namespace {

using namespace multistage;
using F32 = Product<float, float, float, false>;
using F16 = Product<__half, __half, __half, false>;
using Sm50 = cutlass::arch::Sm50;  // slices by way of registers, two in shared memory
using Sm80 = cutlass::arch::Sm80;  // cp.async

}  // namespace

void add_simt(std::vector<CutlassKernel>& kernels) {
  // The first is what CUTLASS takes for FP32 where it is told nothing.
  kernels.push_back(
      entry<F32, Simt<F32, Sm50, Tile<128, 128, 8>, Tile<32, 64, 8>, 2>>("128x128x8, 2 stages", CutlassUnit::fma));
  kernels.push_back(
      entry<F32, Simt<F32, Sm80, Tile<128, 128, 8>, Tile<32, 64, 8>, 5>>("128x128x8, 5 stages", CutlassUnit::fma));
  kernels.push_back(
      entry<F32, Simt<F32, Sm80, Tile<256, 128, 8>, Tile<64, 64, 8>, 5>>("256x128x8, 5 stages", CutlassUnit::fma));
  kernels.push_back(
      entry<F16, Simt<F16, Sm50, Tile<128, 128, 8>, Tile<32, 64, 8>, 2>>("128x128x8, 2 stages", CutlassUnit::fma));
  kernels.push_back(
      entry<F16, Simt<F16, Sm50, Tile<256, 128, 8>, Tile<64, 64, 8>, 2>>("256x128x8, 2 stages", CutlassUnit::fma));
}
