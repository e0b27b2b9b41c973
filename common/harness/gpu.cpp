#include "common/harness/gpu.h"

#include <array>

#include "common/harness/shared_library.h"

namespace {

// The part of NVML's C interface (NVML API reference) that is used here; its header comes with few CUDA installations.
struct NvmlDeviceType;
using NvmlDevice = NvmlDeviceType*;
constexpr int NVML_OK = 0, NVML_SM_CLOCK = 1, NVML_GPU_TEMPERATURE = 0;
using NvmlInit = int();
using NvmlHandleByBusId = int(const char*, NvmlDevice*);
using NvmlDriverVersion = int(char*, unsigned);
using NvmlRead = int(NvmlDevice, unsigned*);
using NvmlReadOf = int(NvmlDevice, int, unsigned*);

// NVML, loaded once.
class Nvml {
 public:
  NvmlDevice device = nullptr;
  bool ready = false;

  Nvml() {
    if (!loaded_.loaded()) return;
    std::array<char, 32> bus_id{};
    int current = 0;
    if (cudaGetDevice(&current) != cudaSuccess) return;
    if (cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), current) != cudaSuccess) return;
    ready = call<NvmlInit>("nvmlInit_v2") &&
            call<NvmlHandleByBusId>("nvmlDeviceGetHandleByPciBusId_v2", bus_id.data(), &device);
  }

  // Whether the function called `symbol` succeeds.
  template <typename Function, typename... Arguments>
  bool call(const char* symbol, Arguments... arguments) const {
    return loaded_.function<Function>(symbol)(arguments...) == NVML_OK;
  }

 private:
  SharedLibrary loaded_{"libnvidia-ml.so.1"};
};

Nvml& nvml() {
  static Nvml instance;
  return instance;
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

// FLOP per clock and multiprocessor, from the CUDA programming guide's throughput table and the architecture
// whitepapers: {FP32 on CUDA cores, dense FP16/BF16, TF32}. For 8.6, 8.9 and 12.0 the professional cards' rates:
// GeForce cards run TF32, and FP16 with FP32 accumulation, at half of these.
struct Rates {
  int capability;
  double fp32, fp16, tf32;
};
constexpr Rates RATES[] = {
    {70, 128, 1024, 0},   {75, 128, 1024, 0},    {80, 128, 2048, 1024},  {86, 256, 1024, 512},   {87, 256, 2048, 1024},
    {89, 256, 1024, 512}, {90, 256, 4096, 2048}, {100, 256, 8192, 4096}, {103, 256, 8192, 4096}, {120, 256, 1024, 512},
};

// Tensor peaks are quoted at the boost clock, which on the H100 and H200 is below the highest clock of 1980 MHz.
constexpr double HOPPER_TENSOR_MHZ = 1830;

}  // namespace

double Gpu::peak_tflops(DType input) const {
  for (const Rates& rates : RATES) {
    if (rates.capability != capability) continue;
    const bool cuda_cores = input == DType::f32;
    const double flop = cuda_cores ? rates.fp32 : input == DType::tf32 ? rates.tf32 : rates.fp16;
    const double mhz = !cuda_cores && capability == 90 ? HOPPER_TENSOR_MHZ : max_clock_mhz;
    return flop * multiprocessors * mhz * 1e-6;
  }
  return 0;
}

Gpu current_gpu() {
  Gpu gpu;
  int device = 0, runtime = 0;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  gpu.name = properties.name;
  gpu.cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  gpu.capability = properties.major * 10 + properties.minor;
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.max_clock_mhz = attribute(cudaDevAttrClockRate) * 1e-3;
  gpu.l2_bytes = properties.l2CacheSize;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&gpu.free_bytes, &total));
  std::array<char, 96> version{};
  if (nvml().ready && nvml().call<NvmlDriverVersion>("nvmlSystemGetDriverVersion", version.data(), version.size()))
    gpu.driver = version.data();
  return gpu;
}

std::optional<Telemetry> read_telemetry() {
  const Nvml& n = nvml();
  if (!n.ready) return std::nullopt;
  Telemetry now{};
  const bool answered =
      n.call<NvmlReadOf>("nvmlDeviceGetClockInfo", n.device, NVML_SM_CLOCK, &now.sm_mhz) &&
      n.call<NvmlRead>("nvmlDeviceGetPowerUsage", n.device, &now.power_mw) &&
      n.call<NvmlReadOf>("nvmlDeviceGetTemperature", n.device, NVML_GPU_TEMPERATURE, &now.temperature_c);
  if (!answered) return std::nullopt;
  return now;
}
