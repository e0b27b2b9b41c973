// CUTLASS on tensor cores by mma.sync: FP16, sums in FP16 or FP32.
#include "common/cutlass/mma.h"

void add_mma_f16(std::vector<CutlassKernel>& kernels) {
  add_mma<multistage::Product<__half, __half, __half, false>>(kernels);
  add_mma<multistage::Product<__half, __half, __half, true>>(kernels);
  add_mma<multistage::Product<__half, float, __half, false>>(kernels);
  add_mma<multistage::Product<__half, float, __half, true>>(kernels);
}
