/// The one function of the driver that programs need beside the runtime: cuTensorMapEncodeTiled, which they ask the
/// runtime for, so that nothing is linked with the driver's library.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "core/asynchronous/tensor_map.h"
#include "cuda/errors.h"
#include "session/simulator.h"

namespace {

static_assert(sizeof(CUtensorMap) == sizeof(sim::TensorMap));

/// The driver gives a code only; the reason goes to the standard error stream, once.
CUresult refused(CUresult code, const std::string& why) {
  sim::say_once("cuTensorMapEncodeTiled: " + why);
  return code;
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (!map || reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return refused(CUDA_ERROR_INVALID_VALUE, "tensorMap is no multiple of 64");
  if (!sizes || !box || !element_strides || (rank > 1 && !strides))
    return refused(CUDA_ERROR_INVALID_VALUE, "an array is missing");
  sim::TiledTensor tensor{.type = static_cast<sim::TensorType>(type),
                          .rank = rank,
                          .address = reinterpret_cast<uint64_t>(address),
                          .interleave = static_cast<sim::Interleave>(interleave),
                          .swizzle = static_cast<sim::Swizzle>(swizzle),
                          .promotion = static_cast<sim::Promotion>(promotion),
                          .fill = static_cast<sim::Fill>(fill)};
  const uint32_t read = rank <= sim::max_rank ? rank : 0;  // with a rank that is refused, the arrays have any length
  std::copy_n(sizes, read, tensor.size.begin());
  std::copy_n(box, read, tensor.box.begin());
  std::copy_n(element_strides, read, tensor.element_stride.begin());
  if (read > 1) std::copy_n(strides, read - 1, tensor.stride.begin());
  const auto why_not = sim::encode(tensor, *reinterpret_cast<sim::TensorMap*>(map));
  if (!why_not) return CUDA_SUCCESS;
  return refused(why_not->invalid ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED, why_not->why);
}

/// `version` is that of the function's interface: CUDA 12.0 introduced it.
cudaError_t entry_point(const char* symbol, void** function, unsigned version,
                        cudaDriverEntryPointQueryResult* result) {
  if (!symbol || !function || version > static_cast<unsigned>(sim::Device::driver_version))
    return sim::returned(cudaErrorInvalidValue);
  const bool known = std::string(symbol) == "cuTensorMapEncodeTiled", old = version < 12000;
  *function = known && !old ? reinterpret_cast<void*>(&encode_tiled) : nullptr;
  if (result) {
    *result = !known ? cudaDriverEntryPointSymbolNotFound
              : old  ? cudaDriverEntryPointVersionNotSufficent
                     : cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, version, result);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, sim::Device::driver_version, result);
}
}
