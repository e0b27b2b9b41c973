// The driver's function that programs ask the runtime for. Linked against the simulator's library.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

Encode encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSuccess);
  return reinterpret_cast<Encode>(function);
}

TEST(Driver, KnowsOneFunction) {
  EXPECT_NE(encode_tiled(), nullptr);
  void* function = &function;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &result), cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 11080, cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointVersionNotSufficent);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 99000, cudaEnableDefault, nullptr),
            cudaErrorInvalidValue);
}

TEST(Driver, EncodesTensorMapsOrSaysWhyNot) {
  const Encode encode = encode_tiled();
  ASSERT_NE(encode, nullptr);
  CUtensorMap maps[2];
  const cuuint64_t sizes[] = {128, 64}, strides[] = {256};
  cuuint32_t box[] = {64, 32};
  const cuuint32_t steps[] = {1, 1};
  void* const tensor = reinterpret_cast<void*>(4096);
  const auto encoded = [&](CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank) {
    return encode(map, type, rank, tensor, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encoded(maps, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2), CUDA_SUCCESS);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(encoded(nullptr, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encoded(maps, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encoded(maps, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 2), CUDA_ERROR_INVALID_VALUE);  // rows of 512 bytes
  box[0] = 32;
  EXPECT_EQ(encoded(maps, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 2), CUDA_SUCCESS);
  EXPECT_EQ(encoded(maps, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, 2), CUDA_ERROR_NOT_SUPPORTED);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const char* why : {"tensorMap", "tensorRank is 9", "rows of 512 bytes", "16U4_ALIGN16B"})
    EXPECT_NE(said.find(why), std::string::npos) << said;
}

}  // namespace
