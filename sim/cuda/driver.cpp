/// The driver, libcuda.so.1, as programs call it beside the runtime or in its place: the documented functions for
/// modules, memory, launches, streams and events, and cuTensorMapEncodeTiled. There is one device, and its context.
#define __CUDA_API_VERSION_INTERNAL  // declares the older versions of functions, too
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/asynchronous/tensor_map.h"
#include "core/ptx/parse.h"
#include "cuda/ending.h"
#include "cuda/errors.h"
#include "cuda/launches.h"
#include "session/gemm_sim.h"

namespace {

using sim::Simulator;

static_assert(sizeof(CUtensorMap) == sizeof(sim::TensorMap));

/// Errors have the same numbers in both interfaces, but for these.
CUresult result(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidConfiguration: return CUDA_ERROR_INVALID_VALUE;
    default: return static_cast<CUresult>(error);
  }
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult of_device(CUdevice device) { return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }

/// The only context: what counts is whether it is current.
char the_context;
CUcontext context() { return reinterpret_cast<CUcontext>(&the_context); }
thread_local std::vector<CUcontext> contexts;
CUresult make_context(CUcontext* made) {
  if (!made) return CUDA_ERROR_INVALID_VALUE;
  contexts.push_back(*made = context());
  return CUDA_SUCCESS;
}

CUresult refused(CUresult code, const std::string& why) {
  sim::say_why(why);
  return code;
}

/// The name of the library whose code is there; empty for the program and for the simulator.
std::string library_of(const void* code) {
  Dl_info there{}, here{};
  if (dladdr(code, &there) == 0 || dladdr(reinterpret_cast<void*>(&result), &here) == 0 ||
      there.dli_fbase == here.dli_fbase)
    return "";
  const std::string name = there.dli_fname;
  return name.find(".so") == std::string::npos ? "" : name.substr(name.rfind('/') + 1);
}

sim::Kernel* kernel(CUfunction function) { return reinterpret_cast<sim::Kernel*>(function); }
sim::Module* module(CUmodule loaded) { return reinterpret_cast<sim::Module*>(loaded); }

/// A module of PTX text, of a fat binary, or of nvcc's wrapper around one.
CUresult load(CUmodule* loaded, const void* image, const char* function) {
  constexpr uint32_t fat_binary = 0xba55ed50, wrapper = 0x466243b1;
  if (!loaded || !image) return CUDA_ERROR_INVALID_VALUE;
  sim::watch_the_end();
  uint32_t first = 0;
  std::memcpy(&first, image, 1);
  if (first != 0 && static_cast<const char*>(image)[1] != 0) std::memcpy(&first, image, sizeof first);
  Simulator& simulator = Simulator::instance();
  sim::Module* made = nullptr;
  if (first == wrapper) {
    const void* data;
    std::memcpy(&data, static_cast<const std::byte*>(image) + 8, sizeof data);
    made = simulator.add_module(data);
  } else if (first == fat_binary) {
    made = simulator.add_module(image);
  } else if (std::memcmp(image, "\177ELF", 4) == 0) {
    return refused(CUDA_ERROR_NO_BINARY_FOR_GPU,
                   std::string(function) + ": this is machine code (a cubin); the simulator runs PTX (nvcc -ptx)");
  } else {
    const std::string text = static_cast<const char*>(image);
    try {
      sim::ptx::parse(text);  // all of it, as a driver's compiler would
    } catch (const sim::Refused& why) {
      return refused(CUDA_ERROR_INVALID_PTX, std::string(function) + ": " + why.what());
    }
    made = simulator.add_module(text);
  }
  try {
    made->syntax("");
  } catch (const sim::Refused& why) {
    simulator.remove_module(made);
    return refused(CUDA_ERROR_INVALID_PTX, std::string(function) + ": " + why.what());
  }
  *loaded = reinterpret_cast<CUmodule>(made);
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, dim3 grid, dim3 block, unsigned shared_bytes, void** parameters, void** extra,
                const CUlaunchAttribute* attributes, unsigned count) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<void*> unpacked;
  if (extra) {
    const char* buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const char*>(extra[1]);
      if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const size_t*>(extra[1]);
    }
    const sim::Program* const program = kernel(function)->decoded();
    if (!program) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    for (const auto& [offset, size] : program->parameters) {
      if (!buffer || offset + size > bytes) {
        return refused(CUDA_ERROR_INVALID_VALUE, "cuLaunchKernel of " + kernel(function)->name +
                                                     ": its parameters end at byte " + std::to_string(offset + size) +
                                                     ", and " + std::to_string(buffer ? bytes : 0) + " are given");
      }
      unpacked.push_back(const_cast<char*>(buffer) + offset);
    }
    parameters = unpacked.data();
  }
  return result(sim::launch(kernel(function), grid, block, parameters, shared_bytes,
                            reinterpret_cast<const cudaLaunchAttribute*>(attributes), count));
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const auto no = [](CUresult code, const std::string& why) { return refused(code, "cuTensorMapEncodeTiled: " + why); };
  if (!map || reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return no(CUDA_ERROR_INVALID_VALUE, "tensorMap is no multiple of 64");
  if (!sizes || !box || !element_strides || (rank > 1 && !strides))
    return no(CUDA_ERROR_INVALID_VALUE, "an array is missing");
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
  return no(why_not->invalid ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED, why_not->why);
}

