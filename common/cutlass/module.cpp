// The module's table, of the translation units that hold CUTLASS's kernels: a few, because each compiles for minutes.
#include "common/cutlass/kernels.h"

void add_simt(std::vector<CutlassKernel>& kernels);
void add_mma_f16(std::vector<CutlassKernel>& kernels);
void add_mma_bf16_tf32(std::vector<CutlassKernel>& kernels);
void add_wgmma_bf16_nn(std::vector<CutlassKernel>& kernels);
void add_wgmma_bf16_tn(std::vector<CutlassKernel>& kernels);
void add_wgmma_f16_nn(std::vector<CutlassKernel>& kernels);
void add_wgmma_f16_tn(std::vector<CutlassKernel>& kernels);

const std::vector<CutlassKernel>& gemm_cutlass_kernels() {
  static const std::vector<CutlassKernel> all = [] {
    std::vector<CutlassKernel> kernels;
    for (const auto add : {add_simt, add_mma_f16, add_mma_bf16_tf32, add_wgmma_bf16_nn, add_wgmma_bf16_tn,
                           add_wgmma_f16_nn, add_wgmma_f16_tn})
      add(kernels);
    return kernels;
  }();
  return all;
}
