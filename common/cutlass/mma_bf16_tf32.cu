// CUTLASS on tensor cores by mma.sync: BF16, and TF32, whose B is not transposed.
#include "common/cutlass/mma.h"

void add_mma_bf16_tf32(std::vector<CutlassKernel>& kernels) {
  add_mma<multistage::Product<__nv_bfloat16, float, __nv_bfloat16, false>>(kernels);
  add_mma<multistage::Product<__nv_bfloat16, float, __nv_bfloat16, true>>(kernels);
  add_mma<multistage::Product<tf32_t, float, float, false>>(kernels);
}