/// A function by the name without its version, of the newest version that a program of this CUDA knows. Null where
/// there is none; `too_new` where all came later.
void* function(const std::string& name, int cuda_version, bool& too_new) {
  struct Since {
    const char *name, *symbol;
    int version;
  };
  constexpr Since several[] = {{"cuCtxCreate", "cuCtxCreate_v4", 12050},
                               {"cuCtxCreate", "cuCtxCreate_v3", 11040},
                               {"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
                               {"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 12020},
                               {"cuMemAdvise", "cuMemAdvise_v2", 12020}};
  constexpr Since late[] = {{"cuTensorMapEncodeTiled", "", 12000}};
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&encode_tiled), &info);
  void* const own = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!own || !name.starts_with("cu") || name.starts_with("cuda")) return nullptr;
  for (const Since& each : late) too_new |= name == each.name && cuda_version < each.version;
  if (too_new) return nullptr;
  for (const Since& each : several) {
    if (name == each.name && cuda_version >= each.version) return dlsym(own, each.symbol);
  }
  if (void* const newer = dlsym(own, (name + "_v2").c_str()); newer && name != "cuEventElapsedTime") return newer;
  return dlsym(own, name.c_str());
}

cudaError_t entry_point(const char* symbol, void** to, unsigned version, cudaDriverEntryPointQueryResult* found) {
  if (!symbol || !to || version > static_cast<unsigned>(sim::Device::driver_version))
    return sim::returned(cudaErrorInvalidValue);
  bool too_new = false;
  *to = function(symbol, static_cast<int>(version), too_new);
  if (found) {
    *found = *to       ? cudaDriverEntryPointSuccess
             : too_new ? cudaDriverEntryPointVersionNotSufficent
                       : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

const char* gemmSimWhy(void) {
  static thread_local std::string given;
  given = sim::take_why();
  return given.empty() ? nullptr : given.c_str();
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, version, result);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, sim::Device::driver_version, result);
}

// --- the driver, its device and its context ---

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return result(cudaDriverGetVersion(version)); }

CUresult cuGetProcAddress_v2(const char* symbol, void** to, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* found) {
  if (!symbol || !to) return CUDA_ERROR_INVALID_VALUE;
  bool too_new = false;
  *to = function(symbol, version, too_new);
  if (found) {
    *found = *to       ? CU_GET_PROC_ADDRESS_SUCCESS
             : too_new ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  if (*to) return CUDA_SUCCESS;
  // A runtime inside another library asks for all functions that it knows: one line, not hundreds.
  const std::string asks = library_of(__builtin_return_address(0));
  return refused(CUDA_ERROR_NOT_FOUND,
                 asks.empty() ? std::string(symbol) + " is not supported"
                              : asks +
                                    " is not supported: it asks for more of the driver than there is here, and "
                                    "libraries whose kernels are machine code do not run");
}
CUresult cuGetProcAddress(const char* symbol, void** to, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, to, version, flags, nullptr);
}

