/// What the runtime and the driver do alike with a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include "session/simulator.h"

namespace sim {

/// Null kernels are none that the program registered.
cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   const cudaLaunchAttribute* attributes = nullptr, unsigned count = 0);
cudaError_t attributes_of(Kernel* kernel, cudaFuncAttributes* attributes);
cudaError_t set_attribute(Kernel* kernel, cudaFuncAttribute attribute, int value);
/// Blocks that fit on a multiprocessor by threads and shared memory. Registers are ptxas's business, which PTX does not
/// tell.
cudaError_t resident_blocks(Kernel* kernel, int threads, size_t dynamic_shared_bytes, int* blocks);

}  // namespace sim
