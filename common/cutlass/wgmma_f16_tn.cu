// CUTLASS by wgmma: FP16, B stored n x k.
#include "common/cutlass/wgmma.h"

void add_wgmma_f16_tn(std::vector<CutlassKernel>& kernels) { wgmma::add<__half, true>(kernels); }
