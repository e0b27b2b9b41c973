// What the harness knows of CUTLASS: a table of kernels, each with its types and a function that launches it. The
// module that holds them (libgemm_cutlass.so) is built only where `meson setup -Dcutlass=…` names CUTLASS's headers.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "common/device/gemm.h"

/// The units that a kernel multiplies on, and how it gets at them.
enum class CutlassUnit {
  fma,    // CUDA cores
  mma,    // tensor cores by mma.sync, sm_80 and later
  wgmma,  // tensor cores by wgmma with TMA and specialised warps, sm_90a alone
};

/// One kernel of CUTLASS with one order of its tiles. B is stored n x k where `b_transposed` says so; TF32 is stored as
/// float and rounded by the kernel.
struct CutlassKernel {
  const char* name;  // block tile, schedule and cluster, as records show it
  CutlassUnit unit;
  DType ab, acc, out;
  bool b_transposed;
  int swizzle;  // of wgmma: clusters of tiles that neighbours stay within, for the L2 cache; 0: the kernel's own

  /// Enqueues one product. Returns CUTLASS's word where it refuses the problem or the launch fails, else null.
  const char* (*launch)(const Problem& problem, int swizzle, cudaStream_t stream);
};

/// The module's one exported function: every kernel, in no order of speed. The table lives as long as the module.
extern "C" const std::vector<CutlassKernel>& gemm_cutlass_kernels();
