// Step 11, also: the large tile of kernel.cu, the same source, compiled by ptxas -O3.
//
// This file gets none of the step's compiler arguments (steps/meson.build, 'also_cuda_args'), and
// includes kernel.cu instead of repeating it, so that nothing but the compiler's level differs. At
// -O3 ptxas moves the loads of the fragments down to their first use, to save registers.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/ptx/cp_async.h"
#include "common/device/ptx/load_shared.h"
#include "common/device/tiles.h"

namespace o3 {

#include "steps/11_warp_tiling/kernel.cu"  // the headers above are not included a second time

std::vector<Variant> table() {
  return {Variant("o3", launch<Large>)
              .tile(Large::BM, Large::BN, BK)
              .aligned_ld(4, 4, 4)
              .flat_grid()
              .in_bands()
              .note("128×256, compiled by ptxas -O3")};
}

const Also added(table);

}  // namespace o3
