// FP32 on CUDA cores, on the regions of C that a guard leaves to it: step 11's kernel, whose results it equals to the
// bit, for any size. Compiled by itself, as step 11 is (common/harness/meson.build). sm_90.
#pragma once

#include <cuda_runtime.h>

#include "common/device/gemm.h"
#include "common/device/guard.h"

/// Enqueues them. B is k × n, or n × k where `b_transposed`. May begin before the kernel in front has ended, and ends
/// after it. Throws CudaError.
void launch_fp32_tiles(const Gemm<float>& g, const Guard& guard, bool b_transposed, cudaStream_t stream);
