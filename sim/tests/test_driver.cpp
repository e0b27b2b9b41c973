// The driver's function that programs ask the runtime for. Linked against the simulator's library.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "fat_binary.h"
#include "session/gemm_sim.h"

// As programs declare them; the header is not in every installation.
extern "C" {
int cublasCreate_v2(void**);
int cublasDestroy_v2(void*);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                   float*, int);
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                 void*, int, int, int, int);
int cublasLtMatrixLayoutCreate(void**, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutSetAttribute(void*, int, const void*, size_t);
int cublasLtMatmulDescCreate(void**, int, int);
int cublasLtMatmulDescSetAttribute(void*, int, const void*, size_t);
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                   void*, void*, const void*, void*, size_t, void*);
int cublasZhemm_v2();
}

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

TEST(Driver, FindsFunctionsByTheVersionOfTheProgram) {
  EXPECT_NE(encode_tiled(), nullptr);
  void* function = &function;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuNothing", &function, 12000, cudaEnableDefault, &result), cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 11080, cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointVersionNotSufficent);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 99000, cudaEnableDefault, nullptr),
            cudaErrorInvalidValue);
  CUdriverProcAddressQueryResult found;
  EXPECT_EQ(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &found), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(cuGetProcAddress("cuCtxCreate", &function, 13000, 0, &found), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxCreate));
}

TEST(Driver, RunsAKernelOfAModule) {
  CUmodule module;
  CUfunction function;
  const std::string wrong = "this is no PTX";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadData(&module, wrong.c_str()), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("PTX line 1"), std::string::npos);
  std::string other = sim::testing::text();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadData(&module, other.replace(other.find("sm_80"), 5, "sm_999").c_str()), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("this PTX is for sm_999, which the simulated GPU, compute_"),
            std::string::npos);
  const std::string ptx = sim::testing::text();
  ASSERT_EQ(cuModuleLoadData(&module, ptx.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "other"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  CUdeviceptr counter, memory;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("300000 bytes of dynamic and "), std::string::npos);
  size_t bytes = 0;
  EXPECT_EQ(cuModuleGetGlobal(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 8u);
  ASSERT_EQ(cuMemAlloc(&memory, 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(memory, 99, 64), CUDA_SUCCESS);
  void* parameters[] = {&memory};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  size_t size = sizeof memory;
  CUdeviceptr upper = memory + 128;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &upper, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  unsigned host[64];
  EXPECT_EQ(cuMemcpyDtoH(host, memory, sizeof host), CUDA_SUCCESS);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(host[i], i < 48 ? i % 32 : 99) << i;
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function), CUDA_SUCCESS);
  EXPECT_EQ(value, 80);
  EXPECT_EQ(cuFuncGetParamInfo(function, 0, nullptr, &size), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetParamInfo(function, 1, nullptr, &size), CUDA_ERROR_INVALID_VALUE);
  // A grid of which not all blocks are resident has no barrier.
  EXPECT_EQ(cuLaunchCooperativeKernel(function, 132 * 32 + 1, 1, 1, 64, 1, 1, 0, nullptr, parameters),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  gemmSimReset();
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

// --- cuBLAS ---

// C = 2·op(A)·op(B) + C of 3×2×4, by columns, against loops; A is transposed in memory.
TEST(Blas, MultipliesMatricesOfManyTypes) {
  constexpr int m = 3, n = 2, k = 4, f32 = 0, s8 = 3, s32 = 10, bf16 = 14, compute_f32 = 68, compute_s32 = 72;
  void* handle = nullptr;
  ASSERT_EQ(cublasCreate_v2(&handle), 0);
  std::byte* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 4096), cudaSuccess);
  auto* const a = reinterpret_cast<float*>(memory);
  auto* const b = a + m * k;
  auto* const c = reinterpret_cast<float*>(memory + 1024);
  auto* const small_a = reinterpret_cast<int8_t*>(memory + 2048);
  auto* const small_b = small_a + 64;
  auto* const sums = reinterpret_cast<int32_t*>(memory + 2304);
  auto* const halves = reinterpret_cast<uint16_t*>(memory + 3072);
  for (int i = 0; i < m * k; ++i) a[i] = static_cast<float>(small_a[i] = static_cast<int8_t>(i - 5));
  for (int i = 0; i < k * n; ++i) b[i] = static_cast<float>(small_b[i] = static_cast<int8_t>(3 - i));
  const auto expected = [&](int row, int column) {
    int sum = 0;
    for (int i = 0; i < k; ++i) sum += small_a[row * k + i] * small_b[column * k + i];
    return sum;
  };
  std::fill_n(c, m * n, 1.0f);
  const float alpha = 2, beta = 1, none = 0;
  ASSERT_EQ(cublasSgemm_v2(handle, 1, 0, m, n, k, &alpha, a, k, b, k, &beta, c, m), 0);
  for (int i = 0; i < m * n; ++i) EXPECT_EQ(c[i], 2 * expected(i % m, i / m) + 1);
  const int32_t one = 1, zero = 0;
  ASSERT_EQ(
      cublasGemmEx(handle, 1, 0, m, n, k, &one, small_a, s8, k, small_b, s8, k, &zero, sums, s32, m, compute_s32, 0),
      0);
  for (int i = 0; i < m * n; ++i) EXPECT_EQ(sums[i], expected(i % m, i / m));
  ASSERT_EQ(cublasGemmEx(handle, 1, 0, m, n, k, &alpha, a, f32, k, b, f32, k, &none, halves, bf16, m, compute_f32, 0),
            0);
  EXPECT_EQ(uint32_t{halves[0]} << 16, std::bit_cast<uint32_t>(static_cast<float>(2 * expected(0, 0))));
  // One that does not fit its allocation, one whose leading dimension is too small, and a type that is not there.
  EXPECT_EQ(
      cublasSgemm_v2(handle, 1, 0, m, n, k, &alpha, a, k, b, k, &none, reinterpret_cast<float*>(memory + 4092), m), 13);
  EXPECT_NE(std::string(gemmSimReport()).find("C takes 24 bytes"), std::string::npos);
  gemmSimReset();
  EXPECT_EQ(cublasSgemm_v2(handle, 1, 0, m, n, k, &alpha, a, k - 1, b, k, &beta, c, m), 7);
  EXPECT_EQ(cublasGemmEx(handle, 1, 0, m, n, k, &alpha, a, 28, k, b, 28, k, &none, c, f32, m, compute_f32, 0), 15);
  EXPECT_EQ(cublasDestroy_v2(handle), 0);
  cudaFree(memory);
}

