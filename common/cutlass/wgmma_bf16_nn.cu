// CUTLASS by wgmma: BF16, B stored k x n.
#include "common/cutlass/wgmma.h"

void add_wgmma_bf16_nn(std::vector<CutlassKernel>& kernels) { wgmma::add<__nv_bfloat16, false>(kernels); }