// What is not documented is not there. NVRTC asks for it, and copes with an error, not with its absence.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 0;
  return of_device(ordinal);
}
CUresult cuDeviceGetCount(int* count) { return result(cudaGetDeviceCount(count)); }
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (length > 0) name[Simulator::instance().device.name.copy(name, static_cast<size_t>(length) - 1)] = '\0';
  return of_device(device);
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  return of_device(device);
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  *bytes = Simulator::instance().device.memory_bytes;
  return of_device(device);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return result(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  *major = Simulator::instance().device.major();
  *minor = Simulator::instance().device.minor();
  return of_device(device);
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v4(CUcontext* made, CUctxCreateParams*, unsigned, CUdevice) { return make_context(made); }
CUresult cuCtxCreate_v3(CUcontext* made, CUexecAffinityParam*, int, unsigned, CUdevice) { return make_context(made); }
CUresult cuCtxCreate_v2(CUcontext* made, unsigned, CUdevice) { return make_context(made); }
CUresult cuCtxDestroy_v2(CUcontext) {
  if (!contexts.empty()) contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* retained, CUdevice device) {
  *retained = context();
  return of_device(device);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return of_device(device); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return of_device(device); }
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned) { return of_device(device); }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return of_device(device);
}
CUresult cuCtxGetCurrent(CUcontext* current) {
  *current = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext current) {
  contexts.clear();
  if (current) contexts.push_back(current);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext pushed) {
  contexts.push_back(pushed);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* popped) {
  if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (popped) *popped = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return result(cudaDeviceGetStreamPriorityRange(least, greatest));
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return result(cudaDeviceSynchronize()); }

// --- modules and kernels ---

CUresult cuModuleLoadData(CUmodule* loaded, const void* image) { return load(loaded, image, "cuModuleLoadData"); }
CUresult cuModuleLoadDataEx(CUmodule* loaded, const void* image, unsigned, CUjit_option*, void**) {
  return load(loaded, image, "cuModuleLoadDataEx");
}
CUresult cuModuleLoadFatBinary(CUmodule* loaded, const void* image) {
  return load(loaded, image, "cuModuleLoadFatBinary");
}
CUresult cuModuleLoad(CUmodule* loaded, const char* name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return refused(CUDA_ERROR_FILE_NOT_FOUND, std::string("cuModuleLoad: there is no file ") + name);
  // What it holds lives as long as the module, which lives as long as the process: its counts may still be asked for.
  auto* const image = new std::string(std::istreambuf_iterator<char>(file), {});
  return load(loaded, image->c_str(), "cuModuleLoad");
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule loaded, const char* name) {
  if (!function || !loaded || !name) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(Simulator::instance().kernel(module(loaded), name));
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule loaded, const char* name) {
  if (!loaded || !name) return CUDA_ERROR_INVALID_VALUE;
  const sim::Module::Variable* const variable = module(loaded)->variable(name);
  if (!variable) return CUDA_ERROR_NOT_FOUND;
  if (address) *address = reinterpret_cast<CUdeviceptr>(variable->address);
  if (bytes) *bytes = variable->bytes;
  return CUDA_SUCCESS;
}

