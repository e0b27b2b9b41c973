// CUTLASS by wgmma: BF16, B stored n x k.
#include "common/cutlass/wgmma.h"

void add_wgmma_bf16_tn(std::vector<CutlassKernel>& kernels) { wgmma::add<__nv_bfloat16, true>(kernels); }
