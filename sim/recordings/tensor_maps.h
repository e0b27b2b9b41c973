// The tensor maps of the recorders: types by the names that they have in a recording, and their encoding.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "recordings/check.h"
#include "recordings/copies.h"

namespace recorder {

struct Type {
  const char* name;
  int bytes;
  CUtensorMapDataType type;
  bool floating;
};
constexpr Type TYPES[] = {
    {"u8", 1, CU_TENSOR_MAP_DATA_TYPE_UINT8, false},     {"u16", 2, CU_TENSOR_MAP_DATA_TYPE_UINT16, false},
    {"u32", 4, CU_TENSOR_MAP_DATA_TYPE_UINT32, false},   {"f16", 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, true},
    {"bf16", 2, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, true}, {"f32", 4, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, true}};

inline const Type& type_of(const RecordedCopy& copy) {
  for (const Type& type : TYPES)
    if (copy.type == type.name) return type;
  throw BadInput("no type is called " + copy.type);
}

// The map of a dense tensor, or false where cuTensorMapEncodeTiled refuses it.
inline bool encoded(const RecordedCopy& copy, void* tensor, CUtensorMap& map) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
  if (function == nullptr) throw CudaError("the driver has no cuTensorMapEncodeTiled");
  const std::vector<cuuint64_t> sizes(copy.sizes.begin(), copy.sizes.end());
  const std::vector<cuuint32_t> box(copy.box.begin(), copy.box.end());
  const std::vector<cuuint32_t> steps(copy.element_strides.begin(), copy.element_strides.end());
  std::vector<cuuint64_t> strides;
  cuuint64_t stride = static_cast<cuuint64_t>(type_of(copy).bytes);
  for (const cuuint64_t size : sizes) strides.push_back(stride *= size);
  const CUtensorMapSwizzle swizzle = copy.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : copy.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : copy.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                          : CU_TENSOR_MAP_SWIZZLE_NONE;
  const auto fill =
      copy.fill == "nan" ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  return reinterpret_cast<Encode>(function)(&map, type_of(copy).type, static_cast<cuuint32_t>(sizes.size()), tensor,
                                            sizes.data(), strides.data(), box.data(), steps.data(),
                                            CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                            fill) == CUDA_SUCCESS;
}

}  // namespace recorder
