// CUTLASS by wgmma: FP16, B stored k x n.
#include "common/cutlass/wgmma.h"

void add_wgmma_f16_nn(std::vector<CutlassKernel>& kernels) { wgmma::add<__half, false>(kernels); }