// E4M3 factors along k, a D in rows that is not C; what is refused says so by name.
TEST(Blas, MultipliesByDescriptions) {
  constexpr int m = 2, n = 3, k = 4, f32 = 0, e4m3 = 28, compute_f32 = 68, order = 1, op_a = 3, epilogue = 7;
  std::byte* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 4096), cudaSuccess);
  auto* const a = reinterpret_cast<uint8_t*>(memory);
  auto* const b = a + 256;
  auto* const c = reinterpret_cast<float*>(memory + 1024);
  auto* const d = reinterpret_cast<float*>(memory + 2048);
  std::fill_n(a, m * k, uint8_t{0x38});  // 1
  std::fill_n(a + k, k, uint8_t{0xc4});  // -3
  std::fill_n(b, n * k, uint8_t{0x01});  // 2^-9
  for (int i = 0; i < m * n; ++i) c[i] = static_cast<float>(i);
  void *how = nullptr, *at_a = nullptr, *at_b = nullptr, *at_c = nullptr;
  cublasLtMatmulDescCreate(&how, compute_f32, f32);
  cublasLtMatrixLayoutCreate(&at_a, e4m3, k, m, k);
  cublasLtMatrixLayoutCreate(&at_b, e4m3, k, n, k);
  cublasLtMatrixLayoutCreate(&at_c, f32, m, n, n);
  const int one = 1, relu = 2;
  const float alpha = 128, beta = 10;
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(at_c, order, &one, sizeof one), 0);
  const auto multiply = [&] {
    return cublasLtMatmul(nullptr, how, &alpha, a, at_a, b, at_b, &beta, c, at_c, d, at_c, nullptr, nullptr, 0,
                          nullptr);
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(multiply(), 15);  // A not transposed
  cublasLtMatmulDescSetAttribute(how, op_a, &one, sizeof one);
  EXPECT_EQ(multiply(), 0);
  for (int i = 0; i < m * n; ++i) EXPECT_EQ(d[i], (i < n ? 1.0f : -3.0f) + 10 * static_cast<float>(i));
  cublasLtMatmulDescSetAttribute(how, epilogue, &relu, sizeof relu);
  EXPECT_EQ(multiply(), 15);
  EXPECT_EQ(cublasZhemm_v2(), 15);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const char* why :
       {"do not lie along k", "the epilogue RELU is not supported", "cublasZhemm_v2 is not supported"})
    EXPECT_NE(said.find(why), std::string::npos) << said;
  cudaFree(memory);
}

}  // namespace