// A library is a module, and its kernels are functions.
CUresult cuLibraryLoadData(CUlibrary* loaded, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return load(reinterpret_cast<CUmodule*>(loaded), image, "cuLibraryLoadData");
}
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult cuLibraryGetKernel(CUkernel* function, CUlibrary loaded, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(function), reinterpret_cast<CUmodule>(loaded), name);
}
CUresult cuLibraryGetModule(CUmodule* loaded, CUlibrary library) {
  *loaded = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  cudaFuncAttributes all;
  const cudaError_t error = sim::attributes_of(kernel(function), &all);
  if (error != cudaSuccess) return result(error);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(all.sharedSizeBytes); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(all.localSizeBytes); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = all.maxDynamicSharedSizeBytes; break;
    default: *value = 0; break;  // registers and constants are ptxas's business
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return result(sim::set_attribute(kernel(function), static_cast<cudaFuncAttribute>(attribute), value));
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel function, CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(function), attribute, value);
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t number, size_t* offset, size_t* bytes) {
  const sim::Program* const program = function ? kernel(function)->decoded() : nullptr;
  if (!program) return refused(CUDA_ERROR_NO_BINARY_FOR_GPU, function ? kernel(function)->refusal : "no function");
  if (number >= program->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset) *offset = program->parameters[number].first;
  if (bytes) *bytes = program->parameters[number].second;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared) {
  return result(sim::resident_blocks(kernel(function), threads, shared, blocks));
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream, void** parameters,
                        void** extra) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, extra,
                nullptr, 0);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* with, CUfunction function, void** parameters, void** extra) {
  return launch(function, {with->gridDimX, with->gridDimY, with->gridDimZ},
                {with->blockDimX, with->blockDimY, with->blockDimZ}, with->sharedMemBytes, parameters, extra,
                with->attrs, with->numAttrs);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream, void** parameters) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, nullptr,
                &cooperative, 1);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return result(cudaLaunchHostFunc(stream, function, data));
}

// --- memory ---

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : result(cudaMalloc(reinterpret_cast<void**>(address), bytes));
}
CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return cuMemAlloc_v2(address, bytes); }
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) { return cuMemAlloc_v2(address, bytes); }
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  return result(cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height));
}
CUresult cuMemFree_v2(CUdeviceptr address) { return result(cudaFree(pointer(address))); }
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return result(cudaFree(pointer(address))); }
CUresult cuMemAllocHost_v2(void** address, size_t bytes) { return result(cudaMallocHost(address, bytes)); }
CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned) { return result(cudaMallocHost(address, bytes)); }
CUresult cuMemFreeHost(void* address) { return result(cudaFreeHost(address)); }
CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  return result(cudaHostRegister(address, bytes, flags));
}
CUresult cuMemHostUnregister(void* address) { return result(cudaHostUnregister(address)); }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned flags) {
  return result(cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags));
}
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) { return result(cudaMemGetInfo(free, total)); }

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return result(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDefault));
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) { return cuMemcpy(to, from, bytes); }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return result(cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return result(cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return result(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice));
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return result(cudaMemset(pointer(to), value, count));
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream) {
  return cuMemsetD8_v2(to, value, count);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  const CUresult error = cuMemsetD8_v2(to, 0, 2 * count);  // checks the range
  if (error == CUDA_SUCCESS) std::fill_n(static_cast<unsigned short*>(pointer(to)), count, value);
  return error;
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream) {
  return cuMemsetD16_v2(to, value, count);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  const CUresult error = cuMemsetD8_v2(to, 0, 4 * count);
  if (error == CUDA_SUCCESS) std::fill_n(static_cast<unsigned*>(pointer(to)), count, value);
  return error;
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  return cuMemsetD32_v2(to, value, count);
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto range = Simulator::instance().allocations.holding(address);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext*>(value) = context(); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(value) = address; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: *static_cast<void**>(value) = pointer(address); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(value) = 0; break;
    default: return refused(CUDA_ERROR_NOT_SUPPORTED, "this attribute of cuPointerGetAttribute is not supported");
  }
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  return encode_tiled(map, type, rank, address, sizes, strides, box, element_strides, interleave, swizzle, promotion,
                      fill);
}

// --- streams and events ---

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return result(cudaStreamCreateWithFlags(stream, flags)); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return result(cudaStreamCreateWithPriority(stream, flags, priority));
}
CUresult cuStreamDestroy_v2(CUstream stream) { return result(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return result(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return result(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return result(cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuStreamGetCtx(CUstream, CUcontext* of) {
  *of = context();
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned flags) { return result(cudaEventCreateWithFlags(event, flags)); }
CUresult cuEventDestroy_v2(CUevent event) { return result(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return result(cudaEventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return result(cudaEventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return result(cudaEventQuery(event)); }
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  return result(cudaEventElapsedTime(milliseconds, begin, end));
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}

CUresult cuProfilerStart(void) { return CUDA_SUCCESS; }
CUresult cuProfilerStop(void) { return CUDA_SUCCESS; }
}
